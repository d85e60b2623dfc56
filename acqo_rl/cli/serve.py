r"""Serve search, reformulation and answers over HTTP, or as tools for a language model.

    acqo serve --config configs/serve/embedded.yaml
    acqo serve --collections wiki=data/wiki,indexes/wiki faq=data/faq,indexes/faq_dense,indexes/faq_bm25 \
        --strategies policy=outputs/mine/policy rules
    acqo serve --config configs/serve/adaptive.yaml --model openai:qwen3@http://localhost:8000/v1

Then, for example:

    curl localhost:8080/v1/search -H 'Content-Type: application/json' -d '{"query": "Compare Peru and Chad"}'
    curl -N localhost:8080/v1/answer -H 'Content-Type: application/json' -d '{"query": "Where is Lima?"}'

One index can be served to other processes, which give the URL in place of an index and get the same rankings:

    acqo serve --retriever outputs/demo/index --port 8100
    acqo search --index http://127.0.0.1:8100 --data outputs/demo/data --query "capital of Norway"

With --mcp, the tools search and reformulate are served to a language model over stdin and stdout. MCP clients start the
command themselves, by a configuration such as:

    {"mcpServers": {"acqo-rl": {"command": "acqo", "args": ["serve", "--mcp", "--config", "/my/service.yaml"]}}}

The page at / shows the reformulation of a question and how fusion changes the ranks. /docs documents all paths with
examples. If the environment variable ACQO_API_KEYS contains API keys, separated by commas, all paths under /v1 require
one of them; clients of an index set ACQO_RETRIEVER_KEY to it. After SIGTERM, the server finishes the requests in
progress. The log on stdout has one JSON object per line and contains neither queries nor keys.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field

from acqo_rl.addresses import Address
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.settings import WithStrategy
from acqo_rl.serving.load import LimitSettings, ServiceSettings, load_service
from acqo_rl.settings import group, setting
from acqo_rl.types import Amount

if TYPE_CHECKING:
    from fastapi import FastAPI

    from acqo_rl.serving.http import Web


@dataclass
class ServeConfig(ServiceSettings, WithStrategy):
    """Settings of the server."""

    retriever: Address | None = setting(
        "Index to serve in place of a service. It searches one request at a time; its requests may have 16 MB, and 256 "
        "of them wait for up to 30 s.",
        None,
    )
    mcp: bool = setting("Serve tools over stdin and stdout (Model Context Protocol) in place of HTTP.", False)
    host: str = setting("Address to listen on.", "127.0.0.1")
    port: Annotated[int, Ge(0), Le(65_535)] = setting("Port to listen on; 0 chooses a free port.", 8080)
    root_path: Annotated[str, Field(pattern=r"^(/[\w.~-]+)*$")] = setting(
        "Path prefix of a reverse proxy, such as /search.", ""
    )
    cors_origins: list[Annotated[str, Field(pattern=r"^(\*|[A-Za-z][A-Za-z0-9+.-]*://[^/\s?#@*]+)$")]] = setting(
        "Origins whose pages may call the service, such as https://app.example.org; * for all.", []
    )
    allowed_hosts: list[Annotated[str, Field(pattern=r"^(\*|(\*\.)?[\w.-]+|\[[\da-fA-F:.]+\])$")]] = setting(
        "Names in the header Host, such as search.example.org, that are accepted besides those of this machine; by "
        "default all, but none on a loopback address.",
        [],
    )
    limits: LimitSettings = group(
        "Limits of the requests, such as --limits.concurrency 8.", LimitSettings, ("collections",)
    )
    shutdown_timeout: Amount = setting(
        "Seconds to finish requests at shutdown; should be more than an answer takes.", 90.0
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting("Least level of the log.", "INFO")


def main(config: ServeConfig) -> None:
    """Loads the service or the index, then serves until SIGTERM or SIGINT."""
    from acqo_rl.serving.http import Web, accepted_hosts
    from acqo_rl.serving.logs import configure_logs
    from acqo_rl.serving.server import return_freed_blocks, serve

    if bool(config.retriever) == bool(config.collections):
        raise ConfigError("Give either collections, to serve searches and answers, or retriever, to serve an index.")
    if config.mcp:
        from acqo_rl.integrations.mcp import make_server, run

        with closing(load_service(replace(config, answer_model=None), config.strategy)) as service:
            run(make_server(service))
        return
    return_freed_blocks()
    configure_logs(config.log_level)
    hosts = accepted_hosts(config.host, config.allowed_hosts)
    app = application_of(config, Web(config.root_path, tuple(config.cors_origins), hosts))
    serve(app, config.host, config.port, config.shutdown_timeout)


def application_of(config: ServeConfig, web: Web) -> FastAPI:
    """The application of a service, or of an index."""
    from acqo_rl.retrieval.load import describe
    from acqo_rl.serving.app import make_app
    from acqo_rl.serving.limits import Limits, keys_of_environment
    from acqo_rl.serving.retriever_app import make_retriever_app

    keys = keys_of_environment()
    if config.retriever is None:
        return make_app(load_service(config, config.strategy), Limits(**asdict(config.limits), keys=keys), web)
    retriever = config.open_index(config.retriever)
    retriever.search(["the first search of a process is slow"], 1)
    return make_retriever_app(retriever, describe(config.retriever), Limits(16_777_216, 1, 256, 30.0, keys), web)

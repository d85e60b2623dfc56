r"""Serve search, reformulation and answers over HTTP.

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

The page at / shows the reformulation of a question and how fusion changes the ranks. /docs documents all paths with
examples; /healthz, /readyz and /metrics are for monitoring. If the environment variable ACQO_API_KEYS contains API
keys, separated by commas, all paths under /v1 require one of them; clients of an index set ACQO_RETRIEVER_KEY to it.
After SIGTERM, the server accepts no new requests and finishes those in progress. The log on stdout has one JSON object
per line and contains neither queries nor keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.cli.groups import WithStrategy
from acqo_rl.errors import ConfigError
from acqo_rl.ranges import PORTS, check_ranges
from acqo_rl.serving.load import ServiceSettings, load_service

if TYPE_CHECKING:
    from fastapi import FastAPI

    from acqo_rl.serving.http import Web
    from acqo_rl.serving.limits import Limits


@dataclass
class ServeConfig(WithStrategy):
    """Settings of the server."""

    retriever: Address | None = field(
        default=None,
        metadata={
            "help": "Index to serve in place of a service. It searches one request at a time; its requests may have 16 "
            "MB, and 256 of them wait for up to 30 s."
        },
    )
    host: str = field(default="127.0.0.1", metadata={"help": "Address to listen on."})
    port: int = field(default=8080, metadata={"help": "Port to listen on; 0 chooses a free port."})
    root_path: str = field(default="", metadata={"help": "Path prefix of a reverse proxy, such as /search."})
    cors_origins: list[str] = field(
        default_factory=list,
        metadata={"help": "Origins whose pages may call the service, such as https://app.example.org; * for all."},
    )
    allowed_hosts: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Names in the header Host, such as search.example.org, that are accepted besides those of this "
            "machine; by default all, but none on a loopback address."
        },
    )
    max_body_bytes: int = field(
        default=262_144, metadata={"help": "Maximum size of a request body; larger ones get 413."}
    )
    max_concurrent_requests: int = field(default=32, metadata={"help": "Maximum number of requests processed at once."})
    max_queued_requests: int = field(
        default=64, metadata={"help": "Maximum number of waiting requests; further ones get 429."}
    )
    queue_timeout: float = field(default=5.0, metadata={"help": "Seconds that a request may wait; then it gets 429."})
    shutdown_timeout: float = field(
        default=90.0,
        metadata={"help": "Seconds to finish requests at shutdown; should be more than an answer takes."},
    )
    log_level: str = field(default="INFO", metadata={"help": "DEBUG, INFO, WARNING or ERROR."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(ServiceSettings, ServeConfig, description=__doc__)


def main(settings: ServiceSettings, config: ServeConfig) -> None:
    """Loads the service or the index, then serves until SIGTERM or SIGINT."""
    from acqo_rl.serving.logs import configure_logs
    from acqo_rl.serving.memory import return_freed_blocks
    from acqo_rl.serving.server import serve

    check_ranges(config, PORTS)
    if bool(config.retriever) == bool(settings.collections):
        raise ConfigError("Give either collections, to serve searches and answers, or retriever, to serve an index.")
    return_freed_blocks()
    configure_logs(config.log_level)
    app = make_index(settings, config.retriever, config) if config.retriever else make_service(settings, config)
    serve(app, config.host, config.port, config.shutdown_timeout)


def make_service(settings: ServiceSettings, config: ServeConfig) -> FastAPI:
    """The application of a service."""
    from acqo_rl.serving.app import make_app
    from acqo_rl.serving.metrics import Metrics

    metrics, limits, web = Metrics(), make_limits(config), make_web(config)
    return make_app(load_service(settings, config.strategy, metrics.batch), metrics, limits, web)


def make_index(settings: ServiceSettings, index: Address, config: ServeConfig) -> FastAPI:
    """The application of an index."""
    from acqo_rl.retrieval.remote import describe
    from acqo_rl.serving.limits import Limits, keys_of_environment
    from acqo_rl.serving.metrics import Metrics
    from acqo_rl.serving.retriever_app import make_retriever_app

    limits = Limits(keys_of_environment(), body_bytes=16_777_216, concurrency=1, max_queued=256, queue_timeout=30.0)
    web = make_web(config)
    retriever = settings.open_index(index)
    retriever.search(["the first search of a process is slow"], 1)
    return make_retriever_app(retriever, describe(index), Metrics(), limits, web)


def make_web(config: ServeConfig) -> Web:
    """The path prefix, the CORS origins and the names of a configuration."""
    from acqo_rl.serving.http import Web, accepted_hosts

    hosts = accepted_hosts(config.host, config.allowed_hosts)
    return Web(config.root_path, tuple(config.cors_origins), hosts)


def make_limits(config: ServeConfig) -> Limits:
    """The limits of a configuration, with the API keys of the environment."""
    from acqo_rl.serving.limits import Limits, keys_of_environment

    return Limits(
        keys=keys_of_environment(),
        body_bytes=config.max_body_bytes,
        concurrency=config.max_concurrent_requests,
        max_queued=config.max_queued_requests,
        queue_timeout=config.queue_timeout,
    )

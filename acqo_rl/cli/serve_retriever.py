r"""Serve an index over HTTP, so that several processes can share one copy.

    acqo serve-retriever --index outputs/demo/index --port 8100

All commands accept the URL in place of an index and get the same rankings:

    acqo search --index http://127.0.0.1:8100 --data outputs/demo/data --query "capital of Norway"

If the environment variable ACQO_API_KEYS of the server contains API keys, separated by commas, clients must set
ACQO_RETRIEVER_KEY to one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.ranges import PORTS, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings


@dataclass
class ServeRetrieverConfig(IndexSettings):
    """Settings of a retriever server."""

    index: Address = field(metadata={"help": INDEX_HELP})
    mmap: bool = field(default=False, metadata={"help": "Memory-map the index instead of loading it."})
    threads: int | None = field(default=None, metadata={"help": "Threads per search; by default FAISS decides."})
    host: str = field(default="127.0.0.1", metadata={"help": "Address to listen on."})
    port: int = field(default=8100, metadata={"help": "Port to listen on; 0 chooses a free port."})
    root_path: str = field(default="", metadata={"help": "Path prefix of a reverse proxy, such as /search."})
    cors_origins: list[str] = field(
        default_factory=list,
        metadata={"help": "Origins whose pages may call the server, such as https://app.example.org; * for all."},
    )
    allowed_hosts: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Names in the header Host, such as search.example.org, that are accepted besides those of this "
            "machine; by default all, but none on a loopback address."
        },
    )
    max_body_bytes: int = field(
        default=16_777_216, metadata={"help": "Maximum size of a request body; larger ones get 413."}
    )
    max_queued_requests: int = field(
        default=256, metadata={"help": "Maximum number of waiting requests; further ones get 429."}
    )
    queue_timeout: float = field(default=30.0, metadata={"help": "Seconds that a request may wait; then it gets 429."})
    shutdown_timeout: float = field(default=30.0, metadata={"help": "Seconds to finish requests at shutdown."})
    log_level: str = field(default="INFO", metadata={"help": "DEBUG, INFO, WARNING or ERROR."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(ServeRetrieverConfig, description=__doc__)


def main(config: ServeRetrieverConfig) -> None:
    """Opens the index, then serves until SIGTERM or SIGINT."""
    from acqo_rl.retrieval.remote import describe
    from acqo_rl.serving.limits import Limits, keys_of_environment
    from acqo_rl.serving.logs import configure_logs
    from acqo_rl.serving.metrics import Metrics
    from acqo_rl.serving.retriever_app import make_retriever_app
    from acqo_rl.serving.server import serve
    from acqo_rl.serving.web import Web, accepted_hosts

    check_ranges(config, PORTS)
    configure_logs(config.log_level)
    hosts = accepted_hosts(config.host, config.allowed_hosts)
    web = Web(config.root_path, tuple(config.cors_origins), hosts)  # checks its settings before the index is opened
    retriever = config.open_index(config.index, mmap=config.mmap, threads=config.threads)
    retriever.search(["the first search of a process is slow"], 1)
    limits = Limits(
        keys=keys_of_environment(),
        body_bytes=config.max_body_bytes,
        concurrency=1,
        max_queued=config.max_queued_requests,
        queue_timeout=config.queue_timeout,
    )
    app = make_retriever_app(retriever, describe(config.index), Metrics(), limits, web)
    serve(app, config.host, config.port, config.shutdown_timeout)

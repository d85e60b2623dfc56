r"""Serve search, reformulation and answers over HTTP.

    python scripts/serve.py --config configs/serve/embedded.yaml
    python scripts/serve.py --collections wiki=data/wiki,indexes/wiki faq=data/faq,indexes/faq_dense,indexes/faq_bm25 \
        --strategies policy=outputs/mine/policy rules
    python scripts/serve.py --config configs/serve/adaptive.yaml --model openai:qwen3@http://localhost:8000/v1

Then, for example:

    curl localhost:8080/v1/search -H 'Content-Type: application/json' -d '{"query": "Compare Peru and Chad"}'
    curl -N localhost:8080/v1/answer -H 'Content-Type: application/json' -d '{"query": "Where is Lima?"}'

/docs shows every path with examples; /healthz, /readyz and /metrics are for machines. Where the environment variable
ACQO_API_KEYS holds keys, separated by commas, every request needs one of them. SIGTERM lets no new request in and
finishes those in flight. The log is one JSON object a line on stdout and holds neither queries nor keys.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acqo_rl import command
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import StrategySettings
from acqo_rl.types import FusionName

if TYPE_CHECKING:
    from acqo_rl.serving.limits import Limits
    from acqo_rl.serving.metrics import Metrics
    from acqo_rl.serving.service import Service


@dataclass
class ServeConfig:
    """Settings of the service."""

    collections: list[str] = field(
        metadata={"help": "NAME=DATA,INDEX: a BEIR folder and an index of it, or a dense one and a BM25 one."}
    )
    strategies: list[str] = field(
        default_factory=lambda: ["rules"],
        metadata={"help": "NAME or NAME=MODEL, as in scripts/search.py; the first is the default, raw always there."},
    )
    model: str | None = field(default=None, metadata={"help": "Model of those strategies that are given without one."})
    answer_model: str | None = field(default=None, metadata={"help": "Writes answers; without it, none is written."})
    answer_tokens: int = field(default=256, metadata={"help": "Limit of each of its completions."})
    max_model_calls: int = field(default=20, metadata={"help": "Model calls of an answer, at most."})
    fusion: FusionName = field(default="rsf", metadata={"help": "How rankings are merged."})
    rrf_k: float = field(default=60.0, metadata={"help": "Rank constant of rrf."})
    total_seconds: float = field(default=10.0, metadata={"help": "For a search."})
    reformulation_seconds: float = field(default=5.0, metadata={"help": "Then the query is searched as it stands."})
    sub_query_seconds: float = field(default=3.0, metadata={"help": "For one list; a late one is left out."})
    answer_seconds: float = field(default=60.0, metadata={"help": "Then an answer begins no model call."})
    result_cache_size: int = field(default=1024, metadata={"help": "Results kept; 0 keeps none."})
    result_cache_seconds: float = field(default=3600.0, metadata={"help": "How long they are kept."})
    batch_size: int = field(default=32, metadata={"help": "Queries of one call of a model in this process."})
    batch_wait_ms: float = field(default=2.0, metadata={"help": "Milliseconds that the first waits for others."})
    threads: int = field(default=64, metadata={"help": "Retriever and model calls at the same time."})
    host: str = field(default="127.0.0.1", metadata={"help": "Address to listen at."})
    port: int = field(default=8080, metadata={"help": "Port to listen at; 0 takes a free one."})
    max_body_bytes: int = field(default=262_144, metadata={"help": "Greatest body of a request; above it: 413."})
    rate: str = field(default="", metadata={"help": "Requests of one client, such as 20/second; above it: 429."})
    requests_at_once: int = field(default=32, metadata={"help": "Requests worked on at the same time."})
    requests_waiting: int = field(default=64, metadata={"help": "Requests that wait for their turn; above it: 429."})
    waiting_seconds: float = field(default=5.0, metadata={"help": "How long they wait; then: 429."})
    graceful_seconds: float = field(default=30.0, metadata={"help": "For what is in flight when the service ends."})
    log_level: str = field(default="INFO", metadata={"help": "DEBUG, INFO, WARNING or ERROR."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(ServeConfig, StrategySettings, description=__doc__)


def main(config: ServeConfig, strategies: StrategySettings) -> None:
    """Load everything, then answer requests until told to end."""
    try:
        from acqo_rl.serving.app import make_app
        from acqo_rl.serving.http import serve
        from acqo_rl.serving.logs import configure_logs
        from acqo_rl.serving.metrics import Metrics
    except ImportError as error:
        raise ConfigError(f"The service needs the package {error.name}: pip install 'acqo-rl[serve]'.") from error

    configure_logs(config.log_level)
    metrics = Metrics()
    app = make_app(make_service(config, strategies, metrics), metrics, make_limits(config))
    serve(app, config.host, config.port, config.graceful_seconds)


def make_limits(config: ServeConfig) -> Limits:
    """The limits of a configuration, and the keys of the environment."""
    from acqo_rl.serving.limits import Limits

    return Limits(
        keys=tuple(key for key in os.environ.get("ACQO_API_KEYS", "").split(",") if key),
        body_bytes=config.max_body_bytes,
        rate=config.rate,
        concurrency=config.requests_at_once,
        waiting=config.requests_waiting,
        waiting_seconds=config.waiting_seconds,
    )


def make_service(config: ServeConfig, settings: StrategySettings, metrics: Metrics) -> Service:
    """Opens collections and models."""
    from acqo_rl.evaluation.inputs import name_reformulators
    from acqo_rl.fusion import fusion_named
    from acqo_rl.pipeline.searcher import Timeouts
    from acqo_rl.serving.collections import open_collection
    from acqo_rl.serving.service import Service
    from acqo_rl.serving.strategies import Strategies, load_answer_model

    batches = {"batch_size": config.batch_size, "batch_wait": config.batch_wait_ms / 1000, "on_batch": metrics.batch}
    models = name_reformulators(config.strategies, config.model)
    fusion = fusion_named(config.fusion, config.rrf_k)
    collections = [open_collection(setting, config.sub_query_seconds) for setting in config.collections]
    service = Service(
        collections,
        Strategies(models, settings, timeout=config.reformulation_seconds, **batches),
        fusion,
        Timeouts(config.total_seconds, config.reformulation_seconds, config.sub_query_seconds),
        answer_model=load_answer_model(config.answer_model, config.answer_tokens, settings, **batches)
        if config.answer_model
        else None,
        max_model_calls=config.max_model_calls,
        answer_seconds=config.answer_seconds,
        cache_size=config.result_cache_size,
        cache_seconds=config.result_cache_seconds,
        threads=config.threads,
    )
    service.warm_up()
    return service


if __name__ == "__main__":
    command.run(main, make_parser())

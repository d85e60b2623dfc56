"""What the service counts, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.trace import Step
from acqo_rl.types import Reformulation

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHARES = tuple(i / 20 for i in range(1, 21))
_COUNTS = (0, 1, 2, 3, 4, 6, 9, 12, 16, 20, 32)


class Metrics:
    """Counters of one application; each has a registry of its own. Labels never hold what users write."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._rewritten = Counter(
            "rag_query_rewriting", "Reformulations.", ["strategy", "query_type"], registry=registry
        )
        self._rewriting_seconds = Histogram(
            "rag_query_rewriting_duration_seconds",
            "Time of reformulations; a search that was found in the cache adds none.",
            ["strategy"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._max_score = Histogram(
            "rag_retrieval_max_score",
            "Best similarity of a search, as the retriever gives it and never a fused score.",
            ["used_rewriting"],
            buckets=_SHARES,
            registry=registry,
        )
        self._routes = Counter("acqo_searches", "Searches by the path taken.", ["route"], registry=registry)
        self._route_score = Histogram(
            "acqo_route_max_score", "Best similarity by path.", ["route"], buckets=_SHARES, registry=registry
        )
        self._stage_seconds = Histogram(
            "acqo_stage_duration_seconds", "Time of each stage.", ["stage"], buckets=_SECONDS, registry=registry
        )
        self._cache = Counter("acqo_cache_requests", "Look-ups of results.", ["cache", "outcome"], registry=registry)
        self._failures = Counter("acqo_failures", "Calls that did not come back.", ["step", "kind"], registry=registry)
        self._model_calls = Histogram(
            "acqo_model_calls", "Completions asked for by a query.", ["use"], buckets=_COUNTS, registry=registry
        )
        self._budget = Histogram(
            "acqo_budget_used_ratio", "Used share of the budget of model calls.", buckets=_SHARES, registry=registry
        )
        self._batches = Histogram(
            "acqo_batch_size", "Items of a model's call.", buckets=(1, 2, 4, 8, 16, 32, 64), registry=registry
        )
        self._requests = Counter(
            "acqo_http_requests", "Requests answered.", ["method", "path", "status"], registry=registry
        )
        self._request_seconds = Histogram(
            "acqo_http_request_duration_seconds", "Time of requests.", ["path"], buckets=_SECONDS, registry=registry
        )
        self.in_flight = Gauge("acqo_http_requests_in_flight", "Requests being worked on.", registry=registry)
        self.waiting = Gauge("acqo_http_requests_waiting", "Requests that wait for their turn.", registry=registry)
        self.refused = Counter("acqo_http_requests_refused", "Requests refused.", ["reason"], registry=registry)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry)

    def reformulated(self, strategy: str, reformulation: Reformulation, seconds: float | None) -> None:
        """A reformulation; its seconds where it was not known before."""
        self._rewritten.labels(strategy, reformulation.query_type or "unknown").inc()
        if seconds is not None:
            self._rewriting_seconds.labels(strategy).observe(seconds)

    def searched(self, strategy: str, found: SearchResult) -> None:
        """A search."""
        reformulation = found.reformulation
        self._cache.labels("search", "hit" if found.cached else "miss").inc()
        self._routes.labels(reformulation.route).inc()
        if found.fused.similarities:
            best = max(found.fused.similarities)
            self._max_score.labels(str(strategy != "raw").lower()).observe(best)
            self._route_score.labels(reformulation.route).observe(best)
        steps = () if found.cached else found.trace
        self._stages(steps)
        if strategy != "raw":
            self.reformulated(strategy, reformulation, None if found.cached else _reformulating(steps))
        self._model_calls.labels("search").observe(0 if found.cached else reformulation.calls)
        if not found.cached:
            for failure in found.failures:
                self.failed(failure.step, failure.reason)

    def answered(self, strategy: str, result: PipelineResult, max_model_calls: int) -> None:
        """An answer, and what the strategy made of the question."""
        self._cache.labels("answer", "hit" if result.cached else "miss").inc()
        self._model_calls.labels("answer").observe(result.model_calls)
        self._budget.observe(result.model_calls / max_model_calls)
        if not result.cached:
            self._stages(result.trace)
            for failure in result.failures:
                step, _, reason = failure.partition(": ")
                self.failed(step, reason)
            if result.reformulation and strategy != "raw":
                self.reformulated(strategy, result.reformulation, _reformulating(result.trace))

    def batch(self, size: int) -> None:
        """A call of a model."""
        self._batches.observe(size)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request; ``path`` is the route's, so that there are only so many."""
        self._requests.labels(method, path, str(status)).inc()
        self._request_seconds.labels(path).observe(seconds)

    def _stages(self, steps: tuple[Step, ...]) -> None:
        for step in (step for step in steps if step.ms):  # the others tell what was decided
            self._stage_seconds.labels(step.name).observe(step.ms / 1000)

    def failed(self, step: str, reason: str) -> None:
        """A call that did not come back, or a request for which none did."""
        self._failures.labels(step, "timeout" if "timeout" in reason.lower() else "error").inc()


def _reformulating(steps: Iterable[Step]) -> float:
    """Seconds of the reformulations among the steps."""
    return sum(step.ms for step in steps if step.name == "reformulation") / 1000

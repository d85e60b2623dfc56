"""Prometheus metrics of the service."""

from collections.abc import Collection, Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.searching.result import Failure, SearchResult
from acqo_rl.searching.trace import ms_of
from acqo_rl.types import Reformulation

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHARES = tuple(i / 20 for i in range(1, 21))
_COUNTS = (0, 1, 2, 3, 4, 6, 9, 12, 16, 20, 32)


class Metrics:
    """The metrics of one application, in a separate registry. Labels never contain user input."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        seconds, shares, counts = (
            partial(Histogram, registry=registry, buckets=buckets) for buckets in (_SECONDS, _SHARES, _COUNTS)
        )
        self._rewritten = counter("rag_query_rewriting", "Number of reformulations.", ["strategy", "query_type"])
        self._rewriting_seconds = seconds(
            "rag_query_rewriting_duration_seconds",
            "Duration of reformulations; cached ones are not counted.",
            ["strategy"],
        )
        self._max_score = shares(
            "rag_retrieval_max_score",
            "Best cosine of a search; searches of BM25 and hybrid indexes are not counted.",
            ["used_rewriting"],
        )
        self._routes = counter("acqo_searches", "Number of searches by route.", ["route"])
        self._route_score = shares("acqo_route_max_score", "Best cosine by route.", ["route"])
        self._cache = counter("acqo_cache_requests", "Look-ups in the caches.", ["cache", "outcome"])
        self._failures = counter("acqo_failures", "Number of failed calls.", ["step", "kind"])
        self._model_calls = counts("acqo_model_calls", "Completions requested per query.", ["use"])
        self._requests = counter("acqo_http_requests", "Number of answered requests.", ["method", "path", "status"])
        self._request_seconds = seconds("acqo_http_request_duration_seconds", "Duration of requests.", ["path"])
        self.in_flight = gauge("acqo_http_requests_in_flight", "Requests in progress.")
        self.waiting = gauge("acqo_http_requests_waiting", "Requests that wait for a free place.")
        self.refused = counter("acqo_http_requests_refused", "Number of rejected requests.", ["reason"])

    def reformulated(self, made: Reformulation, seconds: float, asked: str, use: str) -> None:
        """Counts a reformulation under the strategy that made it (``adaptive`` chooses), unless none was asked for.

        Args:
            made: the reformulation.
            seconds: its duration, which does not count if it comes from a cache.
            asked: the strategy of the request; that of ``raw`` is none.
            use: of the model calls: ``search``, ``reformulate`` or ``answer``.
        """
        if use != "answer":
            self._model_calls.labels(use).observe(made.calls)
        if asked == "raw":
            return
        self._rewritten.labels(made.made_by, made.query_type or "unknown").inc()
        if made.completion or made.cached:
            self._cache.labels("reformulation", "hit" if made.cached else "miss").inc()
        if not made.cached:
            self._rewriting_seconds.labels(made.made_by).observe(seconds)

    def searched(self, found: SearchResult, cosines: Collection[float], asked: str) -> None:
        """Counts a search with a strategy, whose documents have these cosines."""
        made = found.reformulation
        self._routes.labels(made.route).inc()
        if cosines:
            best = max(cosines)
            self._max_score.labels(str(made.route != "pass").lower()).observe(best)
            self._route_score.labels(made.route).observe(best)
        self.reformulated(made, ms_of(found.trace, "reformulation") / 1000, asked, "search")
        self._failed(found.failures)

    def answered(self, result: RetrievalState, asked: str) -> None:
        """Counts an answer whose first search has a strategy, and the reformulation of its question."""
        self._cache.labels("answer", "hit" if result.journal.cached else "miss").inc()
        self._model_calls.labels("answer").observe(result.model_calls)
        if not result.journal.cached:
            self._failed(result.failures)
            if result.reformulation:
                seconds = ms_of(result.journal.trace.steps, "reformulation") / 1000
                self.reformulated(result.reformulation, seconds, asked, "answer")

    def _failed(self, failures: Iterable[Failure]) -> None:
        for failure in failures:
            self.failed(failure.step, failure.reason)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Counts a request; ``path`` is a path of the application, so that the number of labels is limited."""
        self._requests.labels(method, path, str(status)).inc()
        self._request_seconds.labels(path).observe(seconds)

    def failed(self, step: str, reason: str) -> None:
        """Counts a failed call, or a request for which all calls failed."""
        self._failures.labels(step, "timeout" if "timeout" in reason.lower() else "error").inc()

"""The budgeted pipeline: runs only the steps that a question needs, within a hard limit of model calls."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from datetime import date

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.pipeline.calls import BudgetedModel, FirstSearch, PassageSearch
from acqo_rl.pipeline.context import for_mode
from acqo_rl.pipeline.further import Decomposer, GapSearch
from acqo_rl.pipeline.journal import Budget, Journal
from acqo_rl.pipeline.questions import Analyzer, AnyMode, Mode, read_mode
from acqo_rl.pipeline.references import ReferenceFollower
from acqo_rl.pipeline.state import PipelineStep, RetrievalState
from acqo_rl.pipeline.synthesis import ConfidenceCalibrator, Synthesizer
from acqo_rl.pipeline.temporal import TemporalReranker
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import LanguageModel, Retriever
from acqo_rl.searching.cache import TimedCache, query_key
from acqo_rl.searching.searcher import AdaptiveSearcher, read_query
from acqo_rl.searching.trace import Step, Trace
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Challenge, Corpus, Query

ESSENTIAL = 2
"""Number of reserved model calls: the answer and its grounding."""


class Pipeline:
    """Runs analyzer, first search, the steps chosen by the challenges, answer and confidence; results are cached.

    Each step gets the state of the question and returns it with what it found, so steps can be replaced. With the
    defaults, a simple or temporal question takes 2 model calls, one with two searches for what is missing 4, one with
    three sub-questions 6, and the maximum is 9. The calls of a reformulation are added. A question that the searcher
    splits is not split again, and each hop that it makes saves a model call.

    A mode fixes the steps instead: ``simple`` searches once; ``recursive`` splits the question and follows references
    in passages; ``multi_hop`` searches for missing information; ``self_query`` searches for each gap.
    """

    def __init__(
        self,
        searcher: AdaptiveSearcher | Retriever,
        corpus: Corpus,
        model: LanguageModel | None = None,
        *,
        max_model_calls: int = 20,
        seconds: float | None = None,
        today: Callable[[], date] = date.today,
        steps: Mapping[Challenge, PipelineStep] | None = None,
        cache_size: int = 1024,
        cache_seconds: float = 3600.0,
    ) -> None:
        """Creates the pipeline.

        Args:
            searcher: runs the first search; its document ids are keys of ``corpus``. All later searches are the same
                without reformulation. A retriever is searched with raw queries. If scores are not cosines (BM25),
                passages are ordered by rank, and the confidence does not use scores.
            corpus: document id -> document.
            model: writes and judges answers; without a model, all other steps still work.
            max_model_calls: hard limit of model calls per question.
            seconds: no call starts after this time, and running calls of models on servers end; see
                :mod:`acqo_rl.time_limit`.
            today: returns the current date, for the temporal reranker.
            steps: challenge -> step that replaces the default one.
            cache_size: maximum number of cached results; 0 disables the cache.
            cache_seconds: lifetime of cached results.

        Raises:
            ConfigError: ``max_model_calls`` is less than 2, which answer and grounding need.
        """
        if max_model_calls < ESSENTIAL:
            raise ConfigError(
                f"max_model_calls is {max_model_calls}; it must be at least {ESSENTIAL}, for answer and grounding."
            )
        if not isinstance(searcher, AdaptiveSearcher):
            searcher = AdaptiveSearcher(PassThrough(), searcher, RankScoreFusion())
        search = PassageSearch(searcher.without_reformulation(), corpus)
        asks = BudgetedModel(model)
        self._searcher = searcher
        self._search = search
        self.max_model_calls = max_model_calls
        self._seconds = seconds
        first = FirstSearch(search, searcher, k=5)
        self._before: dict[Mode | None, tuple[PipelineStep, ...]] = {
            None: (Analyzer(asks), FirstSearch(search, searcher)),
            "simple": (first,),
            "recursive": (first, Decomposer(search, asks), ReferenceFollower(search)),
            "multi_hop": (first, GapSearch("multi_hop", search, asks)),
            "self_query": (first, GapSearch("self_query", search, asks)),
        }
        self._steps: dict[Challenge, PipelineStep] = {
            "temporal": TemporalReranker(today),
            "multi_hop": GapSearch("multi_hop", search, asks),
            "decomposition": Decomposer(search, asks),
            **(steps or {}),
        }
        self._synthesizer = Synthesizer(asks)
        self._calibrator = ConfidenceCalibrator(asks, cosine=searcher.cosine)
        self._cache: TimedCache[RetrievalState] = TimedCache(cache_size, cache_seconds)

    def ask(
        self,
        query: Query | str,
        on_step: Callable[[Step], None] | None = None,
        *,
        mode: AnyMode = "pipeline",
        context: str = "",
    ) -> RetrievalState:
        """Answers one question.

        Args:
            query: the question; a ``str`` is a query without history.
            on_step: called with each step when it ends.
            mode: ``pipeline`` chooses the steps by the challenges; the others fix them; ``auto`` chooses one by rules.
            context: information about the user; the first search appends it to the sub-queries of the route
                ``disambiguate``.

        Raises:
            ConfigError: the question is empty, or the mode is unknown.
            SearchError: there are no passages because searches failed.
        """
        query, _ = read_query(query)
        chosen = read_mode(mode, query.text)
        key: Hashable = (query_key(query), chosen, context, self._searcher.fingerprint)
        known = self._cache.get(key)
        trace = Trace(on_step)
        if known and self._search.has(known.chunks):
            trace.add("cache", "cached result")
            return replace(known, journal=replace(known.journal, budget=Budget(0), trace=trace, cached=True))
        journal = Journal(Budget(self.max_model_calls, ESSENTIAL), trace)
        with limited(TimeLimit(self._seconds)):
            state = self._run(RetrievalState(query, context, journal=journal), chosen)
        if not journal.broken:
            self._cache.put(key, state)
        return state

    def _run(self, state: RetrievalState, mode: Mode | None) -> RetrievalState:
        for step in self._before[mode]:
            state = step.run(state)
        if "search" in state.journal.broken and not state.passages.found:
            public = f"No search succeeded ({'; '.join(failure.public for failure in state.failures)})."
            message = f"No search succeeded ({'; '.join(map(str, state.failures))}). Check that the retriever responds."
            raise SearchError(message, public=public)
        challenges = () if mode else tuple(c for c in self._steps if c in state.challenges)
        state = replace(state, strategies=(mode,) if mode else challenges)
        for challenge in challenges:
            state = self._steps[challenge].run(state)
        state = self._synthesizer.run(state, for_mode(state, mode) if mode else "")
        return self._calibrator.run(state)

"""The first search: adaptive where a searcher is given, otherwise of the question as it stands."""

from __future__ import annotations

from acqo_rl.errors import SearchError
from acqo_rl.pipeline.roles import PassageSearch, note_failures
from acqo_rl.pipeline.state import RetrievalState, SubQuestion
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher, cluster_by_sub_query
from acqo_rl.text import normalised

PART_PASSAGES = 3
"""Passages of each part of a question from which the part is answered."""


class InitialSearch:
    """Searches what the reformulator of a searcher makes of the question, within the budget of model calls.

    The parts of a question that it splits become the sub-questions of the state, so that no later step splits it again.
    """

    name = "initial"

    def __init__(
        self, search: PassageSearch, k: int = 10, searcher: AdaptiveSearcher | None = None, calls: int = 1
    ) -> None:
        """Takes what searches.

        Args:
            search: finds the passages of a question that is not reformulated.
            k: passages.
            searcher: reformulates and searches every question, over the same documents; without one, questions are
                searched as they stand.
            calls: model calls of one reformulation at most; granted beforehand.
        """
        self._search = search
        self._k = k
        self._searcher = searcher
        self._calls = calls

    def run(self, state: RetrievalState) -> None:
        """Adds the first passages."""
        if self._searcher and self._may_reformulate(state):
            self._reformulate(state, self._searcher)
        else:
            self._search.search(state, self.name, [state.query.text], self._k)

    def _may_reformulate(self, state: RetrievalState) -> bool:
        if state.is_late("reformulation"):
            return False
        if self._calls and not state.budget.use(self._calls):
            state.skip("reformulation", f"the budget of {state.budget.limit} model calls has no room for it")
            return False
        return True

    def _reformulate(self, state: RetrievalState, searcher: AdaptiveSearcher) -> None:
        try:
            found = searcher.search(state.query, self._k, context=state.context)
        except SearchError as error:
            state.fail(self.name, str(error), "search")
            return
        if not found.reformulation.failed_calls:  # else nobody knows how many it made: all that were granted count
            state.budget.settle(self._calls, 0 if found.cached else found.reformulation.calls)
        state.reformulation = found.reformulation
        texts = [sub_query.text for sub_query in found.reformulation.sub_queries]
        state.searched.update(map(normalised, [state.query.text, *texts]))
        for step in () if found.cached else found.trace:
            state.trace.add(step.name, step.detail, step.ms)
        state.trace.add(self.name, f"searched {texts}")
        note_failures(state, found.failures)
        self._add(state, found)

    def _add(self, state: RetrievalState, found: SearchResult) -> None:
        found_by = {doc_id: text for text, doc_ids in cluster_by_sub_query(found).items() for doc_id in doc_ids}
        for document, similarity in self._search.passages(found.fused, self._k):
            state.add_chunks([(document, similarity)], self.name, found_by[document.id])
        state.fused = found.fused.doc_ids[: self._k]
        if found.reformulation.route == "decompose":
            state.sub_questions = _sub_questions(found, state)


def _sub_questions(found: SearchResult, state: RetrievalState) -> list[SubQuestion]:
    """The parts that were searched, each with the best of its passages that the state holds."""
    parts = [s.text for s in found.reformulation.sub_queries if s.kind == "part"]
    best = {ranking.query: ranking.doc_ids for ranking in reversed(found.rankings)}
    return [
        SubQuestion(number, text, doc_ids=tuple(d for d in best.get(text, ()) if d in state.chunks)[:PART_PASSAGES])
        for number, text in enumerate(parts, start=1)
    ]

"""The first search: of the question as it stands, or in a conversation of what it asks in the light of the turns."""

from __future__ import annotations

from acqo_rl.errors import SearchError
from acqo_rl.pipeline.roles import PassageSearch, note_failures
from acqo_rl.pipeline.searcher import AdaptiveSearcher, Found, cluster_by_sub_query
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.text import normalised


class InitialSearch:
    """Searches the question; one that follows earlier turns is made to stand alone first, where somebody can."""

    name = "initial"

    def __init__(
        self, search: PassageSearch, k: int = 10, searcher: AdaptiveSearcher | None = None, calls: int = 1
    ) -> None:
        """Joins the parts.

        Args:
            search: finds the passages.
            k: passages.
            searcher: reformulates and searches questions with earlier turns, over the same documents; without one
                they are searched as they stand.
            calls: model calls of one reformulation at most; granted beforehand.
        """
        self._search = search
        self._k = k
        self._searcher = searcher
        self._calls = calls

    def run(self, state: RetrievalState) -> None:
        """Adds the first passages."""
        if self._searcher and state.query.history and self._may_reformulate(state):
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
            found = searcher.search(state.query, self._k)
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

    def _add(self, state: RetrievalState, found: Found) -> None:
        found_by = {doc_id: text for text, doc_ids in cluster_by_sub_query(found).items() for doc_id in doc_ids}
        for document, similarity in self._search.passages(found.fused, self._k):
            state.add_chunks([(document, similarity)], self.name, found_by[document.id])

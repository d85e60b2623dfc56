"""The first search: with a searcher, reformulation and search; otherwise a search of the raw query."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.errors import SearchError
from acqo_rl.pipeline.calls import PassageSearch, note_failures
from acqo_rl.pipeline.state import RetrievalState, SubQuestion
from acqo_rl.searching.result import Failure, SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher, cluster_by_sub_query
from acqo_rl.text import normalised

PART_PASSAGES = 3
"""Number of passages from which each sub-question is answered."""


@dataclass(frozen=True)
class FirstSearch:
    """Reformulates and searches the question, within the budget of model calls.

    If the reformulator splits the question, the parts become sub-questions of the state and are not split again.

    Attributes:
        search: searches the raw query if there is no reformulation.
        k: number of passages.
        searcher: reformulates and searches questions, over the same documents; without it, raw queries are searched.
        calls: maximum number of model calls per reformulation; taken from the budget in advance.
    """

    search: PassageSearch
    k: int = 10
    searcher: AdaptiveSearcher | None = None
    calls: int = 1

    name = "initial"

    def run(self, state: RetrievalState) -> None:
        """Adds the passages of the first search to the state."""
        if self.searcher is None or state.is_late("reformulation"):
            self.search.search(state, self.name, [state.query.text], self.k)
        elif self.calls and not state.budget.use(self.calls):
            state.skip("reformulation", f"the budget of {state.budget.limit} model calls is too small")
            self.search.search(state, self.name, [state.query.text], self.k)
        else:
            self._reformulate(state, self.searcher)

    def _reformulate(self, state: RetrievalState, searcher: AdaptiveSearcher) -> None:
        try:
            found = searcher.search(state.query, self.k, context=state.user_context)
        except SearchError as error:
            state.fail(Failure(self.name, str(error), error.public), "search")
            return
        made = state.reformulation = found.reformulation
        if not made.failed_calls:  # after a failure the number is unknown, so all granted calls count
            state.budget.settle(self.calls, 0 if found.cached else made.calls)
        texts = [sub_query.text for sub_query in made.sub_queries]
        state.searched.update(map(normalised, [state.query.text, *texts]))
        for step in () if found.cached else found.trace:
            state.trace.add(step.name, step.detail, step.ms)
        state.trace.add(self.name, f"searched {texts}")
        note_failures(state, found.failures)
        found_by = {doc_id: text for text, doc_ids in cluster_by_sub_query(found).items() for doc_id in doc_ids}
        for document, similarity in self.search.passages(found.fused, self.k):
            state.add_chunks([(document, similarity)], self.name, found_by[document.id])
        state.fused = tuple(d for d in found.fused.doc_ids[: self.k] if d in state.found)
        if made.route == "decompose":
            state.sub_questions = _sub_questions(found, state)


def _sub_questions(found: SearchResult, state: RetrievalState) -> list[SubQuestion]:
    """The parts of the question, each with its best passages that are in the state."""
    parts = [s.text for s in found.reformulation.sub_queries if s.kind == "part"]
    best = {ranking.query: ranking.doc_ids for ranking in reversed(found.rankings)}
    return [
        SubQuestion(number, text, doc_ids=tuple(d for d in best.get(text, ()) if d in state.found)[:PART_PASSAGES])
        for number, text in enumerate(parts, start=1)
    ]

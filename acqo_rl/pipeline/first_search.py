"""The first search: reformulation, search and hops; it tells the later steps what they need not do."""

from dataclasses import dataclass

from acqo_rl.errors import SearchError
from acqo_rl.pipeline.calls import PassageSearch
from acqo_rl.pipeline.state import RetrievalState, Round, SubQuestion
from acqo_rl.searching.result import Failure
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import normalised

PART_PASSAGES = 3
"""Number of passages of each sub-question and of each hop."""


@dataclass(frozen=True)
class FirstSearch:
    """Reformulates and searches the question, within the budget of model calls.

    If the reformulator splits the question, the parts become sub-questions of the state and are not split again. Hops
    become searches of a chain, which the later steps continue.

    Attributes:
        search: searches the raw query if the budget is too small for a reformulation.
        searcher: reformulates and searches questions, over the same documents.
        k: number of passages.
    """

    search: PassageSearch
    searcher: AdaptiveSearcher
    k: int = 10

    name = "initial"

    def run(self, state: RetrievalState) -> None:
        """Adds the passages of the first search to the state."""
        if state.is_late(self.name):
            return
        searcher = self.searcher
        if not state.budget.use(searcher.max_calls):
            state.skip("reformulation", f"the budget of {state.budget.limit} model calls is too small")
            searcher = self.search.searcher
        try:
            found = searcher.search(state.query, self.k, context=state.user_context)
        except SearchError as error:
            state.fail(Failure(self.name, str(error), error.public), "search")
            return
        made = state.reformulation = found.reformulation
        if not made.failed_calls:  # after a failure the number is unknown, so all granted calls count
            state.budget.settle(searcher.max_calls, made.calls)
        texts = [sub_query.text for sub_query in made.sub_queries]
        state.searched.update(map(normalised, [state.query.text, *texts]))
        for step in found.trace:
            state.trace.add(step.name, step.detail, step.ms)
        state.trace.add(self.name, f"searched {texts}")
        state.fused = tuple(chunk.document.id for chunk in self.search.add(state, self.name, found, self.k))
        best = {ranking.query: ranking.doc_ids for ranking in reversed(found.rankings)}

        def passages(kind: str) -> list[tuple[str, tuple[str, ...]]]:
            """The sub-queries of a kind, each with its best passages that are in the state."""
            some = [s.text for s in made.sub_queries if s.kind == kind]
            return [(t, tuple(d for d in best.get(t, ()) if d in state.found)[:PART_PASSAGES]) for t in some]

        if made.route == "decompose":
            parts = enumerate(passages("part"), start=1)
            state.sub_questions = [SubQuestion(number, text, doc_ids=doc_ids) for number, (text, doc_ids) in parts]
        if hops := passages("hop"):
            chain = [(state.query.text, state.fused), *hops]
            state.hops = [Round(number, text, doc_ids) for number, (text, doc_ids) in enumerate(chain, start=1)]

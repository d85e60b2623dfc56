"""Every step searches and asks models through these classes, which keep budget and time limit, and record failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from acqo_rl.errors import SearchError
from acqo_rl.language_models.structured import Reply, example, problem_of, read_reply
from acqo_rl.pipeline.passages import Chunk
from acqo_rl.pipeline.state import RetrievalState, Round, SubQuestion
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.reformulation.prompted import complete
from acqo_rl.roles import LanguageModel
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, SearchResult, public_problem
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import normalised
from acqo_rl.types import Completion, Corpus

_PART_PASSAGES = 3
"""Number of passages of each sub-question and of each hop."""
_DECAY = -0.12
"""Exponent of the rank that substitutes a missing cosine: 1 for rank 1, 0.76 for rank 10.

On average over 257 multi-hop questions, the cosine at a rank is this share of the cosine at rank 1.
"""


@dataclass(frozen=True)
class PassageSearch:
    """Searches passages.

    If the scores of the searcher are not cosines, similarities are derived from ranks, because its scores are not
    comparable between searches.

    Attributes:
        searcher: searches raw queries.
        corpus: document id -> document.
    """

    searcher: AdaptiveSearcher
    corpus: Corpus

    def passages(self, state: RetrievalState, source: str, texts: Sequence[str], k: int) -> list[list[Chunk]]:
        """Returns at most ``k`` passages per text, in input order, from one call, and adds them to the state.

        A search that fails, or that starts after the time limit, returns no passages and is recorded in the state.
        """
        if state.journal.is_late(source):
            return [[] for _ in texts]
        state.journal.searched.update(map(normalised, texts))
        try:
            with state.journal.trace.step(source, f"searched {list(texts)}"):
                return [self.add(state, source, found, k) for found in self.searcher.search_many(texts, k)]
        except Exception as error:
            state.journal.fail(Failure.of(source, error), "search")
            return [[] for _ in texts]

    def has(self, chunks: Sequence[Chunk]) -> bool:
        """Whether the corpus still has the documents of an earlier result, unchanged."""
        documents = fetch(self.corpus, [chunk.document.id for chunk in chunks])
        return all(documents.get(chunk.document.id) == chunk.document for chunk in chunks)

    def add(self, state: RetrievalState, source: str, found: SearchResult, k: int) -> list[Chunk]:
        """Adds the best ``k`` passages and the failures of a result to the state; returns the passages."""
        best = found.fused.first(k)
        documents = fetch(self.corpus, best.doc_ids)
        values = best.similarities if self.searcher.cosine else [float(rank**_DECAY) for rank in range(1, k + 1)]
        scored = zip(best.doc_ids, values, strict=False)
        known = [(documents[doc_id], value) for doc_id, value in scored if doc_id in documents]
        state.passages.add(known, source, best.spans)
        for failure in found.failures:
            state.journal.fail(failure, "model" if failure.step == "reformulation" else "search")
        return [state.passages.found[doc_id] for doc_id in best.doc_ids if doc_id in documents]


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

    def run(self, state: RetrievalState) -> RetrievalState:
        """Adds the passages of the first search to the state."""
        if state.journal.is_late(self.name):
            return state
        searcher = self.searcher
        if not state.journal.budget.use(searcher.max_calls):
            state.journal.skip("reformulation", f"the budget of {state.journal.budget.limit} model calls is too small")
            searcher = self.search.searcher
        try:
            found = searcher.search(state.query, self.k, context=state.user_context)
        except SearchError as error:
            state.journal.fail(Failure(self.name, str(error), error.public), "search")
            return state
        made = found.reformulation
        if not made.failed_calls:  # after a failure the number is unknown, so all granted calls count
            state.journal.budget.settle(searcher.max_calls, made.calls)
        texts = [sub_query.text for sub_query in made.sub_queries]
        state.journal.searched.update(map(normalised, [state.query.text, *texts]))
        for step in found.trace:
            state.journal.trace.add(step.name, step.detail, step.ms)
        state.journal.trace.add(self.name, f"searched {texts}")
        state.passages.fused = tuple(chunk.document.id for chunk in self.search.add(state, self.name, found, self.k))
        best = {ranking.query: ranking.doc_ids for ranking in reversed(found.rankings)}

        def passages(kind: str) -> list[tuple[str, tuple[str, ...]]]:
            """The sub-queries of a kind, each with its best passages that are in the state."""
            return [
                (one.text, tuple(d for d in best.get(one.text, ()) if d in state.passages.found)[:_PART_PASSAGES])
                for one in made.sub_queries
                if one.kind == kind
            ]

        parts = passages("part") if made.route == "decompose" else []
        hops = passages("hop")
        chain = [(state.query.text, state.passages.fused), *hops] if hops else []
        return replace(
            state,
            reformulation=made,
            sub_questions=tuple(SubQuestion(number, *part) for number, part in enumerate(parts, start=1)),
            hops=tuple(Round(number, *searched) for number, searched in enumerate(chain, start=1)),
        )


class Task(NamedTuple):
    """What a model is asked.

    Attributes:
        instructions: the system message.
        reply: form of the reply; ``None`` for plain text.
        examples: pairs of content and fields of the reply, used as earlier turns. Without them, small models answer the
            question whatever the instructions say.
    """

    instructions: str
    reply: Reply | None = None
    examples: Sequence[tuple[str, Mapping[str, Any]]] = ()


@dataclass(frozen=True)
class BudgetedModel:
    """Calls a language model within the budget; without a model, every call is skipped."""

    model: LanguageModel | None

    def ask(
        self, state: RetrievalState, step: str, task: Task, contents: Sequence[str], *, essential: bool = False
    ) -> list[dict[str, Any] | None]:
        """Returns the fields of one reply per content, from one batch; ``None`` for skipped and failed calls.

        Args:
            state: provides the budget; records failures and replies of another form.
            step: name of the step in the trace.
            task: what to ask, with the form of the reply.
            contents: the user messages; special tokens in them are turned into plain text.
            essential: whether reserved calls may be used.
        """
        assert task.reply is not None
        replies: list[dict[str, Any] | None] = []
        for completion in self._complete(state, step, task, contents, essential=essential):
            replies.append(read_reply(completion, task.reply) if completion else None)
            if completion and replies[-1] is None:
                state.journal.fail(Failure(step, problem_of(completion), problem_of(completion)))
        return replies

    def write(self, state: RetrievalState, step: str, task: Task, content: str) -> str:
        """Returns a reply in plain text; empty if the call is skipped or fails."""
        [completion] = self._complete(state, step, task, [content], essential=True)
        if completion and not completion.text.strip():
            state.journal.fail(Failure(step, "the reply is empty", "the reply is empty"))
        return completion.text.strip() if completion else ""

    def _complete(
        self, state: RetrievalState, step: str, task: Task, contents: Sequence[str], *, essential: bool
    ) -> list[Completion | None]:
        """One completion per content; ``None`` for skipped and failed calls."""
        granted = [content for content in contents if self._may(state, step, essential)]
        completions: list[Completion] = []
        if granted and self.model:
            examples = [(content, example(**reply)) for content, reply in task.examples]
            safe = ["\n".join(map(untrusted, content.split("\n"))) for content in granted]
            conversations = [with_examples(task.instructions, examples, content) for content in safe]
            try:
                with state.journal.trace.step(step, f"{len(granted)} model calls"):
                    completions = complete(self.model, conversations, task.reply)
            except Exception as error:
                state.journal.fail(Failure.of(step, error), "model")
        for problem in filter(None, (completion.problem for completion in completions)):
            state.journal.fail(Failure(step, problem, public_problem(problem)), "model")
        return [*(None if one.problem else one for one in completions), *[None] * (len(contents) - len(completions))]

    def _may(self, state: RetrievalState, step: str, essential: bool) -> bool:
        if self.model is None:
            state.journal.skip(step, "no language model")
        elif not state.journal.is_late(step):
            if state.journal.budget.use(essential=essential):
                return True
            state.journal.skip(step, f"the budget of {state.journal.budget.limit} model calls is used up")
        return False

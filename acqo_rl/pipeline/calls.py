"""Searches and model calls of all steps, within budget and time limit; failures and trace are recorded in the state."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from acqo_rl.language_models.structured import example, problem_of, read_reply
from acqo_rl.pipeline.state import Chunk, RetrievalState
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.reformulation.prompted import complete
from acqo_rl.roles import LanguageModel
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, SearchResult, public_problem
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import normalised
from acqo_rl.types import Completion, Document, Schema


class PassageSearch:
    """Searches passages.

    If the scores of the searcher are not cosines, similarities are derived from ranks, because its scores are not
    comparable between searches.
    """

    def __init__(self, searcher: AdaptiveSearcher, corpus: Mapping[str, Document]) -> None:
        """Creates the search.

        Args:
            searcher: searches raw queries.
            corpus: document id -> document.
        """
        self.searcher = searcher
        self.corpus = corpus

    def search(self, state: RetrievalState, source: str, texts: Sequence[str], k: int) -> list[list[Chunk]]:
        """Returns at most ``k`` passages per text, in input order, from one call, and adds them to the state.

        A search that fails, or that starts after the time limit, returns no passages and is recorded in the state.
        """
        if state.is_late(source):
            return [[] for _ in texts]
        state.searched.update(map(normalised, texts))
        try:
            with state.trace.step(source, f"searched {list(texts)}"):
                return [self.add(state, source, found, k) for found in self.searcher.search_many(texts, k)]
        except Exception as error:
            state.fail(Failure.of(source, error), "search")
            return [[] for _ in texts]

    def has(self, chunks: Sequence[Chunk]) -> bool:
        """Whether the corpus still has the documents of an earlier result, unchanged."""
        documents = fetch(self.corpus, [chunk.document.id for chunk in chunks])
        return all(documents.get(chunk.document.id) == chunk.document for chunk in chunks)

    def add(self, state: RetrievalState, source: str, found: SearchResult, k: int) -> list[Chunk]:
        """Adds the best ``k`` passages and the failures of a result to the state; returns the passages."""
        best = found.fused.first(k)
        documents = fetch(self.corpus, best.doc_ids)
        values = best.similarities if self.searcher.cosine else map(by_rank, range(1, k + 1))
        scored = zip(best.doc_ids, values, strict=False)
        state.add_chunks([(documents[doc_id], value) for doc_id, value in scored if doc_id in documents], source)
        for failure in found.failures:
            state.fail(failure, "model" if failure.step == "reformulation" else "search")
        return [state.found[doc_id] for doc_id in best.doc_ids if doc_id in documents]


def by_rank(rank: int) -> float:
    """A substitute for a missing cosine: 1 for rank 1, 0.76 for rank 10.

    On average over 257 multi-hop questions, the cosine at a rank is this share of the cosine at rank 1.
    """
    return float(rank**-0.12)


class Task(NamedTuple):
    """What a model is asked.

    Attributes:
        instructions: the system message.
        schema: schema of the reply; ``None`` for plain text.
        examples: pairs of content and fields of the reply, used as earlier turns. Without them, small models answer the
            question whatever the instructions say.
    """

    instructions: str
    schema: Schema | None = None
    examples: Sequence[tuple[str, Mapping[str, Any]]] = ()


class BudgetedModel:
    """Calls a language model within the budget; without a model, every call is skipped."""

    def __init__(self, model: LanguageModel | None) -> None:
        self.model = model

    def ask(
        self, state: RetrievalState, step: str, task: Task, contents: Sequence[str], *, essential: bool = False
    ) -> list[dict[str, Any] | None]:
        """Returns the fields of one reply per content, from one batch; ``None`` for skipped and failed calls.

        Args:
            state: provides the budget; records failures and replies that do not match the schema.
            step: name of the step in the trace.
            task: what to ask, with a schema.
            contents: the user messages; special tokens in them are turned into plain text.
            essential: whether reserved calls may be used.
        """
        assert task.schema is not None
        replies: list[dict[str, Any] | None] = []
        for completion in self._complete(state, step, task, contents, essential=essential):
            replies.append(read_reply(completion, task.schema) if completion else None)
            if completion and replies[-1] is None:
                state.fail(Failure(step, problem_of(completion), problem_of(completion)))
        return replies

    def write(self, state: RetrievalState, step: str, task: Task, content: str) -> str:
        """Returns a reply in plain text; empty if the call is skipped or fails."""
        [completion] = self._complete(state, step, task, [content], essential=True)
        if completion and not completion.text.strip():
            state.fail(Failure(step, "the reply is empty", "the reply is empty"))
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
                with state.trace.step(step, f"{len(granted)} model calls"):
                    completions = complete(self.model, conversations, task.schema)
            except Exception as error:
                state.fail(Failure.of(step, error), "model")
        for problem in filter(None, (completion.problem for completion in completions)):
            state.fail(Failure(step, problem, public_problem(problem)), "model")
        found = [None if completion.problem else completion for completion in completions]
        return [*found, *[None] * (len(contents) - len(found))]

    def _may(self, state: RetrievalState, step: str, essential: bool) -> bool:
        if self.model is None:
            state.skip(step, "no language model")
        elif not state.is_late(step):
            if state.budget.use(essential=essential):
                return True
            state.skip(step, f"the budget of {state.budget.limit} model calls is used up")
        return False

"""Search and model calls for all steps; they observe budget and time limit; failures and trace are in the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from acqo_rl.language_models.structured import problem_of, read_reply
from acqo_rl.pipeline.state import Chunk, RetrievalState
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.roles import LanguageModel, Retriever, StreamingModel
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, public_problem, public_reason_of, reason_of
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import normalised
from acqo_rl.types import Completion, Conversation, Document, Ranking, Schema


class PassageSearch:
    """Searches passages with a retriever and its corpus."""

    def __init__(self, retriever: Retriever | AdaptiveSearcher, corpus: Mapping[str, Document]) -> None:
        """Creates the search.

        Args:
            retriever: a retriever, or a searcher of raw queries that combines several and tolerates failures.
                If its attribute ``cosine`` is false, similarities are derived from ranks, because its scores are not
                comparable between searches.
            corpus: document id -> document.
        """
        self.retriever = retriever
        self.corpus = corpus
        self.cosine = retriever.cosine

    def search(self, state: RetrievalState, source: str, texts: Sequence[str], k: int) -> list[list[Chunk]]:
        """Returns at most ``k`` passages per text, in input order, from one call, and adds them to the state.

        A search that fails, or that starts after the time limit, returns no passages and is recorded in the state.
        """
        if state.is_late(source):
            return [[] for _ in texts]
        state.searched.update(map(normalised, texts))
        try:
            with state.trace.step(source, f"searched {list(texts)}"):
                rankings, failures = self._find(texts, k)
                passages = [self.passages(ranking, k) for _, ranking in zip(texts, rankings, strict=True)]
        except Exception as error:
            state.fail(source, reason_of(error), "search", public_reason_of(error))
            return [[] for _ in texts]
        note_failures(state, failures)
        for text, some in zip(texts, passages, strict=True):
            state.add_chunks(some, source, text)
        return [[state.chunks[document.id] for document, _ in some] for some in passages]

    def passages(self, ranking: Ranking, k: int) -> list[tuple[Document, float]]:
        """The best ``k`` documents of a ranking, each with its similarity."""
        documents = fetch(self.corpus, ranking.doc_ids[:k])
        scores = ranking.similarities or ranking.scores
        values = scores if self.cosine else map(by_rank, range(1, len(scores) + 1))
        return [(documents[d], value) for d, value in zip(ranking.doc_ids, values, strict=True) if d in documents]

    def has(self, chunks: Sequence[Chunk]) -> bool:
        """Whether the corpus still has the documents of an earlier result, unchanged."""
        documents = fetch(self.corpus, [chunk.document.id for chunk in chunks])
        return all(documents.get(chunk.document.id) == chunk.document for chunk in chunks)

    def _find(self, texts: Sequence[str], k: int) -> tuple[list[Ranking], list[Failure]]:
        if not isinstance(self.retriever, AdaptiveSearcher):
            return self.retriever.search(texts, k), []
        found = self.retriever.search_many(texts, k)
        return [one.fused for one in found], [failure for one in found for failure in one.failures]


def by_rank(rank: int) -> float:
    """A substitute for a missing cosine: 1 for rank 1, 0.76 for rank 10.

    On average over 257 multi-hop questions, the cosine at a rank is this share of the cosine at rank 1.
    """
    return float(rank**-0.12)


def note_failures(state: RetrievalState, failures: Iterable[Failure]) -> None:
    """Records the failures of a searcher in the state."""
    for failure in failures:
        reason, public = (f"{failure.retriever} {why}".strip() for why in (failure.reason, failure.public))
        state.fail(failure.step, reason, "model" if failure.step == "reformulation" else "search", public)


class BudgetedModel:
    """Calls a language model within the budget; without a model, every call is skipped."""

    def __init__(self, model: LanguageModel | None) -> None:
        self.model = model

    def ask_for(
        self,
        schema: Schema,
        state: RetrievalState,
        step: str,
        instructions: str,
        contents: Sequence[str],
        examples: Sequence[tuple[str, str]] = (),
        *,
        essential: bool = False,
    ) -> list[dict[str, Any] | None]:
        """Returns the fields of one reply per content, from one batch; ``None`` for skipped and failed calls.

        Args:
            schema: schema of the replies.
            state: provides the budget and records failures and replies that do not match the schema.
            step: name of the step in the trace.
            instructions: the system message.
            contents: the user messages; special tokens in them are turned into plain text.
            examples: pairs of content and expected reply, used as earlier turns. Without them, small models answer the
                question whatever the instructions say.
            essential: whether reserved calls may be used.
        """
        replies: list[dict[str, Any] | None] = []
        completions = self._ask(state, step, instructions, contents, examples, schema=schema, essential=essential)
        for completion in completions:
            replies.append(read_reply(completion, schema) if completion else None)
            if completion and replies[-1] is None:
                state.misread(step, problem_of(completion))
        return replies

    def write(self, state: RetrievalState, step: str, instructions: str, content: str) -> str | None:
        """Returns a reply in plain text, and streams it to the state's ``on_text``; may use reserved calls."""
        [completion] = self._ask(state, step, instructions, [content], essential=True)
        return completion.text if completion else None

    def _ask(
        self,
        state: RetrievalState,
        step: str,
        instructions: str,
        contents: Sequence[str],
        examples: Sequence[tuple[str, str]] = (),
        *,
        schema: Schema | None = None,
        essential: bool = False,
    ) -> list[Completion | None]:
        """One completion per content; ``None`` for skipped and failed calls."""
        granted = [content for content in contents if self._may(state, step, essential)]
        found: list[Completion | None] = []
        if granted and self.model:
            conversations = [with_examples(instructions, examples, _safe(content)) for content in granted]
            try:
                with state.trace.step(step, f"{len(granted)} model calls"):
                    completions = self._complete(self.model, conversations, schema, state.on_text)
                    if len(completions) != len(granted):
                        raise ValueError(f"{len(completions)} completions for {len(granted)} prompts")
            except Exception as error:
                state.fail(step, reason_of(error), "model", public_reason_of(error))
                completions = []
            for problem in filter(None, (completion.problem for completion in completions)):
                state.fail(step, problem, "model", public_problem(problem))
            found = [None if completion.problem else completion for completion in completions]
        return [*found, *[None] * (len(contents) - len(found))]

    @staticmethod
    def _complete(
        model: LanguageModel,
        conversations: list[Conversation],
        schema: Schema | None,
        on_text: Callable[[str], None] | None,
    ) -> list[Completion]:
        if schema is None and on_text is not None and isinstance(model, StreamingModel):
            return [model.stream(conversation, on_text) for conversation in conversations]
        return model.generate(conversations, schema)

    def _may(self, state: RetrievalState, step: str, essential: bool) -> bool:
        if self.model is None:
            reason = "no language model"
        elif state.is_late(step):
            return False
        elif not state.budget.use(essential=essential):
            reason = f"the budget of {state.budget.limit} model calls is used up"
        else:
            return True
        state.skip(step, reason)
        return False


def _safe(content: str) -> str:
    return "\n".join(untrusted(line) for line in content.split("\n"))

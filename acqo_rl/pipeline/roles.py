"""How the engines search and ask: through the state, so that budget, time, failures and trace are kept in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from acqo_rl.pipeline.state import Chunk, RetrievalState
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.replies.thoughts import Spoken, said_by
from acqo_rl.searching.feedback import document_of
from acqo_rl.searching.gathering import reason_of
from acqo_rl.searching.result import Failure
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import normalised
from acqo_rl.thoughts import begins_in_thoughts
from acqo_rl.types import (
    Completion,
    Conversation,
    Document,
    LanguageModel,
    Ranking,
    Retriever,
    StreamingModel,
    has_cosines,
    starts_thinking,
)


class PassageSearch:
    """A retriever together with the texts of its documents."""

    def __init__(self, retriever: Retriever | AdaptiveSearcher, corpus: Mapping[str, Document]) -> None:
        """Joins the two.

        Args:
            retriever: searches; a searcher of raw queries joins several, and goes on without those that fail. One
                whose scores are no cosines, and do not compare from one search to the next, says so by an attribute
                ``cosine``.
            corpus: document id -> document.
        """
        self.retriever = retriever
        self.corpus = corpus
        self.cosine = has_cosines(retriever)

    def search(self, state: RetrievalState, source: str, texts: Sequence[str], k: int) -> list[list[Chunk]]:
        """At most ``k`` passages a text from one call, position for position; all of them are added to the state.

        A search that fails or comes too late is noted in the state and finds nothing.
        """
        if state.is_late(source):
            return [[] for _ in texts]
        state.searched.update(map(normalised, texts))
        try:
            with state.trace.step(source, f"searched {list(texts)}"):
                rankings, failures = self._find(texts, k)
                passages = [self.passages(ranking, k) for _, ranking in zip(texts, rankings, strict=True)]
        except Exception as error:
            state.fail(source, reason_of(error), "search")
            return [[] for _ in texts]
        note_failures(state, failures)
        for text, some in zip(texts, passages, strict=True):
            state.add_chunks(some, source, text)
        return [[state.chunks[document.id] for document, _ in some] for some in passages]

    def passages(self, ranking: Ranking, k: int) -> list[tuple[Document, float]]:
        """The best ``k`` documents of a ranking, each with what its chunk tells as similarity."""
        doc_ids = ranking.doc_ids[:k]
        told = (ranking.similarities or ranking.scores) if self.cosine else map(by_rank, range(1, len(doc_ids) + 1))
        return [(document_of(self.corpus, doc_id), value) for doc_id, value in zip(doc_ids, told, strict=False)]

    def _find(self, texts: Sequence[str], k: int) -> tuple[list[Ranking], list[Failure]]:
        if not isinstance(self.retriever, AdaptiveSearcher):
            return self.retriever.search(texts, k), []
        found = self.retriever.search_many(texts, k)
        return [one.fused for one in found], [failure for one in found for failure in one.failures]


def by_rank(rank: int) -> float:
    """What stands for a cosine where there is none: 1 for the first, .86 for the tenth (RRF's constant, 60)."""
    return 61 / (60 + rank)


def note_failures(state: RetrievalState, failures: Iterable[Failure]) -> None:
    """Keeps in the state what a searcher did without."""
    for failure in failures:
        reason = f"{failure.retriever} {failure.reason}".strip()
        state.fail(failure.step, reason, "model" if failure.step == "reformulation" else "search")


class Asker:
    """A language model under a budget; without a model every call is skipped."""

    def __init__(self, model: LanguageModel | None) -> None:
        self.model = model
        self._begins_in_thoughts = starts_thinking(model)  # or a reply shows it

    def ask(
        self,
        state: RetrievalState,
        step: str,
        instructions: str,
        contents: Sequence[str],
        *,
        examples: Sequence[tuple[str, str]] = (),
        essential: bool = False,
        watched: bool = False,
    ) -> list[str | None]:
        """One reply a content from one batch, without thoughts; ``None`` for those that were skipped or failed.

        Args:
            state: its budget grants each call.
            step: named in the trace.
            instructions: the system's message.
            contents: the users' messages; special tokens in them are made plain text.
            examples: contents with the replies that are wanted, as earlier turns; without them small models answer
                the question whatever else they are told.
            essential: the reserved calls may be used.
            watched: the reply is what the user waits for; the state's ``on_text`` sees it being written.
        """
        granted = [content for content in contents if self._may(state, step, essential)]
        replies: list[str | None] = []
        if granted and self.model:
            conversations = [with_examples(instructions, examples, _safe(content)) for content in granted]
            try:
                with state.trace.step(step, f"{len(granted)} model calls"):
                    completions = self._complete(conversations, state.on_text if watched else None)
                    if len(completions) != len(granted):
                        raise ValueError(f"{len(completions)} completions for {len(granted)} prompts")
            except Exception as error:
                state.fail(step, reason_of(error), "model")
                completions = []
            completions = [said_by(c, begins_in_thoughts=self._begins_in_thoughts) for c in completions]
            for problem in filter(None, (completion.problem for completion in completions)):
                state.fail(step, problem, "model")
            replies = [None if completion.problem else completion.text for completion in completions]
        return [*replies, *[None] * (len(contents) - len(replies))]

    def _complete(self, conversations: list[Conversation], on_text: Callable[[str], None] | None) -> list[Completion]:
        assert self.model is not None
        if on_text is not None and isinstance(self.model, StreamingModel):
            completions = [self._stream(self.model, conversation, on_text) for conversation in conversations]
        else:
            completions = self.model.generate(conversations)
        self._begins_in_thoughts |= any(begins_in_thoughts(completion.text) for completion in completions)
        return completions

    def _stream(self, model: StreamingModel, conversation: Conversation, on_text: Callable[[str], None]) -> Completion:
        spoken = Spoken(on_text, begins_in_thoughts=self._begins_in_thoughts)
        completion = model.stream(conversation, spoken.write)
        spoken.end()
        return completion

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

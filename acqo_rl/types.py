"""The values that flow along the one path, and the roles that act on them.

    query (+ conversation) [-> first search -> feedback] -> Reformulator -> Reformulation
        -> Retriever -> Fusion -> Ranking -> reward | measures | answer

Values are frozen and hold no behaviour. Roles are small protocols; implementations know nothing of each other.
All calls are batched and answer position for position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from acqo_rl.conversations import Turn, read_history
from acqo_rl.surrogates import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Route = Literal["pass", "disambiguate", "decompose", "expand"]
QueryType = Literal["factual", "how_to", "comparison", "debugging", "conceptual", "complex", "simple"]
Challenge = Literal["simple", "temporal", "multi_hop", "decomposition"]
FusionName = Literal["rsf", "rrf", "combsum", "combmnz"]
SubQueryKind = Literal["original", "reading", "part", "variant", "hypothetical", "step_back", "expansion"]

Qrels = dict[str, dict[str, int]]
"""Judgements: query id -> document id -> relevance (0 = not relevant), as in trec_eval."""

Run = dict[str, dict[str, float]]
"""Results: query id -> document id -> score, as in trec_eval."""

Conversation = list[dict[str, str]]
"""Chat messages with the keys ``role`` and ``content``, oldest first."""


_NO_METADATA: Mapping[str, Any] = {}
"""Shared by all documents without metadata, since a corpus may hold millions of them."""


def _write_well_formed(value: object, *names: str) -> None:
    """Replaces lone surrogates in attributes of a new value: no file, tokenizer or answer takes them."""
    for name in names:
        text = getattr(value, name)
        if text and not text.isascii():
            object.__setattr__(value, name, well_formed(text))


@dataclass(frozen=True, slots=True)
class Document:
    """One passage of a corpus.

    Attributes:
        id: unique within the corpus.
        title: may be empty.
        text: what is searched, with the title.
        metadata: what else is known, such as its URL, page or date; not searched.
    """

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NO_METADATA, hash=False)

    def __post_init__(self) -> None:
        _write_well_formed(self, "title", "text")


@dataclass(frozen=True, slots=True)
class Snippet:
    """Title and first words of a document that a first search found."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """What the user asks.

    Attributes:
        id: unique within a query set.
        text: the last turn, as typed.
        history: earlier turns, oldest first; empty outside a conversation. Any shape that
            :mod:`acqo_rl.conversations` reads may be given.
        feedback: top results of a first search with ``text``, best first; empty unless the policy is made for it.
    """

    id: str
    text: str
    history: tuple[Turn, ...] = ()
    feedback: tuple[Snippet, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, id: str, text: str, history: object = (), feedback: tuple[Snippet, ...] = ()) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", read_history(self.history))
        _write_well_formed(self, "id", "text")


class Passage(str):
    """A text that is searched but written as a document is, not as a question (HyDE).

    An encoder that tells the two apart embeds it as a passage; to everyone else it is a text like any other.
    """

    __slots__ = ()


def search_key(text: str) -> tuple[bool, str]:
    """What a search is known by where texts are searched once: the same words are one as a passage, one as a query."""
    return isinstance(text, Passage), text


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One text to search.

    Attributes:
        text: what is searched.
        kind: what it is for.
        weight: its ranking counts as much as this many copies of it; 0 or a positive number.
        lead: its ranking counts only where its best cosine is above the best one of all others by more than this, in
            the scores of one retriever; ``None``: always.
    """

    text: str
    kind: SubQueryKind
    weight: float = 1.0
    lead: float | None = None


@dataclass(frozen=True, slots=True)
class Reformulation:
    """A reformulator's answer to one query.

    Attributes:
        query: the query it is of.
        route: ``pass`` searches the query as it stands, ``disambiguate`` its readings, ``decompose`` its parts,
            ``expand`` the same need in other words.
        sub_queries: what is searched, in order of priority; never empty.
        made_by: name of the reformulator.
        completion: the text a language model wrote, empty where none was asked.
        tokens: number of tokens a language model wrote.
        problem: what went wrong, if anything of ``completion`` could not be used; ``None`` when all is well.
        calls: completions that were asked for; 0 where none was, or where the answer comes from a cache.
        failed_calls: how many of them gave no text (a time-out, an error of the server). Asked again, they may well
            answer; a completion that was written and could not be used is none of them.
        query_type: what kind of question it was taken for; ``None`` where nobody looked.
        reasoning: why it was reformulated this way, in words; empty where there was no choice.
    """

    query: Query
    route: Route
    sub_queries: tuple[SubQuery, ...]
    made_by: str
    completion: str = ""
    tokens: int = 0
    problem: str | None = None
    calls: int = 0
    failed_calls: int = 0
    query_type: QueryType | None = None
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result list of one search, best first.

    Attributes:
        doc_ids: document ids, no id twice.
        scores: one score a document, not increasing.
        retriever: name of the retriever; scores compare only within one retriever.
        query: the text that was searched.
        weight: this list counts as much as this many copies of it.
        similarities: of a fused ranking, each document's best score over the fused lists; otherwise empty. A fused
            score says how lists agree, a similarity how well a document fits.
        ceiling: the best score that any document could have for this text; ``None`` where it is not known.
    """

    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    retriever: str = ""
    query: str = ""
    weight: float = 1.0
    similarities: tuple[float, ...] = ()
    ceiling: float | None = None

    def first(self, k: int) -> Ranking:
        """The ``k`` best of it."""
        return replace(self, doc_ids=self.doc_ids[:k], scores=self.scores[:k], similarities=self.similarities[:k])


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model wrote.

    Attributes:
        text: without special tokens.
        tokens: number of tokens generated, the end token included.
        finished: False when the token limit cut the text.
        problem: why there is no text (a time-out, an error of the server); ``None`` when all is well.
    """

    text: str
    tokens: int
    finished: bool = True
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FeedbackSpec:
    """What a reformulator reads of a first search.

    Attributes:
        results: number of top results; 0 for none.
        words: words of the text of each.
    """

    results: int = 0
    words: int = 28


class Reformulator(Protocol):
    """Turns queries into what is searched.

    One that reads the results of a first search has an attribute ``feedback``, a :class:`FeedbackSpec`.
    """

    name: str

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position. A bad completion falls back to the raw query."""
        ...


class LanguageModel(Protocol):
    """Writes one completion a conversation."""

    def generate(self, conversations: Sequence[Conversation]) -> list[Completion]:
        """One completion a conversation, position for position; a call that fails is told in its ``problem``."""
        ...


@runtime_checkable
class StreamingModel(LanguageModel, Protocol):
    """A language model that can be watched while it writes."""

    def stream(self, conversation: Conversation, on_text: Callable[[str], None]) -> Completion:
        """The completion; ``on_text`` is given each piece of it as it is written."""
        ...


@runtime_checkable
class SamplingModel(LanguageModel, Protocol):
    """A language model that samples at a temperature."""

    def at_temperature(self, temperature: float) -> LanguageModel:
        """The same model at another temperature; weights and connections are shared."""
        ...


class Encoder(Protocol):
    """Embeds texts. ``fingerprint`` names model, revision, prompts and precision."""

    fingerprint: str
    dim: int

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embeddings, float32[texts, dim]."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embeddings, float32[texts, dim]."""
        ...


class Retriever(Protocol):
    """Finds documents for texts.

    One whose scores are cosines has an attribute ``cosine = True``, and one whose documents may change an attribute
    ``fingerprint`` that changes with them.
    """

    name: str

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """At most ``k`` documents a text, position for position; an empty ranking where nothing matches.

        A text that is a :class:`Passage` is embedded as one, where texts are embedded.
        """
        ...


@runtime_checkable
class CompositeRetriever(Retriever, Protocol):
    """A retriever that searches others and merges their lists of each text."""

    parts: Sequence[Retriever]

    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """One list of what those parts found for a text that came back, with at most ``k`` documents of each part."""
        ...


def fingerprint_of(retriever: object) -> str:
    """What tells a retriever's documents apart; empty where it says nothing."""
    return str(getattr(retriever, "fingerprint", ""))


def feedback_of(reformulator: object) -> FeedbackSpec:
    """What a reformulator reads of a first search; nothing where it does not say."""
    feedback: FeedbackSpec = getattr(reformulator, "feedback", FeedbackSpec())
    return feedback


def starts_thinking(model: object) -> bool:
    """Whether a language model's replies begin within thoughts, because its chat template opens them."""
    return bool(getattr(model, "starts_thinking", False))


def has_cosines(retriever: object) -> bool:
    """Whether a retriever's scores are cosines; not where it does not say."""
    return bool(getattr(retriever, "cosine", False))


class Fusion(Protocol):
    """Merges the rankings of each query into one."""

    name: str

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents for each query's rankings, position for position."""
        ...

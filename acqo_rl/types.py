"""The values of the search path: frozen dataclasses without behaviour.

    query (+ conversation) [-> first search -> feedback] -> Reformulator -> Reformulation
        -> Retriever -> Fusion -> Ranking -> reward | measures | answer

The components that process them are in :mod:`acqo_rl.roles`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt

from acqo_rl.errors import ConfigError

Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Ge(1)]
Amount = Annotated[float, Ge(0), Lt(inf)]
Share = Annotated[float, Ge(0), Le(1)]
Cosine = Annotated[float, Ge(-1), Le(1)]
Seconds = Annotated[float, Gt(0), Lt(inf)]
Seed = Annotated[int, Ge(0), Lt(2**32)]

Route = Literal["pass", "disambiguate", "decompose", "expand"]
QueryType = Literal["factual", "how_to", "comparison", "debugging", "conceptual", "complex", "simple"]
Challenge = Literal["simple", "temporal", "multi_hop", "decomposition"]
FusionName = Literal["rsf", "rrf", "combsum"]
IndexDevice = Literal["auto", "cpu", "gpu", "gpu_float16", "shards"]
Speaker = Literal["user", "assistant"]
Span = tuple[int, int]  # start and end of a part of a text
SubQueryKind = Literal["original", "reading", "part", "variant", "hypothetical", "step_back", "expansion", "hop"]

Qrels = dict[str, dict[str, int]]
"""Relevance judgements: query id -> document id -> relevance (0 = not relevant), as in trec_eval."""

Run = dict[str, dict[str, float]]
"""Results: query id -> document id -> score, as in trec_eval."""

Conversation = list[dict[str, str]]
"""Chat messages with the keys ``role`` and ``content``, oldest first."""

Schema = Mapping[str, Any]
"""A JSON schema."""


class Written(float):
    """A number that was read from a text; its ``str`` is this text, such as ``1.10``."""

    _text: str

    def __new__(cls, text: str | float) -> Written:
        """Converts a text to a number."""
        number = super().__new__(cls, text)
        number._text = str(text)
        return number

    def __str__(self) -> str:
        return self._text


def well_formed(text: str) -> str:
    """Replaces each lone surrogate (half of a broken emoji) by U+FFFD and joins each valid pair into its character.

    JSON and Python allow lone surrogates; UTF-8 and tokenizers reject them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _write_well_formed(value: object, *names: str) -> None:
    """Replaces lone surrogates in the named attributes."""
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
        text: searched together with the title.
        metadata: further fields, such as URL, page or date; not searched.
    """

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _write_well_formed(self, "title", "text")


Corpus = Mapping[str, Document]
"""Documents by their ids."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Title and first words of a document that the first search returned."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn; ``str()`` gives the form used in prompts and BEIR folders: "U: ..." or "S: ..."."""

    speaker: Speaker
    text: str

    def __post_init__(self) -> None:
        _write_well_formed(self, "text")

    def __str__(self) -> str:
        return f"{'U' if self.speaker == 'user' else 'S'}: {self.text}"


@dataclass(frozen=True, slots=True)
class Query:
    """A user's query.

    Attributes:
        id: unique within a query set.
        text: the current turn, as typed.
        history: earlier turns, oldest first; empty if there is no conversation.
            :func:`acqo_rl.conversations.read_history` reads them from messages, pairs and texts.
        feedback: top results of a first search, best first; empty unless the policy reads feedback.
        left_out: ids of documents that are no results, such as the document whose text the query is.
    """

    id: str
    text: str
    history: tuple[Turn, ...] = ()
    feedback: tuple[Snippet, ...] = ()
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(f"A query is a {type(self.text).__name__}; give its text, a string.")
        if not isinstance(self.history, tuple) or not all(isinstance(turn, Turn) for turn in self.history):
            raise ConfigError(
                f"The history of a query is {reprlib.repr(self.history)}, not a tuple of Turn; convert it with "
                "acqo_rl.conversations.read_history."
            )
        _write_well_formed(self, "id", "text")


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A condition on a metadata field. A document without the field does not match.

    Conditions are compared with the types of their values, because ``1`` and ``True`` find different documents.

    Attributes:
        field: name of the metadata field.
        any_of: the field must have one of these values; empty if there are bounds.
        bounds: pairs of ``gt``, ``gte``, ``lt`` or ``lte`` and a number or an ISO date; all must hold.
    """

    field: str
    any_of: tuple[str | int | float | bool, ...] = ()
    bounds: tuple[tuple[str, float | str], ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


Filter = tuple[Condition, ...]
"""Conditions that all must hold; empty for all documents."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of the documents that a request may see.

    Attributes:
        where: conditions on the metadata.
        tenant: only documents of this tenant; ``None`` if the collections have no tenants.
    """

    where: Filter = ()
    tenant: str | None = None


UNRESTRICTED = Scope()
"""All documents."""


class Passage(str):
    """A search text in the form of a document rather than a question (HyDE).

    An encoder with separate query and passage prompts embeds it as a passage. Other components treat it as a ``str``.
    """

    __slots__ = ()


def search_key(text: str) -> tuple[bool, str]:
    """The key used to deduplicate searches: equal texts differ if one is a :class:`Passage` and the other is not."""
    return isinstance(text, Passage), text


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One text to search.

    Attributes:
        text: the text to search.
        kind: ``original`` is the raw query, ``variant`` a paraphrase, ``reading`` the query with references and
            ambiguity resolved, and ``expansion`` the raw query with words added.
        weight: weight of its ranking in the fusion, at least 0; a weight of 2 equals two copies of the ranking.
        min_margin: minimum margin. The ranking is used only if its top cosine exceeds the top cosine of all other
            sub-queries by more than this, within one retriever. ``None``: the ranking is always used.
    """

    text: str
    kind: SubQueryKind
    weight: float = 1.0
    min_margin: float | None = None


@dataclass(frozen=True, slots=True)
class Reformulation:
    """A reformulator's output for one query.

    Attributes:
        query: the raw query.
        route: ``pass`` searches the raw query, ``disambiguate`` readings in which references and ambiguity are
            resolved, ``decompose`` the parts of the query, and ``expand`` paraphrases of it.
        sub_queries: the texts to search, in order of priority; never empty.
        made_by: name of the reformulator.
        completion: the text that a language model generated; empty if no model was called.
        tokens: number of tokens that a language model generated.
        problem: what went wrong, if part of ``completion`` could not be used; ``None`` if there was no problem.
        calls: number of completions requested; 0 if no model was called or the result comes from a cache.
        failed_calls: number of those calls that returned no text (time-out, server error), so that a retry may
            succeed. Completions that were returned but could not be parsed are not counted.
        query_type: type assigned by a classifier; ``None`` if the query was not classified.
        reasoning: explanation of the chosen reformulation; empty if there was no choice to explain.
        notes: what of the query and its conversation was not read.
        cached: whether it comes from a cache.
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
    notes: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result list of one search, best first.

    Attributes:
        doc_ids: unique document ids.
        scores: one score per document, in non-increasing order.
        retriever: name of the retriever, or of what scored the documents after the searches; scores are comparable only
            within one retriever.
        query: the text that was searched.
        weight: weight of this list in the fusion; a weight of 2 equals two copies of the list.
        similarities: for a fused ranking, each document's best score over the fused lists; otherwise empty. A fused
            score measures agreement between lists; a similarity measures how well a document matches.
        ceiling: upper bound on the score of any document for this text; ``None`` if unknown.
        windows: number of parts of the text that were searched; 2 if a dense encoder cannot read all of it.
        spans: document id -> start and end of the passage whose vector matched, in the text of a split document.
    """

    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    retriever: str = ""
    query: str = ""
    weight: float = 1.0
    similarities: tuple[float, ...] = ()
    ceiling: float | None = None
    windows: int = 1
    spans: Mapping[str, Span] = field(default_factory=dict, hash=False)

    @property
    def pairs(self) -> list[tuple[str, float]]:
        """Each document with its score."""
        return list(zip(self.doc_ids, self.scores, strict=True))

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each document, from 1."""
        return {doc_id: rank for rank, doc_id in enumerate(self.doc_ids, start=1)}

    def first(self, k: int) -> Ranking:
        """The top ``k`` documents of this ranking."""
        return replace(self, doc_ids=self.doc_ids[:k], scores=self.scores[:k], similarities=self.similarities[:k])

    def at(self, places: Sequence[int]) -> Ranking:
        """The documents at some places, in the given order."""
        return replace(
            self,
            doc_ids=tuple(self.doc_ids[i] for i in places),
            scores=tuple(self.scores[i] for i in places),
            similarities=tuple(self.similarities[i] for i in places) if self.similarities else (),
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """The output of a language model for one conversation.

    Attributes:
        text: the generated text, without special tokens.
        tokens: number of generated tokens, including the end token.
        finished: False if the token limit truncated the text.
        problem: why there is no text (time-out, server error); ``None`` if there was no problem.
    """

    text: str
    tokens: int
    finished: bool = True
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FeedbackSpec:
    """The feedback that a reformulator reads: the top results of a first search.

    Attributes:
        results: number of top results; 0 disables feedback.
        words: maximum number of words of each result's text.
    """

    results: int = 0
    words: int = 28

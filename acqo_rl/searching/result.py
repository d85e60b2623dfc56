"""Result types of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from acqo_rl.addresses import masked
from acqo_rl.errors import AcqoError, SearchError
from acqo_rl.reformulation.pass_through import shortens_a_turn
from acqo_rl.searching.trace import Step
from acqo_rl.text import normalised, words_by_stem
from acqo_rl.types import Ranking, Reformulation, SubQueryKind, Turn

_FIRST = 10
"""Number of results of each ranking that are compared."""
_WRITTEN: tuple[SubQueryKind, ...] = ("variant", "hypothetical", "step_back")
"""Kinds of sub-queries whose words a language model chooses."""
_MOST_WORDS = 12
"""Maximum number of words that a note lists."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed or timed out.

    Attributes:
        step: ``reformulation``, ``retrieval``, ``hop``, ``choice``, ``order`` or ``reranking``.
        reason: the exception in one line; a time-out is a ``TimeoutError``.
        public: the same for clients of a service, without addresses and texts of servers.
        retriever: name of the retriever; empty for other steps.
        sub_query: the text that was searched; empty for other steps.
    """

    step: str
    reason: str
    public: str
    retriever: str = ""
    sub_query: str = ""

    def __str__(self) -> str:
        return f"{' '.join(filter(None, (self.step, self.retriever)))}: {self.reason}"

    @classmethod
    def of(cls, step: str, error: Exception, retriever: str = "", sub_query: str = "") -> Failure:
        """The failure of a call that raised an exception."""
        return cls(step, reason_of(error), public_reason_of(error), retriever, sub_query)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of one query.

    Attributes:
        reformulation: what was searched, including the searches of the hops.
        rankings: one per distinct sub-query and retriever, ordered by sub-query, then by retriever. Failed searches are
            missing. A composite retriever gives one ranking.
        fused: the merged ranking, reordered if there is an order or a reranker. Its ``retriever`` says what its scores
            are: those of the fusion (its name), of the ``order`` or of the ``reranker``.
        failures: failed calls; empty if all calls succeeded.
        trace: the steps with their durations; the steps of a batch are timed together.
        searched: every reformulation that was searched, also for feedback or a choice; the last one is the result's.
        first_was: place of the first document in the fused ranking, before it was ordered or reranked.
    """

    reformulation: Reformulation
    rankings: tuple[Ranking, ...]
    fused: Ranking
    failures: tuple[Failure, ...] = ()
    trace: tuple[Step, ...] = ()
    searched: tuple[Reformulation, ...] = ()
    first_was: int = 1

    @property
    def notes(self) -> list[str]:
        """What a reader of the results should know about the searches."""
        long = sum(ranking.windows > 1 for ranking in self.rankings)
        parts = f"Too long to embed, so searched by the first and the last part: {long} of the searches."
        moved = f"The first result was at place {self.first_was} before the results were ordered."
        return [*notes_of(self.reformulation), *[parts] * bool(long), *[moved] * (self.first_was > 1)]


def with_strange_texts(made: Reformulation, rankings: Sequence[Ranking]) -> Reformulation:
    """Reports texts of a language model as a problem that have no result in common with the raw query.

    They may be refusals. Of 40 refusals and thoughts about ten questions on Wikipedia, 16 had none with a dense index
    and 26 with BM25; of 30 good texts, none and two. In a conversation, the results of a good rewrite may be others,
    so this is only a note there.
    """
    key = normalised(made.query.text)
    first = dict[str, set[str]]()
    for ranking in rankings:
        first.setdefault(ranking.query, set()).update(ranking.doc_ids[:_FIRST])
    raw = set().union(*(found for text, found in first.items() if normalised(text) == key))
    strange = [
        f"None of the first {_FIRST} results of the raw query are among those of {one.text[:80]!r}."
        for one in made.sub_queries
        if one.kind in _WRITTEN and raw and first.get(one.text) and raw.isdisjoint(first[one.text])
    ]
    if made.query.history:
        return replace(made, notes=(*made.notes, *strange))
    return replace(made, problem="; ".join(filter(None, (made.problem, *strange))) or None)


def notes_of(made: Reformulation) -> list[str]:
    """How what is searched differs from the raw query, and what was not read; empty if only the raw query is searched.

    The words are compared by their stems, without English stop words.
    """
    key = normalised(made.query.text)
    notes = list(made.notes)
    raw = [sub_query.min_margin for sub_query in made.sub_queries if normalised(sub_query.text) == key]
    if not raw:
        notes.append("The raw query is not among the sub-queries.")
    elif raw[0] is not None:
        notes.append(f"The raw query is used only if its best score exceeds the others by {raw[0]:g}.")
    elif len(made.sub_queries) > 1:
        notes.append(f"The raw query is one of {len(made.sub_queries)} searches.")
    if (parts := sum(one.kind == "part" for one in made.sub_queries)) > 1:
        notes.append(f"The query was split into {parts} parts.")
    if any(shortens_a_turn(made.query, one.text) for one in made.sub_queries):
        notes.append("Of a long turn, only both ends are searched.")
    asked = words_by_stem(made.query.text)
    said = words_by_stem(" ".join(map(str, made.query.history)))
    certain = words_by_stem(" ".join(one.text for one in made.sub_queries if one.min_margin is None))
    searched = {stem: word for stem, word in certain.items() if stem not in _labels() or stem in asked}
    left = "Words that only the raw query has" if raw else "Words of the query that are not searched"
    for what, words in (
        (left, [asked[one] for one in asked if one not in searched]),
        ("Words added from the conversation", [searched[one] for one in searched if one in said and one not in asked]),
        (
            "Words added from elsewhere",
            [searched[one] for one in searched if one not in said and one not in asked],
        ),
    ):
        if words:
            more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
            notes.append(f"{what}: {', '.join(words[:_MOST_WORDS])}{more}.")
    return notes


@cache
def _labels() -> frozenset[str]:
    """The stems of the labels of speakers, which stand before turns in a search."""
    return frozenset(words_by_stem(f"{Turn('user', '')} {Turn('assistant', '')}"))


def reason_of(error: Exception) -> str:
    """Type and message of an exception."""
    return f"{type(error).__name__}: {masked(str(error))}" if str(error) else type(error).__name__


def public_reason_of(error: Exception) -> str:
    """The kind of an exception, for clients of a service; with the message if this package wrote it."""
    if isinstance(error, SearchError):
        return f"SearchError: {error.public}"
    return reason_of(error) if isinstance(error, (AcqoError, TimeoutError)) else type(error).__name__


def public_problem(problem: str) -> str:
    """The failure of a model call, for clients of a service: without the text and the address of its server."""
    reason = " in time" if "timeout" in problem.lower() else "; the log says why"
    return f"The language model returned no text{reason}."

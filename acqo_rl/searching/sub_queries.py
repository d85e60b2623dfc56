"""What is searched: the texts of sub-queries, and the retrievers that search them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.roles import Retriever
from acqo_rl.text import MAX_QUERY, content_words, distinct, normalised, shorten
from acqo_rl.types import Passage, Reformulation, SubQuery, SubQueryKind

DEPTH = 100
"""Default number of documents per sub-query. The reward uses the first 100 documents of the fused ranking."""


_WHOLE: frozenset[SubQueryKind] = frozenset({"reading", "variant"})
"""Kinds of sub-queries that ask for the same as the query."""


@dataclass(frozen=True, slots=True)
class RawQueryOnly:
    """Marks a retriever that searches only the raw query, and none of the sub-queries.

    Its ranking is an additional input of the fusion, after those of the sub-queries. This suits BM25, for which
    generated words help less often than for a dense index.
    """

    retriever: Retriever


Retrievers = Retriever | Sequence[Retriever | RawQueryOnly]
"""One retriever, or several whose rankings are merged."""


def split_retrievers(given: Retrievers) -> tuple[list[Retriever], list[Retriever]]:
    """Returns the retrievers that search every sub-query, and those that search only the raw query."""
    several = given if isinstance(given, Sequence) else [given]
    originals = [r.retriever for r in several if isinstance(r, RawQueryOnly)]
    return [r for r in several if not isinstance(r, RawQueryOnly)], originals


def normalise_sub_queries(
    reformulations: Sequence[Reformulation], retrievers: Sequence[Retriever]
) -> list[Reformulation]:
    """Keeps only the sub-queries that are searched; used in both evaluation and serving.

    Drops empty and repeated sub-queries. A sub-query that differs from the raw query only in case and punctuation is
    the raw query, and so is a reading or variant that differs only in the order of words or in stop words. Also drops
    sub-queries with a ``min_margin`` if any retriever's scores are not cosines, because other scores of two texts
    cannot be compared. If no sub-query is left, the raw query is searched. If the only sub-query is the raw query, the
    route is ``pass``.
    """
    cosines = all(part.cosine for part in retrievers)
    return [_searchable(reformulation, cosines=cosines) for reformulation in reformulations]


def _searchable(made: Reformulation, *, cosines: bool) -> Reformulation:
    raw = pass_through(made.query, "").sub_queries
    key = normalised(made.query.text)
    words = sorted(content_words(made.query.text))

    def is_raw(one: SubQuery) -> bool:
        same_words = one.kind in _WHOLE and words and sorted(content_words(one.text)) == words
        return bool(same_words) or normalised(one.text) == key

    given = [s for s in made.sub_queries if cosines or s.min_margin is None]
    searched = distinct(replace(s, text=made.query.text) if is_raw(s) else s for s in given) or raw
    route = "pass" if len(searched) == 1 and is_raw(searched[0]) else made.route
    same = (searched, route) == (made.sub_queries, made.route)
    return made if same else replace(made, sub_queries=searched, route=route)


def searched_text(sub_query: SubQuery) -> str:
    """The text that retrievers receive for a sub-query; hypothetical documents become a :class:`Passage`.

    The character NUL becomes a space, because databases and C libraries reject it. Of a text with more than
    ``MAX_QUERY`` characters, both ends are searched.
    """
    text = shorten(sub_query.text, MAX_QUERY).replace("\x00", " ")
    return Passage(text) if sub_query.kind == "hypothetical" else text

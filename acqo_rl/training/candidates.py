"""Candidate reformulations for the warm start, built by rules from spans of query, conversation and feedback.

No gold documents or labelled rewrites are used. The reward decides which candidate, if any, becomes a training target.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, groupby, islice, permutations
from typing import NamedTuple

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import OPENERS, Lexicon
from acqo_rl.reformulation.pass_through import with_last_turns
from acqo_rl.text import normalised, one_line, words
from acqo_rl.types import Document, Query, Route, SubQuery, SubQueryKind


class Candidate(NamedTuple):
    """A candidate reformulation of a query.

    Attributes:
        route: route of the reformulation.
        sub_queries: texts to search.
        form: name of the rule that built it, the same for all queries: "question + name 1".
    """

    route: Route
    sub_queries: tuple[SubQuery, ...]
    form: str = ""


_WORD = re.compile(r"[^\W_][\w'\u2019.-]*")
_BREAK = re.compile(r"(?<!\s)\s*(?:[,;?]|\band\b|\bor\b|\bvs\b\.?|\bversus\b|\bas well as\b|\bplus\b|&)\s*", re.I)
_IN_BRACKETS = re.compile(r" ?\([^()]*\)")
_MAX_TURN_NAMES = 3
_MAX_TITLES = 2
_MAX_FEEDBACK_NAMES = 16
_MAX_PAIRED_NAMES = 6
_LONGEST = 1000


def candidates(query: Query, max_sub_queries: int = 3, lexicon: Lexicon | None = None) -> list[Candidate]:
    """Returns distinct candidates for a query, in order of preference; the raw query is not among them.

    A query of more than 1000 characters has no candidates.

    Args:
        query: the query, with conversation and feedback.
        max_sub_queries: maximum number of sub-queries of a candidate.
        lexicon: names of the corpus, used by the rules.
    """
    if len(query.text) > _LONGEST:
        return []
    found: dict[tuple[str, ...], Candidate] = {}
    for candidate in _candidates(query, lexicon or Lexicon(), max_sub_queries):
        key = tuple(normalised(s.text) for s in candidate.sub_queries)
        if 0 < len(key) <= max_sub_queries and key != (normalised(query.text),):
            found.setdefault(key, candidate)
    return list(found.values())


def candidates_in(
    documents: Collection[Document], queries: Sequence[Query], max_sub_queries: int
) -> dict[str, list[Candidate]]:
    """Returns query id -> candidates, built with the names of a corpus."""
    lexicon = Lexicon.of(documents)
    return {query.id: candidates(query, max_sub_queries, lexicon) for query in queries}


def splits_completely(query: Query, sub_queries: Sequence[SubQuery]) -> bool:
    """Whether there are several sub-queries that together contain the query's content words once, in the same order."""
    return len(sub_queries) > 1 and _content(" ".join(s.text for s in sub_queries)) == _content(query.text)


def drops_words(query: Query, route: Route, sub_queries: Sequence[SubQuery]) -> bool:
    """Whether it is a split, and a content word of the query is in none of its sub-queries."""
    held = {word.lower() for s in sub_queries for word in _content(s.text)}
    return route == "decompose" and not {word.lower() for word in _content(query.text)} <= held


def _candidates(query: Query, lexicon: Lexicon, max_sub_queries: int) -> Iterator[Candidate]:
    rules = Heuristic(max_sub_queries, lexicon).reformulate([query])[0]
    turns = with_last_turns(query)  # searched by the rules, but a policy cannot write texts of this length
    by_rules = list(_made([("rules", rules.route, [s.text for s in rules.sub_queries if s.text != turns])]))
    if query.history:
        yield from _with_names_of_the_conversation(query, lexicon)
        yield from _with_names_of_titles(query)
    elif splits_completely(query, rules.sub_queries):
        yield from by_rules
    if query.feedback:
        most = _MAX_TURN_NAMES if query.history else _MAX_FEEDBACK_NAMES
        yield from _with_names_of_the_feedback(query, lexicon, most)
    yield from by_rules
    clauses = list(filter(None, (" ".join(_content(part)) for part in _BREAK.split(query.text))))
    if len(clauses) > 1:
        yield from _made([("clauses", "decompose", clauses)])


def _made(found: Iterable[tuple[str, Route, Sequence[str]]]) -> Iterator[Candidate]:
    for form, route, texts in found:
        kind: SubQueryKind = "reading" if route == "disambiguate" else "part"
        distinct = dict.fromkeys(one_line(text) for text in texts)
        yield Candidate(route, tuple(SubQuery(text, kind) for text in distinct if text), form)


def _with_names_of_the_conversation(query: Query, lexicon: Lexicon) -> Iterator[Candidate]:
    """The query, or its content words, with one or two names of the conversation.

    Names of the user's turns come first. Pairs of names come before single names, because one form that suits most
    queries is easier to learn. With a wrong name, the full query still finds more than its content words.
    """
    latest = query.history[::-1]
    turns = [turn.text for turn in latest]
    users_first = [turn.text for speaker in ("user", "assistant") for turn in latest if turn.speaker == speaker]
    said = (name for turn in users_first for name in reversed(lexicon.names(turn) or _runs(turn)))
    names = list(dict.fromkeys(said))[:_MAX_TURN_NAMES]
    chosen = {f"names {i} and {j}": [one, other] for (i, one), (j, other) in _pairs(names)}
    chosen |= {f"name {i}": [name] for i, name in enumerate(names, start=1)}
    for form, some in chosen.items():
        yield Candidate("disambiguate", (_expansion(query, *some),), f"question + {form}")
    yield from _made(_content_words_after(names, turns, " ".join(_content(query.text))))


def _with_names_of_titles(query: Query) -> Iterator[Candidate]:
    """A title of the feedback, without bracketed text, with the query or its content words."""
    names = dict.fromkeys(one_line(_IN_BRACKETS.sub("", snippet.title)) for snippet in query.feedback)
    words = " ".join(_content(query.text))
    for i, name in enumerate(list(filter(None, names))[:_MAX_TITLES], start=1):
        yield Candidate("disambiguate", (_expansion(query, name),), f"question + title {i}")
        yield from _made([(f"title {i} + words", "disambiguate", [f"{name} {words}"])])


def _content_words_after(
    names: Sequence[str], turns: Sequence[str], words: str
) -> Iterator[tuple[str, Route, Sequence[str]]]:
    for i, name in enumerate(names, start=1):
        yield f"name {i} + words", "disambiguate", [f"{name} {words}"]
    for (i, one), (j, other) in _pairs(names):
        yield f"names {i} and {j} + words", "disambiguate", [f"{one} {other} {words}"]
        yield f"name {i} + words, name {j} + words", "disambiguate", [f"{one} {words}", f"{other} {words}"]
    for i, turn in enumerate(turns[:2], start=1):
        yield f"turn {i} + words", "disambiguate", [" ".join([*_content(turn)[:8], words])]


def _pairs(names: Sequence[str]) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Pairs of names with their numbers, from 1."""
    return combinations(enumerate(names, start=1), 2)


def _with_names_of_the_feedback(query: Query, lexicon: Lexicon, most: int) -> Iterator[Candidate]:
    """Two sub-queries: a name from the query or the feedback, and the query followed by the same or another name.

    The page of a name is very similar to a search for the name alone. It would outrank the pages for the query, even if
    it is not relevant. The query followed by the name favours pages that match both.
    """
    titles = [snippet.title for snippet in query.feedback if snippet.title]
    inside = [name for snippet in query.feedback for name in lexicon.names(snippet.text)]
    found: dict[str, str] = {}
    for source, some in (("question", lexicon.names(query.text)), ("title", titles), ("result", inside)):
        for i, name in enumerate(filter(None, map(one_line, some)), start=1):
            found.setdefault(name, f"{source} name {i}")
    names = list(found)[:most]
    for name, other in (*((name, name) for name in names), *permutations(names[:_MAX_PAIRED_NAMES], 2)):
        form = f"{found[name]}, question + {found[other]}"
        yield Candidate("decompose", (SubQuery(name, "part"), _expansion(query, other)), form)


def _expansion(query: Query, *names: str) -> SubQuery:
    return SubQuery(" ".join([query.text, *names]), "expansion")


def _content(text: str) -> list[str]:
    found = (word.rstrip(".'") for word in words(text, _WORD))
    return [word for word in found if word.lower() not in OPENERS]


def _runs(text: str) -> list[str]:
    """Sequences of two to four content words; used as names if a turn has no capital letters."""
    runs = []
    for clause in re.split(r"[.,;:?!]", text):
        for is_content, some in groupby(words(clause, _WORD), key=lambda word: word.lower() not in OPENERS):
            if is_content:
                runs.append(" ".join(islice(some, 4)))
    return [run for run in runs if " " in run]

"""Candidate reformulations without labels: spans of query, conversation and first results, put together by rules.

Nothing here knows gold documents or rewrites; the reward decides which candidate, if any, becomes a training target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby, islice, permutations, product
from typing import NamedTuple

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.signals import NAME_WORD, asked_first, newest_first
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Query, Route, SubQuery, SubQueryKind


class Candidate(NamedTuple):
    """A reformulation that the reward may verify.

    Attributes:
        form: how it was made, in words that hold for every query: which names, turns or clauses stand where.
        route: of the reformulation.
        sub_queries: its searches.
    """

    form: str
    route: Route
    sub_queries: tuple[SubQuery, ...]


# Words that ask but do not describe.
_ASKING = """
a about according also an and any anything are as at be between but by can chance compare compared comparing could did
difference differ do does either else find for found from give glad good got great had happy has have hello help hey hi
how i if in interesting is it its just know let like list look looking many me much name need noted now of ok okay on
one or our please quick quickly said same say see so sorry sources sure tell than thank thanks that the their them
there they this to two up us vs versus want was we well were what when where which who whose why will with would yes
you your it's i'd i'm that's let's what's who's where's
"""
_STOP = frozenset(_ASKING.split())
_WORD = re.compile(r"[^\W_][\w'\u2019.-]*")
_NAME = re.compile(rf"{NAME_WORD}(?:\s+(?:(?:of|the|and|de|la|del|da|do|di|el)\s+){{0,2}}{NAME_WORD})*")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_BREAK = re.compile(r"\s*(?:[,;?]|\band\b|\bor\b|\bvs\b\.?|\bversus\b|\bas well as\b|\bplus\b|&)\s*", re.I)
_MAX_NAMES = 4
_MAX_FEEDBACK_NAMES = 9
_LONGEST = 1000


def candidates(query: Query, max_sub_queries: int = 3) -> list[Candidate]:
    """Distinct candidates for a query; the raw query itself is not among them.

    A query that is longer than a question can be has none.
    """
    if len(query.text) > _LONGEST:
        return []
    found: dict[tuple[str, ...], Candidate] = {}
    for candidate in _candidates(query):
        key = tuple(normalised(s.text) for s in candidate.sub_queries)
        if 0 < len(key) <= max_sub_queries and key != (normalised(query.text),):
            found.setdefault(key, candidate)
    return list(found.values())


def _candidates(query: Query) -> Iterator[Candidate]:
    if query.history:
        yield from _with_names_of_the_conversation(query)
    if query.feedback:
        yield from _with_names_of_the_feedback(query)
    rules = Heuristic().reformulate([query])[0]
    yield Candidate("rules", rules.route, rules.sub_queries)
    yield from _clauses_with_shared_words(query.text)
    yield from _without_other_names(query.text)


def _made(form: str, route: Route, texts: Iterable[str]) -> Candidate:
    kind: SubQueryKind = "reading" if route == "disambiguate" else "part"
    distinct = dict.fromkeys(one_line(text) for text in texts if text)
    return Candidate(form, route, tuple(SubQuery(text, kind) for text in distinct))


def _with_names_of_the_conversation(query: Query) -> Iterator[Candidate]:
    """The question, or its describing words, with one or two names of the conversation, or words of its last turns.

    Names of the user's turns come first. With a wrong name the whole question finds more than its describing words do.
    """
    turns = newest_first(query.history)
    words = " ".join(_content(query.text))
    newest = list(dict.fromkeys(n for turn in turns for n in reversed(_names(turn))))[:2]
    yield Candidate("= newest names", "disambiguate", (_expansion(query, *newest),))
    spoken = (n for turn in asked_first(query.history) for n in reversed(_names(turn) or _runs(turn)))
    names = list(enumerate(dict.fromkeys(spoken)))[:_MAX_NAMES]
    for i, name in names:
        yield Candidate(f"= {i}", "disambiguate", (_expansion(query, name),))
        yield _made(f"{i} words", "disambiguate", [f"{name} {words}"])
    for (i, first), (j, second) in combinations(names, 2):
        yield Candidate(f"= {i} {j}", "disambiguate", (_expansion(query, first, second),))
        yield _made(f"{i} {j} words", "disambiguate", [f"{first} {second} {words}"])
        yield _made(f"{i} words, {j} words", "disambiguate", [f"{first} {words}", f"{second} {words}"])
    for i, turn in enumerate(turns[:2]):
        yield _made(f"turn {i} words", "disambiguate", [" ".join([*_content(turn)[:8], words])])


def _with_names_of_the_feedback(query: Query) -> Iterator[Candidate]:
    """A name that the question or its first results hold, alone, and the question with this or another one behind it.

    The page of a short name is closer to it than any page is to a question, and outranks those of the question where
    it is not wanted; the question with a name behind it votes for pages that suit both.
    """
    asked = [(f"asked {i}", name) for i, name in enumerate(_names(query.text))]
    titles = [(f"title {i}", snippet.title) for i, snippet in enumerate(query.feedback) if snippet.title]
    inside = [(f"text {i}", name) for i, snippet in enumerate(query.feedback) for name in _names(snippet.text)]
    sources: dict[str, str] = {}
    for source, name in (*asked, *titles, *inside):
        sources.setdefault(one_line(name), source)
    names = [(name, source) for name, source in sources.items() if name][:_MAX_FEEDBACK_NAMES]
    for (name, source), (other, behind) in (*((name, name) for name in names), *permutations(names, 2)):
        form = f"{source}, = {'same' if other == name else behind}"
        yield Candidate(form, "decompose", (SubQuery(name, "part"), _expansion(query, other)))


def _expansion(query: Query, *names: str) -> SubQuery:
    return SubQuery(" ".join([query.text, *names]), "expansion")


def _without_other_names(text: str) -> Iterator[Candidate]:
    """For two or three names: the text once for each, with the other names left out."""
    names = list(dict.fromkeys(_names(text)))[:_MAX_NAMES]
    for size in (2, 3):
        for chosen in combinations(names, size):
            others = [[o for o in chosen if o != name] for name in chosen]
            shared = [w for w in _content(text) if not any(w in n.split() for n in chosen)]
            yield _made(f"{size} names and shared words", "decompose", [f"{n} {' '.join(shared)}" for n in chosen])
            yield _made(
                f"{size} names, without the others", "decompose", [" ".join(_content(_remove(text, o))) for o in others]
            )


def _clauses_with_shared_words(text: str) -> Iterator[Candidate]:
    """The clauses as they stand, and each with the words of the first or last one that it may lean on."""
    clauses = [" ".join(_content(part)) for part in _BREAK.split(text)]
    clauses = [clause for clause in clauses if clause]
    if not 2 <= len(clauses) <= 4:
        return
    yield _made("clauses", "decompose", clauses)
    head, tail = _names(text)[:1], clauses[-1].split()
    for name in head:
        told = [c if name.lower() in c.lower() else f"{name} {c}" for c in clauses]
        yield _made("clauses with the name", "decompose", told)
    for lead, trail in product((1, 2, 3), (1, 2, 3)):
        first, last = clauses[0].split()[:-1][:lead], tail[1:][-trail:]
        led = [clauses[0], *(" ".join([*first, c]) for c in clauses[1:])]
        yield _made(f"clauses with {lead} words of the first", "decompose", led)
        trailed = [*(" ".join([c, *last]) for c in clauses[:-1]), clauses[-1]]
        yield _made(f"clauses with {trail} words of the last", "decompose", trailed)


def _remove(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = text.replace(name, " ")
    return text


def _content(text: str) -> list[str]:
    words = (word.rstrip(".'") for word in _WORD.findall(text))
    return [word for word in words if word.lower() not in _STOP]


def _names(text: str) -> list[str]:
    """Capitalised spans, without a word that asks where it only opens the sentence ("How I Met Your Mother" stays)."""
    spans = ((text[: m.start()].rstrip(), m.group().strip(" .")) for m in _NAME.finditer(text))
    names = (span if before and before[-1] not in ".?!:" else _drop_opener(span) for before, span in spans)
    return [_POSSESSIVE.sub("", n) for n in names if n and n.lower() not in _STOP]


def _runs(text: str) -> list[str]:
    """Two to four words in a row that describe: names in a turn that writes them small."""
    runs = []
    for clause in re.split(r"[.,;:?!]", text):
        for describes, words in groupby(_WORD.findall(clause), key=lambda word: word.lower() not in _STOP):
            if describes:
                runs.append(" ".join(islice(words, 4)))
    return [run for run in runs if " " in run]


def _drop_opener(span: str) -> str:
    first, _, rest = span.partition(" ")
    return rest if first.lower() in _STOP else span

"""Rule-based reformulation of English questions: a baseline without model calls, and candidates for the warm start.

Three rules, in this order: a question that depends on the conversation is searched with the names of the last turns and
with the last two turns; an ambiguous name is searched once per meaning; a question with several needs is split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acqo_rl.reformulation.marks import FIRST_YEAR, MARK, marks_of, with_marks, without_marks
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.signals import ASKING, VERB, clauses, has, query_type_of, readable
from acqo_rl.reformulation.small_talk import past_small_talk
from acqo_rl.reformulation.turns import with_last_turns
from acqo_rl.roles import Reformulator
from acqo_rl.text import distinct, normalised, one_line
from acqo_rl.types import Query, Reformulation, Route, SubQuery

_MOST_TURNS = 8
"""Number of turns in which names are looked for."""

_BEFORE = r"(?:(?:in|of|for|to|at|from|by|on|is|does|that of|those of) )?(?:the )?"
_LIST = re.compile(
    rf"(?P<link>\b(?:both|either|between|from) (?:the )?)?{MARK}"
    rf"(?:(?:,|,? (?:and|or|vs\.?|versus|than|to|as well as|compared (?:to|with))) {_BEFORE}{MARK})+(?: respectively)?"
)
_ASKED_OF = re.compile(rf"{ASKING}\b[^,]{{0,200}} {VERB} [^,]{{0,200}}, (?=.* or )", re.I)
"""What is asked of one of several things: "Which dog is native to France, the Bulldog or the Basset"."""
_SEPARATE = re.compile(r"\b(?:or|vs\.?|versus|than|as well as|compared)\b|(?:and|,) (?:in|of|for|to|at|from|by|on) ")
"""Words between two names that are not one thing, which "and" alone does not say."""
_PLURAL = re.compile(
    rf"(?:\b[a-z]{{3,}}(?<![sui])s (?:of|in|for|at|from|to|do|are|were)|\b(?:are|were|do|have|who|which)) (?:the )?$"
    rf"|^(?:{VERB} )?(?:the )?$",
    re.I,
)
"""Words before several things: "the capitals of", "when were"."""
_RELATION = re.compile(r"\b(?:each other|together|in common|relat\w+|married|marry|distance|both \w+ed)\b", re.I)
_DIFFERENCE = re.compile(
    r"^.*?\b(?:differences?|similarit(?:y|ies)|distinctions?|comparisons?)(?: in (?P<what>[\w -]+?))?"
    r" (?:between|of|from) ",
    re.I,
)
_COMPARE = re.compile(r"^.*?\b(?:compar(?:e|ing)|contrast(?:ing)?|tell apart)(?: and contrast)? ", re.I)
_SIDES = re.compile(r",? (?:and|with|to|from|vs\.?|versus|or) (?:(?:that|those) of )?(?:the )?|, ", re.I)
_HEAD = re.compile(r"^.*\b(?:of|in|for|between) ", re.I)
_TAIL = re.compile(r"(?: (?:in|for|as|when|during|since|on|at|by)\b|:)[\s\S]*", re.I)
_WORD = rf"(?!(?:{ASKING}|{VERB}|an?|the|of|in|for|and|to|with)\b)[a-z][\w'-]*"
_ASPECTS = rf"(?:the )?{_WORD}(?: {_WORD}){{0,3}}"
_ASPECTS = rf"{_ASPECTS}(?:, {_ASPECTS})*,? (?:and|as well as) {_ASPECTS}"
_OF_ONE = [
    re.compile(rf"^(?:{ASKING}(?: {VERB}|'s) |both )?(?P<listed>{_ASPECTS})(?P<of> (?:of|in|for) .+)$", re.I),
    re.compile(rf"^(?:for )?(?P<of>{MARK})(?:'s|:) (?P<listed>{_ASPECTS})$", re.I),
]
_COURTESY = re.compile(
    r"^(?:(?:hi|hello|hey)(?: there)?[,!]? |please,? |(?:can|could|would) you (?:please )?(?=tell|give|explain|compare)"
    r"|(?:tell|give) me |i(?:'d| would) like to know |i (?:want|need) to know |do you know )+",
    re.I,
)
_BARE = re.compile(
    r"^(?:(?:tell me about|wh(?:at|o)(?:'s| is| are| was| were)|define|explain|describe) )?(?:(?:the|an?) )?", re.I
)
_POSSESSIVE = re.compile(r"\b(?:its|their|his|her)\b", re.I)
_PRONOUN = re.compile(r"\b(?:it|they|them|he|she|him)\b", re.I)
_THERE = re.compile(r"\b(?:in )?there\b", re.I)
_SMALL = re.compile(
    r"\b(?:and|or|but|so|then|now|also|ok|okay|what|how|about|for|in|of|on|the|is|are|too|please)\b|\W", re.I
)


class Heuristic(Reformulator):
    """Rewrites English questions by rules, without a model."""

    name = "rules"

    def __init__(self, max_sub_queries: int = 3, lexicon: Lexicon | None = None) -> None:
        """Creates the reformulator.

        Args:
            max_sub_queries: maximum number of sub-queries per query.
            lexicon: names of the corpus.
        """
        self.max_sub_queries = max_sub_queries
        self._lexicon = lexicon or Lexicon()

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, with query type and reasoning; small talk passes."""
        answers = past_small_talk(queries, lambda asked: [self._reformulate(query) for query in asked], self.name)
        return [replace(answer, query_type=query_type_of(readable(answer.query))) for answer in answers]

    def _reformulate(self, query: Query) -> Reformulation:
        text = readable(query).rstrip(" ?!.,;:")
        route, found, reasoning = self._rewritten(query, text)
        sub_queries = distinct(found)[: self.max_sub_queries]
        if not sub_queries or [normalised(s.text) for s in sub_queries] == [normalised(query.text)]:
            return replace(pass_through(query, self.name), reasoning="No rule applies, so the raw query is searched")
        return Reformulation(query, route, sub_queries, self.name, reasoning=reasoning)

    def _rewritten(self, query: Query, text: str) -> tuple[Route, list[SubQuery], str]:
        if has("code", text):
            return "pass", [], ""
        parts = parts_of(text, self._lexicon)
        leans = query.history and not (parts and has("comparison", text) and not has("reference", text))
        if leans and (found := list(follow_up(query, text, self._lexicon))):
            return "disambiguate", found, f"Depends on the conversation; searched as {found[0].text!r}"
        if readings := self._lexicon.readings.get(_BARE.sub("", text).lower(), ()):
            found = [SubQuery(f"{text} {reading}", "reading") for reading in readings]
            return "disambiguate", found, f"A name with {len(readings)} meanings"
        found = [SubQuery(part, "part") for part in parts]
        if parts and (match := _DIFFERENCE.search(text)) and not match["what"]:
            found.append(SubQuery(query.text, "original"))
        return "decompose", found, f"Asks for {len(parts)} things, each with a search of its own"


def follow_up(query: Query, text: str, lexicon: Lexicon) -> Iterator[SubQuery]:
    """Searches for a question that depends on the conversation; none for other questions.

    Names of the user's last turns resolve the question; if the user's last turn has no name, the answers' names count
    too, but less than the last two turns as a whole.

    Args:
        query: with a history.
        text: the question on one line.
        lexicon: names of the corpus.
    """
    own = [name for name in lexicon.names(text) if not name.isupper()]
    said = " ".join(turn.text for turn in query.history)
    readings = [reading for name in own for reading in lexicon.readings.get(name.lower(), ())]
    if meant := next((r for r in readings if re.search(rf"\b{re.escape(r)}\b", said, re.I)), ""):
        yield SubQuery(f"{text} {meant}", "expansion")
        return
    turns = query.history[: -_MOST_TURNS - 1 : -1]
    users = [turn for turn in turns if turn.speaker == "user"]
    if own and not _SMALL.sub("", re.sub("|".join(map(re.escape, own)), "", text)):  # "and Peru?"
        if asked := next((turn.text for turn in users if lexicon.names(turn.text)), ""):
            start, end = lexicon.spans(asked)[-1]
            yield SubQuery(f"{asked[:start]}{own[0]}{asked[end:]}", "reading")
        return
    first = (clauses(text) or [text])[0]
    if own and not (has("reference", text) and not lexicon.names(first)):
        return
    is_named = bool(users and lexicon.names(users[0].text))
    found = (name for turn in (users if is_named else turns) for name in reversed(lexicon.names(turn.text)))
    names = list(dict.fromkeys(found))[:2]
    if names:
        yield SubQuery(" ".join([one_line(query.text), *names]), "expansion", 1.0 if is_named else 0.5)
    yield SubQuery(with_last_turns(query), "reading", 0.5 if is_named else 1.0)


def parts_of(text: str, lexicon: Lexicon | None = None) -> tuple[str, ...]:
    """Returns the parts of an English question on one line, at least two; empty if it asks for one thing."""
    lexicon = lexicon or Lexicon()
    asked = _COURTESY.sub("", re.sub(MARK, "", text).rstrip(" ?!.,;:"))
    marks = marks_of(asked, lexicon)
    found = [part for clause in _clauses(with_marks(asked, marks)) for part in _split(clause, marks, lexicon)]
    parts = dict.fromkeys(one_line(without_marks(part, marks)).strip(" ,.:") for part in found)
    return tuple(part for part in parts if part) if len(parts) > 1 else ()


def _clauses(text: str) -> list[str]:
    """The questions of a text, with the last name of the first one in place of the pronouns of later ones.

    A later question whose pronoun cannot be replaced is the whole text.
    """
    first, *later = _independent(clauses(text) or [text])
    topic = next((mark for mark in reversed(re.findall(MARK, first)) if mark < FIRST_YEAR), "")
    found = [first]
    for clause in later:
        if topic and not re.search(MARK, clause):
            clause = _THERE.sub(f"in {topic}", clause) if _THERE.search(clause) else _PRONOUN.sub(topic, clause)
            clause = _POSSESSIVE.sub(f"{topic}'s", clause)
            clause = clause if topic in clause or clause.count(" ") > 4 else f"{clause} {topic}"
        found.append(clause if topic or not has("pronoun", clause) else text)
    return found


def _independent(found: Sequence[str]) -> list[str]:
    """The clauses, split also between noun phrases with a name each: "capital of Peru and currency of Chad"."""
    noun = rf"(?:the )?(?:(?!(?:{VERB}|{ASKING}|and)\b)[a-z][\w-]* ){{1,5}}?"
    phrase = rf"{noun}(?:of|in|for) (?:the )?{MARK}(?! [a-z]+ {MARK})"
    sep = r"(?:,? (?:and|plus|as well as)|,) "
    joint = re.compile(
        rf"(?<={MARK}){sep}(?={phrase})|(?<=[a-z]){sep}(?={MARK}(?:'s)? (?!{VERB}\b)[a-z-]+(?: [a-z-]+){{0,3}}$)"
    )
    return [part for clause in found for part in joint.split(clause)]


def _split(clause: str, marks: Mapping[str, str], lexicon: Lexicon) -> list[str]:
    """One text for each thing that a clause lists, with the shared words; otherwise the clause."""
    if has("pronoun", clause):
        return [clause]
    return _listed(clause, marks, lexicon) or _compared(clause) or _of_one(clause) or [clause]


def _listed(text: str, marks: Mapping[str, str], lexicon: Lexicon) -> list[str]:
    """One text per name or year of a list, if something shows that the list is not one thing."""
    asked = _ASKED_OF.match(text)
    match = (asked and _LIST.search(text, asked.end())) or _LIST.search(text)
    if match is None:
        return []
    items = re.findall(MARK, match[0])
    names = [marks[item] for item in items]
    link = (match["link"] or "").lower()
    before, after = text[: match.end("link") if "between" in link else match.start()], text[match.end() :]
    if not has("comparison", text):
        are_years = all(name.isdecimal() for name in names)
        is_one = link.startswith(("between", "from")) or (are_years and " to " in match[0]) or _RELATION.search(text)
        is_sure = link or are_years or len(items) > 2 or _SEPARATE.search(match[0]) or _PLURAL.search(before)
        if is_one or not (is_sure or all(name.lower() in lexicon.titles for name in names)):
            return []
    before = _COMPARE.sub("", _DIFFERENCE.sub(_what, before))
    return [f"{before}{item}{after}" for item in items]


def _what(match: re.Match[str]) -> str:
    """What differs, in front of the things: "price of"."""
    return f"{match['what']} of " if match["what"] else ""


def _compared(text: str) -> list[str]:
    """One text per compared thing, for things without names: "compare tea and coffee", "tin vs zinc"."""
    rest = _COMPARE.sub("", _DIFFERENCE.sub(_what, text))
    if rest == text and not re.search(r" (?:vs\.?|versus) ", text):
        return []
    first = _SIDES.split(rest)[0]
    head = match[0] if (match := _HEAD.match(first)) else ""
    tail = match[0] if (match := _TAIL.search(rest, len(first))) else ""
    sides = _SIDES.split(rest[len(head) : len(rest) - len(tail)])
    noun = (
        sides[-1].partition(" ")[2] if not any(" " in side for side in sides[:-1]) else ""
    )  # electric and diesel cars
    return [f"{head}{side} {noun if ' ' not in side else ''}{tail.lstrip(':')}" for side in sides if len(sides) > 1]


def _of_one(text: str) -> list[str]:
    """One text per thing that is asked of one: "cost and duration of a visa", "Nepal: capital, currency and area"."""
    match = next((m for pattern in _OF_ONE if (m := pattern.match(text))), None)
    if match is None or _RELATION.search(text):
        return []
    of = match["of"] if match["of"].startswith(" ") else f" of {match['of']}"
    return [f"{item}{of}" for item in re.split(r",? (?:and|as well as) |, ", match["listed"])]


def kinds_of(queries: Sequence[Query], metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Query id -> ``kind`` in the query's metadata (by query id), otherwise the route that the rules choose."""
    given = {query.id: metadata.get(query.id, {}).get("kind") for query in queries}
    unknown = [query for query in queries if not given[query.id]]
    routes = {answer.query.id: answer.route for answer in Heuristic().reformulate(unknown)} if unknown else {}
    return {query_id: str(kind or routes[query_id]) for query_id, kind in given.items()}

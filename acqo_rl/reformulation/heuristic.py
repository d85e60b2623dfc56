"""Rule-based reformulation of English questions: a baseline without model calls, and candidates for the warm start.

Three rules, in this order: a question that depends on the conversation is searched with the names of the last turns and
with the last two turns; an ambiguous name is searched once per meaning; a question with several needs is split. A split
is made only if each part can be searched on its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acqo_rl.reformulation.languages import ENGLISH
from acqo_rl.reformulation.lexicon import FIRST_YEAR, MARK, Lexicon, marks_of, with_marks, without_marks
from acqo_rl.reformulation.pass_through import pass_through, past_small_talk, with_last_turns
from acqo_rl.reformulation.query_types import SURE, asks_several, query_type_of
from acqo_rl.roles import Reformulator
from acqo_rl.text import content_words, distinct, normalised, one_line
from acqo_rl.types import Query, Reformulation, Route, SubQuery

_LONGEST = 1_000
"""Maximum number of characters of a text that the rules read; longer texts are rarely questions."""
_MOST_TURNS = 8
"""Number of turns in which names are looked for."""

_ASKING = r"(?:who|whom|whose|what|when|where|which|why|how)"
_VERB = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will)"
_ASKS = re.compile(rf"(?:(?:in|at|to|from|by|for|on|since|under) )?{_ASKING}\b|{_VERB} \w", re.I)
_NEXT = re.compile(
    rf"(?<!\s)\s*\?\s*(?:(?:and|also|plus)\b,? ?)*|,? (?:plus|as well as|and also|also)(?: also| in addition,)? "
    rf"|[,;] (?={_ASKING}\b)"
    rf"|,? and (?=(?:(?:in|at|to|from|by|for|on) )?{_ASKING}\b|{_VERB} (?:it|they|he|she|i)\b)",
    re.I,
)
"""Between two questions."""
_AFTER_STATEMENT = re.compile(rf", {_ASKING}\b", re.I)
_PLACED = re.compile(rf"\b(?:in|of|at|from|on|by|for|near|to) (?:the )?{MARK}|{MARK}'s", re.I)
"""A name that is not what a question is about: "the tallest building in Dubai"."""
_ACTS = r"\b(?!.*\b(?:do|does|did|is|are|was|were|can|will|would)\b).*\n(?s:.*)\b"
_OF_ANSWER = re.compile(
    rf"\A(?:who{_ACTS}(?:he|she|him|his|her)|(?:which|what){_ACTS}(?:its?|they|them|their))\b", re.I
)
"""A pronoun on a later line may stand for the answer to the first: "Who wrote Emma", "when did she die"."""
_HALF = re.compile(r" or |\bbetween |^(?:besides|other than|except) |(?-i:\b[a-z]+)\. ", re.I)
"""Words around a list without which it is not complete; abbreviations, which may join names ("Selle v. Gibb")."""
_QUOTES = frozenset('"\u201c\u201d`')
_BEFORE = r"(?:(?:in|of|for|to|at|from|by|on|is|does) )?(?:the )?"
_LIST = re.compile(
    rf"(?:\b(?:both|either) (?:the )?)?{MARK}"
    rf"(?:(?:,|,? (?:and|or|vs\.?|versus|than|as well as|compared (?:to|with))) {_BEFORE}{MARK})+(?: respectively)?"
)
_COMPARING = re.compile(
    r"^(?:compare|(?:what(?:'s| is| are) )?(?:the )?(?:difference|similaritie)s?(?: in (?P<what>[\w -]+?))? between) "
    r"(?:the )?",
    re.I,
)
_REFERS = re.compile(
    r"\b(?:(?P<there>(?:in )?there$)|(?P<whose>its|their|his|her)|(?P<who>it|they|them|he|she|him)"
    r"|those|these|this|one|former|latter|same|each|(?:what|how) about)\b",
    re.I,
)
"""Words that stand for something else: in a conversation, what a turn named; after a question, what it named."""
_COURTESY = re.compile(
    r"^(?:(?:hi|hello|hey)(?: there)?[,!]? |please,? |(?:can|could|would) you (?:please )?(?=tell|give|explain|compare)"
    r"|(?:tell|give) me |i(?:'d| would) like to know |i (?:want|need) to know |do you know )+",
    re.I,
)
_BARE = re.compile(r"^(?:(?:tell me about|what(?:'s| is)|who is|define) )?(?:(?:the|an?) )?", re.I)
_SMALL = re.compile(
    r"\b(?:and|or|but|so|then|now|also|ok|okay|what|how|about|for|in|of|on|the|is|are|too|please)\b|\W", re.I
)


class Heuristic(Reformulator):
    """Rewrites English questions by rules, without a model."""

    name = "rules"

    def __init__(self, max_sub_queries: int = 5, lexicon: Lexicon | None = None) -> None:
        """Creates the reformulator.

        Args:
            max_sub_queries: maximum number of sub-queries per query.
            lexicon: names of the corpus.
        """
        self.max_sub_queries = max_sub_queries
        self._lexicon = lexicon or Lexicon()

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; small talk passes, and so do other languages.

        All but these have a query type.
        """
        return past_small_talk(queries, lambda asked: list(map(self._reformulate, asked)), self.name, ENGLISH)

    def _reformulate(self, query: Query) -> Reformulation:
        text = one_line(query.text).replace("\u2019", "'").rstrip(" ?!.,;:")
        route, found = self._rewritten(query, text if len(text) <= _LONGEST else "")
        needs = distinct(found)
        sub_queries = needs[: self.max_sub_queries]
        if not sub_queries or [normalised(s.text) for s in sub_queries] == [normalised(query.text)]:
            route = "pass"
            sub_queries = pass_through(query, self.name).sub_queries
        notes: tuple[str, ...] = ()
        if len(needs) > len(sub_queries):
            notes = (f"Of {len(needs)} searches, the first {len(sub_queries)} are made.",)
        kind = query_type_of(query.text, query.history)
        return Reformulation(query, route, sub_queries, self.name, query_type=kind, notes=notes)

    def _rewritten(self, query: Query, text: str) -> tuple[Route, list[SubQuery]]:
        parts = parts_of(text, self._lexicon)
        is_comparison = bool(parts) and query_type_of(text, query.history) == "comparison"
        leans = query.history and not (is_comparison and not _REFERS.search(text))
        if leans and (found := list(follow_up(query, text, self._lexicon))):
            return "disambiguate", found
        if readings := self._lexicon.readings.get(_BARE.sub("", text).lower(), ()):
            return "disambiguate", [SubQuery(f"{text} {reading}", "reading") for reading in readings]
        found = [SubQuery(part, "part") for part in parts]
        if is_comparison:
            found.append(SubQuery(query.text, "original"))
        return "decompose", found


def follow_up(query: Query, text: str, lexicon: Lexicon) -> Iterator[SubQuery]:
    """Searches for a question that depends on the conversation; none for other questions.

    Mostly two searches: the question with names of the user's last turns, and, with half the weight, the last two turns
    as a whole. If the user's last turn has no name, names of the answers count too, and the weights are exchanged.

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
    if own and not (_REFERS.search(text) and not lexicon.names(_NEXT.split(text)[0])):
        return
    is_named = bool(users and lexicon.names(users[0].text))
    found = (name for turn in (users if is_named else turns) for name in reversed(lexicon.names(turn.text)))
    names = list(dict.fromkeys(found))[:2]
    if names:
        yield SubQuery(" ".join([one_line(query.text), *names]), "expansion", 1.0 if is_named else 0.5)
    yield SubQuery(with_last_turns(query), "reading", 0.5 if is_named else 1.0)


def parts_of(text: str, lexicon: Lexicon | None = None) -> tuple[str, ...]:
    """Returns the parts of an English question on one line, at least two.

    Empty if it asks for one thing, quotes something, or if one of the parts could not be searched on its own.
    """
    asked = _COURTESY.sub("", re.sub(MARK, "", text).rstrip(" ?!.,;:"))
    if _QUOTES.intersection(asked):
        return ()
    marks = marks_of(asked, lexicon or Lexicon())
    questions = _questions(with_marks(asked, marks), asks_several(asked, 0.0))
    found = [part for one in questions for part in _one_each(one, marks)]
    parts = dict.fromkeys(one_line(without_marks(part, marks)).strip(" ,.:") for part in found)
    return tuple(part for part in parts if part) if len(parts) > 1 else ()


def _questions(text: str, is_several: bool) -> list[str]:
    """The questions of a text, with the only name of the first one in place of the pronouns of later ones.

    The text itself if one of them could not be searched on its own, because it

    - has another word that stands for something,
    - asks nothing; it is kept if it has a name and the text asks for several things,
    - has no name or no year, although another one has one,
    - follows a statement, which may hold for all of them.
    """
    first, *later = [piece.strip(" ,.") for piece in _NEXT.split(text) if piece.strip(" ,.")] or [text]
    named = [mark for mark in dict.fromkeys(re.findall(MARK, first)) if mark < FIRST_YEAR]
    is_subject = len(named) == 1 and not _PLACED.search(first) and not _OF_ANSWER.match("\n".join([first, *later]))

    def with_name(match: re.Match[str]) -> str:
        forms: dict[str | None, str] = {"there": f"in {named[0]}", "whose": f"{named[0]}'s", "who": named[0]}
        return forms.get(match.lastgroup) or match[0]

    found = [first, *(_REFERS.sub(with_name, one) if is_subject else one for one in later)]
    kinds = {tuple({mark < FIRST_YEAR for mark in re.findall(MARK, one)}) for one in found}
    follows_statement = _AFTER_STATEMENT.search(text) and not (is_several and _ASKS.match(first))
    is_whole = len(kinds) == 1 and not follows_statement and all(_is_whole(one, is_several) for one in found)
    return found if is_whole else [text]


def _is_whole(question: str, is_several: bool) -> bool:
    asks = bool(_ASKS.match(question))
    words = len(content_words(question))
    stands = asks or (words > 0 and is_several) if re.search(MARK, question) else asks and words > 1
    return stands and not _REFERS.search(question)


def _one_each(question: str, marks: Mapping[str, str]) -> list[str]:
    """One text per name or year of a list, with the shared words, if the question asks for several things."""
    match = _LIST.search(question)
    if not match or "?" in question or _REFERS.search(question):
        return [question]
    least = 0.0 if re.search(r"\b(?:or|vs|versus|than|compared)\b", match[0]) else SURE  # not "Romeo and Juliet"
    if not asks_several(without_marks(question, marks), least):
        return [question]
    items = re.findall(MARK, match[0])
    before = question[: match.start()]
    after = question[match.end() :]
    before = _COMPARING.sub(lambda one: f"{one['what']} of " if one["what"] else "", before)
    is_of_both = " or " in match[0] and len(items) > 2 and before[-2:] not in ("", ", ", ": ")  # "is in Peru, A or B"
    joined = len(re.findall(r" (?:and|or|vs\.?|versus|than) ", match[0]))
    is_of_both |= joined > 1 or (
        not joined and bool(re.search(", (?!the )[a-z]", match[0]))
    )  # "A and B or C", "A, in B"
    is_mixed = len({" of " in marks[item] for item in items}) > 1  # "area of Peru and GDP of Chad"
    is_mixed |= " of " in before and bool(re.match(r"(?: \w+)? of ", after))  # "area of Peru and Birth rate of Chad"
    is_half = _HALF.search(before + after) or _AFTER_STATEMENT.match(after)
    return [question] if is_of_both or is_mixed or is_half else [f"{before}{item}{after}" for item in items]


def kinds_of(
    queries: Sequence[Query], metadata: Mapping[str, Mapping[str, Any]], field: str = "kind"
) -> dict[str, str]:
    """Query id -> this field of the query's metadata (by query id), otherwise the route that the rules choose."""
    given = {query.id: metadata.get(query.id, {}).get(field) for query in queries}
    unknown = [query for query in queries if not given[query.id]]
    routes = {answer.query.id: answer.route for answer in Heuristic().reformulate(unknown)} if unknown else {}
    return {query_id: str(kind or routes[query_id]) for query_id, kind in given.items()}

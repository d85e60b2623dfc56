"""Determines the query type by tables of words and by patterns."""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import SQL, clauses
from acqo_rl.reformulation.type_words import (
    ASKED,
    ASKED_FOR,
    BESIDE_MISHAP,
    BESIDE_VERB,
    CHOOSING,
    COMPARISON,
    EITHER,
    FACTS,
    FAULTS,
    MISHAPS,
    NO_CHOICE,
    NO_FAULT,
    NO_ORDER,
    NO_SYMPTOM,
    OWN,
    PAIRS,
    QUALITIES,
    QUALITIES_ELSEWHERE,
    REASONS,
    STEPS,
    SYMPTOMS,
    TASKS,
    UNCOUNTED,
    VERBS,
    WEIGHING,
    WHOSE,
    WHY,
    WHY_I,
    WISHES,
    spaced,
)
from acqo_rl.types import QueryType


def _shapes(*patterns: str) -> re.Pattern[str]:
    """A pattern with the given alternatives."""
    return re.compile("|".join(patterns))


def _any(words: str) -> str:
    return "|".join(words.split())


_COMPARATIVE = _shapes(
    r" than (?!\d)",
    r" as (?!soon|well|far|long|much|possible)\w+ (?:[\w-]+ ){0,3}as ",
    r" (?:choose|prefer|pick|benefits of|advantages of) (?:\S+ ){1,4}over ",
    r" sets? (?:\S+ ){1,4}apart ",
    r" which (?:\w+ )?(?:is|are) (?:\w+er|more|less|worse) ",
    r" \w+er als ",
    r" (?:plus|moins|aussi) \w+ qu[e'] ",
    r" (?:más|menos|tan) (?:\w+ )?(?:que|como) ",
    r"比\w{1,10}(?:高|大|长|快|好|多|贵|便宜|重|远|强)",
    r"[和与跟]\w+哪\w?(?:更|个|种|家)",
)
_CHOICE = _shapes(
    r" \^ (?!the |an? |whether |either )(?:\S+ ){1,2}(?:or|oder|ou|o) (?!.* of )\S",
    r" \^ [^吗么什谁哪怎如]{2,10}(?:还是|或)\w",
)
"""A text that consists of alternatives and perhaps a purpose: "oslo or bergen for a weekend"."""
_NAME_OF_ERROR = _shapes(
    r"\b[A-Z]\w*(?:Error|Exception|BackOff)\b",
    r"\b(?:HTTP|status|code)(?: code)? [45]\d\d\b",
    r"\b[A-Z]+_[A-Z_]{3,}\b",
    r"#N/A|#{4,}",
)
_HAPPENS = _shapes(
    r" (?:when|while|after) \w+ing ",
    rf"(?<!\^) (?:{_any(MISHAPS)}) (?:{_any(BESIDE_MISHAP)}|\w+s|#\S+) ",
    rf"(?<!\^) (?:{_any(VERBS)}) (?:{_any(BESIDE_VERB)}|\w+ly|\w+ing) ",
    r" \w+s (?:me|my|itself|nothing|over|double|to the (?:left|right|ground)) ",
    r" too (?!please|thank)\w",
    r" no (?:me |se |le )?\w+(?= .* (?:el|la|los|las|mi|en|al|del) )",
    r" (?:la|el|mi) .* no \w",
    r" (?:n'|ne) \w+ (?:pas|plus) ",
)
"""A thing does something wrong: a verb together with the next word, because "drops" alone may be a noun."""
_STEPS = _shapes(
    r" how 2 ",
    r" (?:want|need|like) to (?!know|see|hear|find|ask|understand)\w",
    r" wie \w+ (?:ich|man|wir|du) ",
    r" c[oó]mo (?!es |está|muri|se llam)\w",
    r" comment (?:est-ce qu[e'] )?(?:on|je|nous|puis-je|peut-on|\w+(?:er|ir|re)) ",
)
_HOW_IT_IS = _shapes(
    r" how (?:do|does|did|is|are|was|were|can) "
    r"(?!(?:i|you|we|u|one|people|someone|my) |.* (?:called|abbreviated?|spel(?:led|t)|named|divided|pronounced) )",
    r" how .+ works? ",
    r" (?:do|does|did) .+ mean ",
    r" wie (?!heißen|viel)\w+en (?!ich|man|wir|sie |du)",
    r" cómo \w+n (?:el|la|los|las) ",
    r"是(?:如何|怎么|怎样)",
    r"如何.{1,8}(?:形成|产生|运作|工作|影响)",
)
"""How something works or happens, in contrast to how somebody does it."""
_ORDER = re.compile(r"\^ ([a-z]+) (?:a|an|my|your) ")
_THINGS = r"(?![\w-]*(?:ss|us|is)\b)[a-z][\w-]+s"
_BESIDE = r"(?:near|around|in|for|from|to|at|on|by|with|without|within|under|below|over|above|of|and|or)"
_WISHED = _shapes(
    rf"\b(?i:{_any(QUALITIES)}|[a-z]+-free) (?:(?!(?:of|and|in|for|the|to) )[\w'-]+ ){{0,2}}?"
    rf"{_THINGS}\b",
    rf"^(?i:{_any(ASKED_FOR)}) (?:(?!{_BESIDE}\b)[a-z-]+ ){{0,2}}{_THINGS}(?: {_BESIDE} .+)?$",
    rf"^(?:(?!{_BESIDE}\b)[A-Za-z-]+ ){{0,3}}{_THINGS} (?:near|around|close to) \w",
    rf"\b(?i:{_any(QUALITIES)}) (?:{_any(UNCOUNTED)})\b",
    rf"(?:^|\s)(?i:{_any(QUALITIES_ELSEWHERE)}) \w",
    rf"\w (?:{_any(QUALITIES_ELSEWHERE)})(?:\s|$)",
)
"""Desired things, with a quality or near a place: "quiet beaches", "playas tranquilas"; but "Great Lakes" is a name."""
_JOINING = re.compile(
    r"(?<= )(?:and|with|using|also|while|but|und|mit|sowie|y|con|et|avec)(?= )|以及|并且|同时|和|还有"
)
_ASKING_HAN = "(?:什么|哪|谁|多[少大高长远久]|几|如何|怎|是否)"
_SEVERAL = _shapes(
    # symptoms, causes and treatment of ...
    r"(?:^|[ ¿])(?:[^\W_]+ ){0,2}[^\W_]+, (?:[^\W_]+ ){0,2}[^\W_]+,? (?:and|und|sowie|y|e|et) \w",
    # birthplace and cause of death of ...; a name is written with a capital
    r"\w (?:and|y|et) (?:[^\W\dA-Z]\w* ){1,2}(?:of|de|del|du|des) \w",
    r"\w und (?:\w+ ){1,2}(?:von|der|des) \w",
    # ... and when?
    r"\w (?:and|und|y|et) (?:when|where|why|how|wann|wo|warum|wie|cuándo|dónde|quand|où)\W*$",
    r"、.+[和与及]|[^、]、.+以及",
    rf"{_ASKING_HAN}.*[,\uff0c].*{_ASKING_HAN}",
)


def query_type_of(text: str) -> QueryType:
    """Returns the first type that matches; ``simple`` if the text has no question or request, only key words."""
    if SQL.match(text):
        return "simple"
    words = spaced(text)
    if compares(words):
        return "comparison"
    if _is_faulty(text, words):
        return "debugging"
    if len(_JOINING.findall(words)) > 1 or len(clauses(text)) > 1 or lists(text):
        return "complex"
    if _explains(words):
        return "conceptual"
    if STEPS.within(words) or _STEPS.search(words):
        return "how_to"
    if _asks(text, words):
        return "factual"
    if weighs(text):
        return "complex"
    return "how_to" if _orders(words) or _wishes(text, words) else "simple"


def weighs(text: str) -> bool:
    """Whether the text requests an analysis from several sides: "evaluate remote work"."""
    return WEIGHING.within(spaced(text))


def compares(words: str) -> bool:
    """Whether the text compares things or asks for a choice between two.

    Args:
        words: a text returned by ``spaced``.
    """
    if COMPARISON.within(words) or _COMPARATIVE.search(words):
        return True
    if not EITHER.within(words) or NO_CHOICE.within(words):
        return False
    return CHOOSING.within(words) or bool(_CHOICE.match(words))


def lists(text: str) -> bool:
    """Whether the text asks for several things."""
    return bool(_SEVERAL.search(text)) and not PAIRS.within(spaced(text))


def _is_faulty(text: str, words: str) -> bool:
    """Whether the text describes a fault."""
    if _NAME_OF_ERROR.search(text) or WHY_I.within(words) or (WHY.within(words) and OWN.within(words)):
        return True
    if FAULTS.within(words) and not NO_FAULT.within(words):
        return OWN.within(words) or not ASKED.within(words)
    if _asks(text, words) or STEPS.within(words) or REASONS.within(words):
        return False
    if WHOSE.within(words) or _HAPPENS.search(words):
        return True
    return SYMPTOMS.within(words) and not NO_SYMPTOM.within(words)


def _explains(words: str) -> bool:
    """Whether the text asks why, or how something works or happens."""
    found = _HOW_IT_IS.search(words)
    return REASONS.within(words) or (bool(found) and not (STEPS.within(words) and " how " in words))


def _asks(text: str, words: str) -> bool:
    """Whether the text asks for a fact: a question word, an opening verb, or a question mark after several words."""
    return FACTS.within(words) or (text.rstrip().endswith(("?", "\uff1f")) and len(words.split()) > 3)


def _orders(words: str) -> bool:
    """Whether the text names a task without a question word: "unclog a sink", "convert heic to jpg"."""
    opening = _ORDER.search(words)
    return TASKS.within(words) or (opening is not None and not NO_ORDER.within(f" {opening.group(1)} "))


def _wishes(text: str, words: str) -> bool:
    """Whether the text describes desired qualities of things: "fun routes", "dog-friendly cafes"."""
    return WISHES.within(words) or bool(_WISHED.search(text))

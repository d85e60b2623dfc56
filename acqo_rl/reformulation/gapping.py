"""Completes a question whose second part leaves out what it shares with the first part.

Example: "Which currency do they have in Iran, and which in Iraq?". Linguists call this gapping.
"""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import begins_to_ask

_JOINED = r"(?:[,;]|\?)? and (?:also )?"
_WITH_PREPOSITION = re.compile(
    rf"(?P<first>.+?)(?P<joined>{_JOINED})(?:(?P<ask>(?:what|which|who|where|when|how)(?: (?!about\b)[a-z]+)??) "
    r"(?:about )?)?"
    r"(?P<preposition>about|at|by|for|from|in|near|of|on|to|under|with) (?P<other>[^,;?]+)",
    re.I,
)
_NO_PHRASE = re.compile(
    r"(?:what|which|who|whose|where|when|how|it|its|they|them|their|there|this|that|these|those)\b"
    r"|.*\b(?:and|or|between|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
    re.I,
)
_MOST_WORDS = 5
_FEW_WORDS = 2
"""Maximum number of words of each thing if neither a comma nor a question word separates the parts."""
_ASKS_FOR_NOUN = re.compile(r"(?P<ask>(?:what|which) (?:[\w'-]+ ){1,4}?(?P<be>is|are|was|were|does|do|did)) .+", re.I)
_YES_OR_NO = re.compile(
    rf"(?P<first>.+?){_JOINED}(?P<be>is|are|was|were|does|do|did) (?:it|they|that|those) (?:also |too )?"
    r"(?P<rest>[^,;?]+?)(?: too| as well)?",
    re.I,
)


def gapped(text: str) -> list[str]:
    """The two questions, both complete; empty for other texts.

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
    """
    return _of_another(text) or _asked_again(text)


def _of_another(text: str) -> list[str]:
    """Repeats the first question of another thing: "the dialling code of Peru, and of Chile"."""
    match = _WITH_PREPOSITION.fullmatch(text)
    if match is None or not begins_to_ask(match["first"]) or re.match(r"(?:i|we)\b", match["first"], re.I):
        return []
    first, other, ask = match["first"], match["other"], match["ask"] or ""
    most = _MOST_WORDS if ask or not match["joined"].startswith(" ") else _FEW_WORDS
    preposition = f" {match['preposition'].lower()} "
    listed = [*first.split(f",{preposition}"), other]  # of Spain, of Portugal and of Italy
    first, others = listed[0], listed[1:]
    before, _, one = first.rpartition(preposition)
    if not before or any(_NO_PHRASE.match(some) or len(some.split()) > most for some in (one, *others)):
        return []
    parts = [first, *(f"{before}{preposition}{other}" for other in others)]
    return parts if first.lower().startswith(ask.lower()) else []


def _asked_again(text: str) -> list[str]:
    """Repeats what is asked for: "What currency is used in Romania, and is it also used in Moldova?"."""
    match = _YES_OR_NO.fullmatch(text)
    asked = match and _ASKS_FOR_NOUN.fullmatch(match["first"])
    if not match or not asked or asked["be"].lower() != match["be"].lower():
        return []
    return [match["first"], f"{asked['ask']} {match['rest']}"]

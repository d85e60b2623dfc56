"""Splits questions for several attributes of one thing: "causes and signs of rickets".

Without part-of-speech tags, "coffee and tea reduce the risk of stroke" looks like two attributes of a stroke. So two
joined nouns are split only if a question asks for them ("What are the ... and ... of ...?"), or if both are known names
of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.reformulation.comparisons import shared
from acqo_rl.reformulation.relations import joins
from acqo_rl.reformulation.signals import MEASURED, QUANTITIES, find_list, is_of, items_of, names_attribute

_PLAIN = (
    r"(?!(?:of|in|for|on|at|to|from|by|with|as|about|is|are|was|were|do|does|did|has|have|that|and|or|it|who|which|what"
    r"|how|when|where|than|the|its?|an?|their|his|her|some|any)\b)(?-i:[a-z][\w'-]*|[A-Z]{2,5}\b)"
)
_PHRASE = rf"(?:(?:the|its|a|an|some|any) )?(?:{_PLAIN} ){{0,3}}?{_PLAIN}"
_LISTED = rf"(?P<listed>{_PHRASE}(?:, {_PHRASE})*,? (?:and|as well as) (?:also )?{_PHRASE})"
_ASKING = (
    r"(?P<asking>(?:about|(?:what|who)(?: is| are| was| were)|which (?:is|are|was|were)|explain|describe|list|give|show"
    r"|name|find|discuss|outline|summari[sz]e) )?(?:both )?"
)
_OF_ONE = re.compile(rf"{_ASKING}{_LISTED}(?P<of> (?:of|for|in|on|at|to|about) .+)", re.I)
_OWNED = re.compile(rf"{_ASKING}(?P<owner>[\w .-]+'s?) {_LISTED}(?P<of>(?: (?:in|for|during|since|as of) .+)?)", re.I)
_TWO_PHRASES = re.compile(
    rf"{_ASKING}(?P<one>{_PHRASE} of (?:(?!and\b)[\w'.-]+ ?){{1,5}}?),? and (?P<other>{_PHRASE} of [^,]+)", re.I
)
_HEADED = re.compile(
    r"(?:(?:for|of|about|on|regarding|concerning) )?(?P<thing>(?-i:[A-Z])[^:,]*): "
    rf"(?P<listed>{_PHRASE}(?:, {_PHRASE})*,? and {_PHRASE})",
    re.I,
)
"""A thing and its attributes: "For Nepal: the capital, the area and the currency"."""
_COMPOUND = re.compile(
    r" of (?:birth|death|living|life|growth|origin|entry|residence|office|use|ownership|transport|war|interest)(?= of )"
)
_QUANTITY = re.compile(
    rf"{_ASKING}(?P<what>(?:the )?(?:{_PLAIN} ){{0,3}}?(?P<noun>{_PLAIN})) (?P<of>of|in|for) "
    r"(?P<rest>.+ (?:and|or) .+)",
    re.I,
)
_UNLIKE = re.compile(
    r"\b(?:its|their|his|her|to|what|which|who|is|are|there|between)\b|^(?!the ).*(?:,|and) the ", re.I
)


def attributes(text: str, is_asked: bool) -> list[str]:
    """Returns one part per attribute, each with the thing; empty if the text does not ask for several attributes.

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
        is_asked: whether the text is known to be a request even without a question word.
    """
    if match := _HEADED.fullmatch(text):
        items = items_of(match["listed"])
        return [f"{_bare(item)} of {match['thing']}" for item in items] if all(map(names_attribute, items)) else []
    asking = "about " if is_asked else None
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    if match := _TWO_PHRASES.fullmatch(text):
        one, other = match["one"], match["other"]
        if not _are_asked(match["asking"] or asking, [phrase.partition(" of ")[0] for phrase in (one, other)]):
            return []
        whose = other.rpartition(" of ")[2]  # date of birth and place of death of ...
        return [_bare(f"{one} of {whose}" if _COMPOUND.search(f"{one} of ") else one), _bare(other)]
    match = _OF_ONE.fullmatch(text) or _OWNED.fullmatch(text)
    if match is None:
        return []
    listed = items_of(match["listed"].replace(" as well as ", " and "))
    if not _are_asked(match["asking"] or asking, listed):
        return []
    *items, last = map(_bare, listed)
    if "owner" in match.groupdict():
        return [f"{match['owner']} {item}{match['of']}" for item in (*items, last)]
    compound = _COMPOUND.match(match["of"])  # cause of death
    of = match["of"][compound.end() :] if compound else match["of"]
    return [*(f"{item}{of}" for item in items), f"{last}{match['of']}"]


def quantities(text: str) -> list[str]:
    """Returns one part per thing for "lifespan of cats and dogs"; empty for other texts."""
    match = _QUANTITY.fullmatch(text[:1].lower() + text[1:])
    if match is None or _UNLIKE.search(match["rest"]) or joins(text):
        return []
    nouns = MEASURED if " or " in match["rest"] else QUANTITIES  # the meaning of hook or crook
    if not is_of(match["noun"], nouns):
        return []
    named = find_list(match["rest"])
    if named and not named.link:  # a pair of names may be one name
        return []
    return shared(f"{_bare(match['what'])} {match['of']} {match['rest']}")


def _are_asked(asking: str | None, listed: Sequence[str]) -> bool:
    """Whether the listed phrases are separate requests, and not two words for one thing."""
    items = [_bare(phrase) for phrase in listed]
    first, last = items[0], items[-1]
    named = [names_attribute(item) for item in items]
    if (asking or "").startswith(("who is ", "who was ")) or (
        " " in last and " " not in first and not _stands_alone(first)
    ):
        return False  # the founder and director of ...; day and night temperatures
    if all(named):
        return True
    if not asking:  # "X and Y of Z" has no verb, "X and Y reduce the cost of Z" has one
        return any(named) and " " not in last
    is_one = asking.endswith((" is ", " was ")) and " " not in first and items[-1] == listed[-1].strip()
    return any(named) or not is_one


def _stands_alone(word: str) -> bool:
    """Whether a word does not share the noun of the next phrase: it is an attribute or a plural."""
    return names_attribute(word) or word.endswith("s")


def _bare(phrase: str) -> str:
    return re.sub(r"^(?:the|its|an?|some|any|also) ", "", phrase.strip(), flags=re.I)

"""Splits a comparison into one question or phrase per compared thing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.reformulation.choices import chosen_from
from acqo_rl.reformulation.signals import find_list, is_plural, items_of, names_attribute

_POLITE = r"^(?:(?:explain|describe|list|summari[sz]e|discuss|about)\s)?"
_TWO_RELATIONS = re.compile(
    r"(?P<one>(?:[\w'-]+ ){1,6}?between [^,]+? and [^,]+?),? (?:and|with|to|versus|vs\.?|against) "
    r"(?P<other>(?:[\w'-]+ ){0,6}?between .+ and .+)",
    re.I,
)
"""Two compared relations: "trade between China and India with trade between China and Japan"."""
_COMPARE = re.compile(
    rf"""{_POLITE}(?:
    (?:compare|contrast|comparing|contrasting|tell\ apart|(?:a\ )?comparison\ (?:of|between))(?:\ and\ contrast)?
    |(?:what(?:'?s|\ is|\ are|\ was|\ were)\ )?(?:the\ )?(?:(?:main|key|major|biggest|most\ important|exact)\ )?
        (?:differences?|similarit(?:y|ies)|distinctions?|comparisons?)(?:\ (?:and|or)\ (?:differences?|similarities))?
        (?:\ in\ (?P<attribute>[\w\ -]+?))?\ (?:between|of)
    )\ (?P<rest>.+)$""",
    re.I | re.X,
)
_CROSSED = re.compile(
    r"(?:the )?(?P<attributes>[\w ,'-]+? and [\w '-]+?)(?P<of> (?:of|in|for) )"
    r"(?P<things>[\w ,.'-]+? (?:and|or) [\w .'-]+)",
    re.I,
)
"""Several attributes of several things: "the climate and the population of kenya and uganda"."""
_ASKS = r"(?:do|does|did|is|are|was|were|can|could|should|would|will|has|have|had|wh\w+|how)\b"
_ONE = r"[\w'+#.-]+(?: [\w'+#.-]+)?"
_SIDES = [
    re.compile(_POLITE + shape + "$", re.I)
    for shape in (
        r"how (?:do|does|did) (?P<one>.+?) and (?P<other>.+?) (?:differ|compare)(?P<tail> (?:in|for|when|as) .+)?",
        r"(?P<one>.+?) and (?P<other>.+?) (?:compared|side by side)",
        r"how (?:do|does|did) (?P<one>.+?) (?:differ from|compare (?:to|with|against)) (?P<other>.+)",
        r"how (?:is|are|was|were) (?P<one>.+?) (?:any )?different (?:from|to|than) (?P<other>.+)",
        r"what (?:distinguishes|separates|sets) (?P<one>.+?) (?:apart )?from (?P<other>.+)",
        r"(?:what (?:is|are|was|were) (?:the )?)?(?P<one>.+?),? "
        r"(?:compared (?:to|with)|in comparison (?:to|with)|as opposed to) (?P<other>.+)",
        r"(?:(?:what|how) (?:is|are|was|were) (?:the )?)?(?P<one>.+?),? "
        r"(?:in relation|relative) to (?P<other>(?:that|those) of .+)",
        r"(?:should|would|do|could) (?:i|we|you) (?:rather )?(?:\w+|go to|invest in|sign up for) "
        rf"(?P<one>{_ONE}) (?:or|over) (?P<other>.+)",
        rf"(?!{_ASKS})(?P<one>{_ONE}) or (?P<other>{_ONE} (?:for|as|in|to|when) .+)",
    )
]
_RELATES = re.compile(
    r"\b(?:differences?|similarit(?:y|ies)|distinctions?|contrasts?) (?:between|of)\b|\bdiffers?\b"
    r"|\bdifferent (?:from|to|than)\b|\b(?:distinguish(?:es)?|tell) .+ (?:from|apart)\b",
    re.I,
)
_NO_SIDE = re.compile(
    r"(?:that |those )?(?:of )?(?:the )?"
    r"(?:others?|rest|(?:national |global |world )?average|wh(?:at|o|om|ich)|its|their|his|her|one)\b",
    re.I,
)
"""What is compared with something that has no name: "compared to other countries"."""
_CUT = re.compile(r"\b(?:be|been|being|is|are|was|were|as|when|if)$", re.I)
_VERSUS = re.compile(r"\S,? (?:vs\.?|versus) \S", re.I)
_MATCH = re.compile(
    r"\b(?:scores?|match|game|final|semi-?final|fight|bout|won|wins?|beat|tickets?|kick-?off|line-?ups?|odds|lyrics|court|"
    r"case|lawsuit|ruling|decision|verdict|opinion|dissent|plaintiff|defendant|summary|facts|trial|battle|war|results?|"
    r"highlights|head to head|derby|playoffs?|cup|league|season|stream|live|predictions?|movie|film|episode)\b",
    re.I,
)
_TAIL = re.compile(
    r" (?=(?:in|for|as|when|during|since|on|at|with respect to|regarding|by|under|before|after)\b)", re.I
)
_BEFORE_ITEM = re.compile(r"^(.*\b(?:of|in|for|between|from|at|on|about) )", re.I)
_BETWEEN_SIDES = re.compile(r",? (?:and|with|to|versus|vs\.?|against|or|over|than|&) (?:(?:that|those) of )?", re.I)
_AND = re.compile(r",? (?:and|or|versus|vs\.?|&) (?:(?:that|those) of )?", re.I)
_SAYS = re.compile(r"^(?:explain|tell|say|give|describe|list|show|discuss)\b|\b(?:they|it)\b", re.I)
_DESCRIBES = re.compile(r"(?:ic|al|ese|ish|ous|ive|ary|ent|able|less|ful)$", re.I)
_DESIGNATION = r"(?:[b-z]|\d+)"
_NUMBERED = re.compile(rf"(?P<word>\w+) {_DESIGNATION} (?P<noun>.+)")
"""A phrase with a letter or a number, and a noun: "type 1 diabetes"."""
_OF_SUBSTANCES = re.compile(
    r"\b(?:deficienc(?:y|ies)|intake|levels|overdose|poisoning|supplements?|tablets|toxicity)$", re.I
)
"""Nouns that all listed substances may share."""
_DETERMINERS = frozenset("a an the its their his her my our this that these those".split())  # noqa: SIM905


def compared(text: str) -> list[str]:
    """Returns one part per compared thing; empty if the text is not a comparison.

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
    """
    return chosen_from(text) or _sides(text)


def _sides(text: str) -> list[str]:
    """Splits "compare X and Y", "X compared to Y", "X vs Y" and similar forms."""
    if match := _COMPARE.match(text):
        if relations := _TWO_RELATIONS.fullmatch(match["rest"]):
            return _related(relations["one"], relations["other"])
        crossed = _CROSSED.fullmatch(match["rest"])
        if crossed and any(map(names_attribute, items_of(crossed["attributes"]))):
            return [f"{crossed['attributes']}{crossed['of']}{thing}" for thing in items_of(crossed["things"])]
        head = f"{match['attribute']} of " if match["attribute"] else ""
        return [f"{head}{side}" for side in _share(match["rest"])]
    if match := next((m for pattern in _SIDES if (m := pattern.match(text))), None):
        if (
            _NO_SIDE.match(match["other"])
            or _CUT.search(match["one"])
            or any(map(find_list, match.group("one", "other")))
        ):
            return []
        return shared(f"{match['one']} and {match['other']}{match.groupdict().get('tail') or ''}")
    return _share(text) if _VERSUS.search(text) and not names_opponents(text) else []


def _related(one: str, other: str) -> list[str]:
    """Two compared relations: "trade between China and India", and "that between China and Japan" with its noun."""
    noun = one[: one.lower().index("between ")]
    start = other.lower().index("between ")
    return [one, f"{noun}{other[start:]}" if other[:start].strip().lower() in ("", "that") else other]


def asks_for_relation(text: str) -> bool:
    """Whether a comparison asks for the relation itself, without an attribute: "the difference between tin and zinc".

    Documents about both things may answer it, so that the whole text is searched, too.
    """
    return _RELATES.search(text) is not None


def names_opponents(text: str) -> bool:
    """Whether "versus" separates the opponents of a match, a trial or a battle: "Brown versus Board of Education"."""
    if not _VERSUS.search(text):
        return False
    listed = find_list(text)
    are_unlike = listed is not None and len({" of " in item for item in listed.items}) > 1
    return are_unlike or _MATCH.search(text) is not None


def shared(text: str) -> list[str]:
    """Splits "the price of gold and silver in 2020" at "and"; each part keeps the shared words."""
    return _share(text, _AND)


def _share(text: str, between: re.Pattern[str] = _BETWEEN_SIDES) -> list[str]:
    """The sides of a text, each with the shared words; empty if there is only one side."""
    sides, colon, attribute = text.partition(": ")
    if colon and not re.match(r"(?:who|what|which)\b", attribute, re.I):
        return [f"{side} {attribute}" for side in _share(sides)]
    joint = between.search(text)
    if joint is None or _SAYS.search(text[joint.end() :]):
        return []
    if listed := find_list(text):
        of = "of " if listed.link == "between" else ""
        return [f"{listed.before}{of}{item}{listed.after}" for item in listed.items]
    left, right = text[: joint.start()], text[joint.end() :]
    before = _BEFORE_ITEM.match(left)
    head = before[1] if before and not re.match(r"\w+ing\b", right) else ""
    end = _TAIL.search(right)
    right, tail = (right[: end.start()], right[end.start() :]) if end else (right, "")
    items = [*left[len(head) :].split(", "), *between.split(right)]
    *others, last = items
    noun = _shared_noun(others, last, has_head=bool(head))
    if noun is None:
        return []
    items = [*(f"{item} {noun}".strip() for item in others), last]
    return [f"{head}{item.removeprefix('both ')}{tail}" for item in items]


def _shared_noun(others: Sequence[str], last: str, *, has_head: bool) -> str | None:
    """The noun of "electric and diesel cars" that "electric" shares; empty if none, ``None`` if this is not clear.

    "Hand and foot disease" shares its noun, and "milk and dark chocolate" does not. Of "vitamin d and iron deficiency",
    either may be true.
    """
    first = others[0]
    word, _, noun = last.partition(" ")
    if re.fullmatch(_DESIGNATION, word) and re.search(rf" {_DESIGNATION}$", first):  # type 1 and 2 diabetes
        return None
    if any(" " in item for item in others):
        numbered = _NUMBERED.fullmatch(last)
        if numbered and all(re.fullmatch(rf"{numbered['word']} {_DESIGNATION}", item) for item in others):
            return numbered["noun"]
        return None if _OF_SUBSTANCES.search(last) and not _OF_SUBSTANCES.search(first) else ""
    if not noun:
        return ""
    if _DESCRIBES.search(first) or (first.endswith("ing") and word.endswith("ing")):  # buying or renting a house
        return noun
    attribute = noun.split(" ")[-1]
    if not has_head and names_attribute(attribute):  # lima vs bogota population
        return attribute
    return "" if is_plural(first) or word.lower() in _DETERMINERS else None

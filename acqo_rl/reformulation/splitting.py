"""Splits a question into its parts.

Each part is self-contained: it repeats the shared words (an attribute, a time, a place). A question without such parts
is not split. Names with an "and" are one thing. Things joined by a relation are not split either: the distance between
two cities is not a property of either one.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import partial

from acqo_rl.reformulation.attributes import attributes, quantities
from acqo_rl.reformulation.comparisons import compared
from acqo_rl.reformulation.follow_ups import asked_in_turn
from acqo_rl.reformulation.gapping import gapped
from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.reformulation.name_lists import AMPERSAND, SPACE, listed_names, listed_titles, listed_words, unmarked
from acqo_rl.reformulation.query_types import compares
from acqo_rl.reformulation.signals import (
    CODE,
    LONGEST,
    STRONG_REFERENCE,
    begins_to_ask,
    clauses,
    without_courtesy,
)
from acqo_rl.reformulation.type_words import spaced
from acqo_rl.reformulation.years import years_in
from acqo_rl.text import one_line

_MOST_WORDS = 45
_FEW_WORDS = 12
"""Maximum number of words of a text that may be a question even if it does not start like one."""

_AND_NAME = re.compile(r"(?<=\w) & (?:(?:the|a|an|of|de|la) )?(?=\w)")
"""Firms, titles and set phrases: "Marks & Spencer", "Salt & pepper"."""
_ENDS_A_NAME = re.compile(
    r"\b[A-Z][\w'-]*,? (?:and|&) (?:Associates|Beyond|Bros|Brothers|Co|Company|Daughters?|Family|Friends|Others"
    r"|Partners|Sisters|Sons?)\b"
)
"""Firms, bands and shows: "Bain and Company", "Mumford and Sons"."""
_BEGINS_A_NAME = re.compile(
    r"(?P<before>\b[a-z][\w'-]* )(?P<name>(?:At|By|For|From|In|Of|On|To|With)(?: [A-Z][\w'-]*)+ and [A-Z][\w'-]*)"
)
"""Titles: "Of Mice and Men"."""
_QUOTED = re.compile(r"""(?<!\w)(?:"[^"]+"|'[^']+'|\u201c[^\u201d]+\u201d)(?!\w)""")
_WH = r"(?:who|whom|whose|what|when|where|which|why|how)"
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|will|would|should|cannot|does|did|do"
    r"|(?:reduc|increas|improv|decreas|enhanc|promot|induc)e[sd]|(?:prevent|inhibit|impair|lower|affect|lead)s)\b"
)
_TWO_QUESTION_WORDS = re.compile(rf"^({_WH}),? and ({_WH}) (?P<rest>\w+ .+)$", re.I)
_AND_WHEN = re.compile(
    r"^(?P<all>who(?P<did> \w+) (?P<what>.+?)),? and (?P<word>when|where|why|how|in (?:what|which) \w+)$", re.I
)
_HOW_TWICE = re.compile(r"^how \w+ (?P<rest>(?:is|are|was|were) .+?),? and how \w+$", re.I)
_PARTICIPLES = {
    "wrote": "written", "built": "built", "made": "made", "sang": "sung", "drew": "drawn", "won": "won", "sold": "sold",
    "found": "found", "led": "led", "bought": "bought", "broke": "broken", "began": "begun",
}  # fmt: skip
_YEAR_LIST = re.compile(
    r"(?P<range>\b(?:between|from) )?(?P<before>\b(?:in|for|during|of) )?\d{4}(?:, (?:in )?\d{4})*,? "
    r"(?:and|or|vs\.?|versus|to|than|with|(?:compared?|in comparison) (?:to|with)) (?:(?:in|for|during) )?\d{4}\b",
    re.I,
)
_CHANGES = re.compile(r"\b(?:compar\w+|chang\w+|differ\w*|grew|grown|increas\w+|versus|vs)\b", re.I)
_COMPARING = re.compile(r"^(?:compare|contrast|how (?:do|does|did)) ", re.I)
_DANGLING = re.compile(r"^(?:and|or|of|than|vs|versus)\b|\b(?:and|or|the|an?|than|vs|versus|between)$", re.I)
_BOTH_ALONE = re.compile(r"\bboth\b(?!.* and )", re.I)
_FUNCTION = """
a an and are as at be between both by can compare compared did difference do does either for from had has have how i
in is it its list me more of on one or please same tell than that the their them there these they this those to too two
us was we were what when where which who whom whose why will with would you
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())


def parts_of(text: str, lexicon: Lexicon | None = None) -> tuple[str, ...]:
    """Returns the parts of a question, at least two; empty if it asks for one thing.

    The parts have no question mark, because small encoders find less with one.

    Args:
        text: a question.
        lexicon: names of the corpus; by default a list of common names.
    """
    plain = one_line(unicodedata.normalize("NFKC", html.unescape(text))).replace("\u2019", "'")
    whole = plain.rstrip(" ?!.,;:")
    if len(text) > LONGEST or CODE.search(text) or not _may_ask(whole, plain):
        return ()
    is_asked = re.search(r"\?|\bplease\b", plain, re.I) is not None or any(map(begins_to_ask, clauses(whole)))
    if not is_asked and _states(whole, plain):
        return ()
    asked = without_courtesy(whole)
    lexicon = lexicon or common_lexicon()
    marked = mark_names(asked, lexicon)
    names_what = is_asked and (asked != whole or asked.lower().startswith("the "))
    listed_attributes = partial(attributes, is_asked=names_what)
    of_names = partial(listed_names, lexicon=lexicon, is_asked=is_asked)
    for split in (
        _elliptic,
        gapped,
        asked_in_turn,
        _years,
        compared,
        _both_asked,
        listed_attributes,
        quantities,
        of_names,
        listed_words,
    ):
        parts = tuple(one_line(unmarked(part)).strip(" ,") for part in split(marked))
        if len({part.lower() for part in parts}) > 1 and all(map(_makes_sense, parts)):
            return parts
    return tuple(map(unmarked, listed_titles(marked, lexicon, is_asked)))


def _may_ask(asked: str, text: str) -> bool:
    """Whether the text may be a question; a long statement with an "and" is not."""
    words = len(asked.split())
    if words > _MOST_WORDS:
        return False
    return words <= _FEW_WORDS or bool(re.search(r"[?;]", text)) or any(map(begins_to_ask, clauses(asked)))


def _states(whole: str, text: str) -> bool:
    """Whether a text without a question is a statement: it has a verb, a full stop or a pronoun."""
    if re.search(rf"\b{_WH}\b", whole, re.I):
        return False
    ends = text.endswith(".") and text[:1].isupper() and not compares(spaced(whole))
    return ends or bool(_STATES.search(whole) or STRONG_REFERENCE.search(whole))


def mark_names(text: str, lexicon: Lexicon) -> str:
    """Marks names that contain an "and" or a title, so that each is one word; :func:`unmarked` removes the marks."""
    text = re.sub(r"(?<=\w) ?&(?=\w)|(?<=\w)& (?=\w)", lambda m: m[0].replace(" ", SPACE).replace("&", AMPERSAND), text)
    text = _QUOTED.sub(lambda m: m[0].replace(" ", SPACE), text)
    text = _ENDS_A_NAME.sub(lambda m: m[0].replace(" ", SPACE).replace("&", AMPERSAND), text)
    text = _BEGINS_A_NAME.sub(lambda m: m["before"] + m["name"].replace(" ", SPACE), text)
    if not _CHANGES.search(text) or re.search(r" (?:and|or|vs\.?|versus|with|to) ", text):
        text = _AND_NAME.sub(lambda m: m[0].replace(" ", SPACE).replace("&", AMPERSAND), text)
    return lexicon.mark_names(text, SPACE)


def _makes_sense(part: str) -> bool:
    words = re.findall(r"[\w'&]+", part.lower())
    says = any(not word.isdigit() and word not in _FUNCTION_WORDS for word in words)
    return says and not _DANGLING.search(part) and not _BOTH_ALONE.search(part)


def _elliptic(text: str) -> list[str]:
    """Completes both questions of "Who founded it and when" and "how long is it and how deep"."""
    if match := _HOW_TWICE.match(text):
        words = text.split(" ")
        return [f"how {words[1]} {match['rest']}", f"how {words[-1]} {match['rest']}"]
    match = _AND_WHEN.match(text)
    if match is None:
        return []
    verb = match["did"].strip().lower()
    done = _PARTICIPLES.get(verb, verb if verb.endswith("ed") else "")
    return [match["all"], f"{match['word']} was {match['what']} {done}"] if done else []


def _years(text: str) -> list[str]:
    """Repeats the text for each year of a list; a range is one period unless the question asks for changes."""
    match = _YEAR_LIST.search(text)
    if match is None:
        return []
    years = re.findall(r"\d{4}", match.group())
    if sorted(years) != sorted(map(str, years_in(text))):
        return []
    is_range = match["range"] or re.search(r"\d to ", match.group())
    if is_range and not _CHANGES.search(text):
        return []
    before, after = text[: match.start()], text[match.end() :]
    if "compare" in text.lower():
        before = _COMPARING.sub("", before)
    return [f"{before}{match['before'] or ('in ' if match['range'] else '')}{year}{after}" for year in years]


def _both_asked(text: str) -> list[str]:
    """Completes both questions of "when and where was Bolivar born"."""
    match = _TWO_QUESTION_WORDS.match(text)
    return [f"{word} {match['rest']}" for word in match.groups()[:2]] if match else []

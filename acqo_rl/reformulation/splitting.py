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
from acqo_rl.reformulation.comparisons import compared, is_contest
from acqo_rl.reformulation.follow_ups import asked_in_turn
from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.reformulation.query_types import compares
from acqo_rl.reformulation.relations import joins, joins_list, joins_next
from acqo_rl.reformulation.signals import (
    LONGEST,
    STRONG_REFERENCE,
    NameList,
    begins_to_ask,
    clauses,
    find_list,
    has_attribute,
    without_courtesy,
)
from acqo_rl.reformulation.type_words import spaced
from acqo_rl.reformulation.years import years_in
from acqo_rl.text import one_line

_MOST_WORDS = 45
_FEW_WORDS = 12
"""Maximum number of words of a text that may be a question even if it does not start like one."""

_SPACE, _AMPERSAND = "\u02cd", "\ua788"
"""Characters that replace spaces and "&" in marked names."""

_AND_NAME = re.compile(r"(?<=\w) & (?:(?:the|a|an|of|de|la) )?(?=[A-Z])")
_QUOTED = re.compile(r"""(?<!\w)(?:"[^"]+"|'[^']+'|\u201c[^\u201d]+\u201d)(?!\w)""")
_WH = r"(?:who|whom|whose|what|when|where|which|why|how)"
_ONE_THING = re.compile(
    r"^(?:when|where|what|who|why|how(?: \w+)?) (?:is|was|does|has) \|"
    r"|^who (?:plays|played|stars|starred|acts|acted|is|was) in (?:the \w+ )?\|$|^who (?:are|were) \|$"
    r"|\b(?:plot|cast|ending|lyrics|soundtrack|sequel|characters?|author|director) (?:of|to|from) (?:the \w+ )?\|$"
    r"|\| (?:come out|premiere|debut|air|end)$|^where do \| live$",
    re.I,
)
"""Context in which "X and Y" is one thing: a singular verb, or a question about a work, a show or a pair."""
_WHO_MADE = re.compile(
    r"^who (?:wrote|directed|painted|composed|sang|recorded|published|created)(?: the \w+)? \|$", re.I
)
"""Context in which "X and Y" is one work; a list of three names may equally be three works."""
_WORK = (
    r"(?:plot|cast|ending|lyrics|soundtrack|sequel|characters?|author|director|movie|film|book|novel|band|members?"
    r"|singers?|songs?|albums?|hits?|discography|trailer|series|show)"
)
_ONE_WORK = re.compile(
    rf"\b{_WORK} (?:(?:of|by|from|called) )?\|$|\b(?:watch|stream|read) \|$|^\| (?:the )?(?:[a-z]+ )?{_WORK}\b", re.I
)
"""Context in which "X, Y and Z" is one thing: a question about a work or a band."""
_GOES_ON = re.compile(r",? (?:and )?[^\W\d_a-z][\w']*(?:,|$)")
_HAS_BOTH = re.compile(
    r"^(?:who|which|what|how many)\b.* (?!(?:are|is|were|was|do|does|did|have|has|had|of|in|for|at|on|from|to|about"
    r"|with) )\w+ \|both$",
    re.I,
)
"""Context in which one subject has both things: "who speaks both"."""
_LIFE = re.compile(r"\b(?:born|die|discover|invent|write|marry|study|win|buried|compose|paint|found|grow up)\b", re.I)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|will|would|should|cannot|does|did|do"
    r"|(?:reduc|increas|improv|decreas|enhanc|promot|induc)e[sd]|(?:prevent|inhibit|impair|lower|affect|lead)s)\b"
)
_PLACE_BEFORE = re.compile(r"\b(?:of|in|for|at|from|to|on|near|about) (?:the )?$", re.I)
_PLACE_AFTER = re.compile(r"(?: \S+| (?:in|at|on|for|during|since|by|\d{4})\b.*)?$")
_NOUN_AFTER = re.compile(r"(?: (?!the\b|an?\b)[\w-]+){1,3}(?: (?:in|at|on|for|during|since|by|\d{4})\b.*)?$")
_TWO_QUESTION_WORDS = re.compile(rf"^({_WH}),? and ({_WH}) (?P<rest>\w+ .+)$", re.I)
_AND_WHEN = re.compile(r"^(?P<all>who(?P<did> \w+) (?P<what>.+?)),? and (?P<word>when|where|why|how)$", re.I)
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
_AUXILIARY = {"were": "was", "are": "is", "do": "does", "have": "has"}
_VERB_FIRST = re.compile(r"(?P<verb>are|were|is|was|do|did|does|have|has)\b(?:,? [a-z][\w-]*){0,4},? $", re.I)
_SAME = re.compile(
    r",? (?:both )?(?P<predicate>.*?)(?P<place>in|of|from|at|to|on|by|for)? ?the same (?P<noun>[a-z]+(?: [a-z]+)?)$",
    re.I,
)
_BOTH_ARE = re.compile(r" (?:both )?(?P<what>(?:[a-z-]+ ){0,2}[a-z]+[^s\W])s(?P<of>(?: (?:of|in|from) .+)?)$")
_RELATIVE = re.compile(r"\S (?:who|that|which|whom|whose) ", re.I)
_DANGLING = re.compile(r"^(?:and|or|of|than|vs|versus)\b|\b(?:and|or|the|an?|than|vs|versus|between)$", re.I)
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
    if len(text) > LONGEST or not _may_ask(whole, plain):
        return ()
    is_asked = "?" in plain or any(map(begins_to_ask, clauses(whole)))
    if not is_asked and _states(whole, plain):
        return ()
    asked = without_courtesy(whole)
    lexicon = lexicon or common_lexicon()
    marked = _mark_names(asked, lexicon)
    names_what = is_asked and (asked != whole or asked.lower().startswith("the "))
    listed_attributes = partial(attributes, is_asked=names_what)
    listed_names = partial(_listed_names, lexicon=lexicon, is_asked=is_asked)
    for split in (_elliptic, asked_in_turn, _years, compared, _both_asked, listed_attributes, quantities, listed_names):
        parts = tuple(one_line(_unmarked(part)).strip(" ,") for part in split(marked))
        if len({part.lower() for part in parts}) > 1 and all(map(_makes_sense, parts)):
            return parts
    return tuple(_listed_titles(asked, marked, lexicon, is_asked))


def _unmarked(part: str) -> str:
    return part.replace(_SPACE, " ").replace(_AMPERSAND, "&")


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


def _mark_names(text: str, lexicon: Lexicon) -> str:
    text = re.sub(
        r"(?<=\w) ?&(?=\w)|(?<=\w)& (?=\w)", lambda m: m[0].replace(" ", _SPACE).replace("&", _AMPERSAND), text
    )
    text = _QUOTED.sub(lambda m: m[0].replace(" ", _SPACE), text)
    if not _CHANGES.search(text) or re.search(r" (?:and|or|vs\.?|versus|with|to) ", text):
        text = _AND_NAME.sub(lambda m: m[0].replace(" ", _SPACE).replace("&", _AMPERSAND), text)
    return lexicon.mark_names(text, _SPACE)


def _makes_sense(part: str) -> bool:
    words = re.findall(r"[\w'&]+", part.lower())
    return any(not word.isdigit() and word not in _FUNCTION_WORDS for word in words) and not _DANGLING.search(part)


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


def _listed_names(text: str, lexicon: Lexicon, is_asked: bool) -> list[str]:
    """Repeats the text for each name of a list."""
    listed = find_list(text)
    if listed is None or listed.link == "between" or is_contest(text):
        return []
    are_titles = {_unmarked(item).lower() for item in listed.items} <= lexicon.titles
    if _GOES_ON.match(listed.after) or _HAS_BOTH.search(f"{listed.before}|{listed.link}"):
        return []
    if not are_titles and _is_one_thing(listed, text):
        return []
    if not (is_asked or (are_titles and not listed.after) or _asks_of_each(listed, text)):
        return []
    if _RELATIVE.search(listed.before) or joins_list(listed.before, listed.after):
        return []
    return [_with_one(listed.before, item, listed.after) for item in listed.items]


def _asks_of_each(listed: NameList, text: str) -> bool:
    """Whether a text without a question word requests something of each name: "population of Lima and Quito"."""
    if ":" in text:
        return True
    if not listed.before:
        is_phrase = has_attribute(listed.after) and _NOUN_AFTER.match(listed.after)
        return bool(is_phrase) or " and " not in text
    is_of_each = _PLACE_BEFORE.search(listed.before) or has_attribute(listed.before)
    return bool(is_of_each and _PLACE_AFTER.match(listed.after))


def _is_one_thing(listed: NameList, text: str) -> bool:
    """Whether a list is probably one name although the corpus does not have it: a work, a pair or a family."""
    first, *others = listed.items
    around = f"{listed.before}|{listed.after}"
    if " and " not in text:
        return False
    if len(others) > 1:
        is_title = first.startswith("The ") and bool(listed.before)
        return is_title or bool(_ONE_THING.search(around) or _ONE_WORK.search(around))
    is_family = len(others) == 1 and " " not in first and others[0].count(" ") == 1 and _LIFE.search(listed.after)
    return bool(is_family or _ONE_THING.search(around) or _WHO_MADE.search(around))


def _with_one(before: str, item: str, after: str) -> str:
    """The question about one item of the list: adapts the verb, and turns "the same" into a question."""
    verb, same = _VERB_FIRST.match(before), _SAME.match(after)
    if verb and same:
        if not same["place"]:
            return f"{same['noun']} of {item}"
        one = _AUXILIARY.get(verb["verb"].lower(), verb["verb"].lower())
        return f"Which {same['noun']} {one} {item} {same['predicate']}{same['place']}"
    if (kind := _BOTH_ARE.fullmatch(after)) and re.fullmatch(r"(?:are|were) (?:both )?", before, re.I):
        article = "an" if kind["what"][0] in "aeiou" else "a"
        after = f" {article} {re.sub('ie$', 'y', kind['what'])}{kind['of']}"
    after = re.sub(r"^(,?) (?:both|each|all)\b", r"\1", after)
    before = re.sub(
        r"\b(were|are|do|have) (?:both )?$", lambda m: f"{_like(_AUXILIARY[m[1].lower()], m[1])} ", before, flags=re.I
    )
    if not before:
        after = re.sub(r"^ (were|are|do|have)\b", lambda m: f" {_AUXILIARY[m[1]]}", after)
    return f"{before}{item}{after}"


def _like(word: str, model: str) -> str:
    return word.capitalize() if model[:1].isupper() else word


def _listed_titles(asked: str, marked: str, lexicon: Lexicon, is_asked: bool) -> list[str]:
    """Repeats the text for two things that are titles in the corpus: "population of oslo and bergen"."""
    match = re.search(r"^(?P<before>.*\b(?:of|in|for) )(?P<one>\S+(?: \S+){0,3}?) and (?P<rest>\S.*)$", marked, re.I)
    if match is None or asked != marked or joins_next(match["before"]) or joins(asked):
        return []
    words = match["rest"].split(" ")
    for length in range(min(4, len(words)), 0, -1):
        other, after = " ".join(words[:length]), " ".join(words[length:])
        if not is_asked and not _PLACE_AFTER.match(f" {after}".rstrip()):
            continue
        if {match["one"].lower(), other.lower()} <= lexicon.titles:
            return [f"{match['before']}{item} {after}".strip() for item in (match["one"], other)]
    return []

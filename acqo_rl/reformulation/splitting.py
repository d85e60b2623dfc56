"""What a question asks for, part by part.

A part makes sense by itself: it keeps what is asked of all (an attribute, a time, a place). A question without such
parts is left whole. Names that hold an "and" are one thing, and what a relation joins is not taken apart: the distance
between two cities is a property of neither.
"""

from __future__ import annotations

import re
from functools import partial

from acqo_rl.reformulation.comparisons import compared, is_contest, share
from acqo_rl.reformulation.follow_ups import asked_in_turn
from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.reformulation.signals import (
    LONGEST,
    NameList,
    begins_to_ask,
    clauses,
    find_list,
    items_of,
    without_courtesy,
)
from acqo_rl.reformulation.years import years_in
from acqo_rl.text import one_line

_MOST_WORDS = 45
_FEW_WORDS = 12
"""A text of at most so many words need not begin like a question to be one."""

_SPACE, _AMPERSAND = "\u02cd", "\ua788"
"""Letters that stand in marked names for a space and for "&"."""

_QUOTED = re.compile(r"""(?<!\w)(?:"[^"]+"|'[^']+'|\u201c[^\u201d]+\u201d)(?!\w)""")
_WH = r"(?:who|whom|whose|what|when|where|which|why|how)"
_RELATION_BEFORE = re.compile(
    r"\b(?:between|among|amongst|with|by|featuring|starring|via|besides|except|including|throughout|alongside|like|than"
    r"|(?:marriage|wedding|divorce|child(?:ren)?|sons?|daughters?|parents|forces|army|union|merger|merging|combination|mix|mixture"
    r"|blend|intersection|alliance|rivalry|friendship|partition|war|duel|duet|collaboration|relation(?:ship)?|connection"
    r"|link|distance|affair|ratio|product|sum) (?:of|from|for)) (?:both )?(?:the )?$",
    re.I,
)
_RELATION = re.compile(
    r"\b(?:marr(?:y|ied)|divorced?|met|meet|fought|fight|f[ae]ll in love|collaborat\w+|merged?|team(?:ed)? up|compete"
    r"|interact|related|connected|linked|separated|combined?|mixed?|in common|each other|one another|together|jointly"
    r"|mutual\w*|border each|share(?! the same))\b",
    re.I,
)
_PLAIN = (
    r"(?!(?:of|in|for|on|at|to|from|by|with|as|about|is|are|was|were|do|does|did|has|have|that|and|or|it|who|which|what"
    r"|how|when|where|than)\b)(?-i:[a-z][\w'-]*|[A-Z]{2,5}\b)"
)
_ATTRIBUTE = rf"(?:(?:the|its|a|an|some|any) )?(?:{_PLAIN} ){{0,3}}?{_PLAIN}"
_LISTED = rf"(?P<listed>{_ATTRIBUTE}(?:, {_ATTRIBUTE})*,? (?:and|as well as) (?:also )?{_ATTRIBUTE})"
_ASKING_NOUN = (
    r"(?:(?:about|(?:what|who)(?: is| are| was| were)|which (?:is|are|was|were)|explain|describe|list|give|show|name"
    r"|find|discuss|outline|summari[sz]e) )?(?:both )?"
)
_ATTRIBUTES = re.compile(rf"{_ASKING_NOUN}{_LISTED}(?P<of> (?:of|for|in|on|at|to|about) .+)", re.I)
_OWNED = re.compile(
    rf"{_ASKING_NOUN}(?P<owner>[\w .-]+'s?) {_LISTED}(?P<of>(?: (?:in|for|during|since|as of) .+)?)", re.I
)
_TWO_PHRASES = re.compile(
    rf"{_ASKING_NOUN}(?P<one>{_ATTRIBUTE} of (?:(?!and\b)[\w'.-]+ ?){{1,5}}?),? and (?P<other>{_ATTRIBUTE} of [^,]+)",
    re.I,
)
_COMPOUND = re.compile(
    r" of (?:birth|death|living|life|growth|origin|entry|residence|office|use|ownership|transport|war|interest)(?= of )"
)
_QUANTITY = re.compile(
    rf"{_ASKING_NOUN}(?P<what>(?:the )?(?:{_PLAIN} ){{0,2}}(?:populations?|areas?|capitals?|currenc(?:y|ies)|heights?"
    r"|lengths?|depths?|sizes?|weights?|mass|ages?|lifespans?|expectancy|prices?|costs?|salar(?:y|ies)|wages|rents?|calories"
    r"|protein|sugar|caffeine|temperatures?|climates?|weather|gdp|speeds?|densit(?:y|ies)|points?|symptoms|causes"
    r"|effects|treatments?|benefits|risks|definitions?|meanings?|origins?|uses)) (?P<of>of|in|for) "
    r"(?P<rest>.+ (?:and|or) .+)",
    re.I,
)
_UNLIKE = re.compile(
    r"\b(?:its|their|his|her|to|what|which|who|is|are|there|between)\b|^(?!the ).*(?:,|and) the ", re.I
)
_ONE_THING = re.compile(
    r"^(?:when|where|what|who|why|how(?: \w+)?) (?:is|was|does|has) \|"
    r"|^who (?:wrote|directed|painted|composed|sang|recorded|published)(?: the \w+)? \|$",
    re.I,
)
"""Around "X and Y" that is one thing: a verb in the singular, or a work whose author is asked for."""
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
_BOTH_ARE = re.compile(r" (?:both )?(?P<what>(?:[a-z-]+ ){0,2}[a-z]+[^s\W])s$")
_RELATIVE = re.compile(r"\S (?:who|that|which|whom|whose) ", re.I)
_DANGLING = re.compile(r"^(?:and|or|of|than|vs|versus)\b|\b(?:and|or|the|an?|than|vs|versus|between)$", re.I)
_FUNCTION = """
a an and are as at be between both by can compare compared did difference do does either for from had has have how i
in is it its list me more of on one or please same tell than that the their them there these they this those to too two
us was we were what when where which who whom whose why will with would you
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())


def parts_of(text: str, lexicon: Lexicon | None = None) -> tuple[str, ...]:
    """The questions or phrases that a text asks for, at least two; none where it asks for one thing.

    They end without a question mark: a small encoder finds less with one.

    Args:
        text: a question.
        lexicon: names of the corpus; by default those that are common anywhere.
    """
    whole = one_line(text).replace("\u2019", "'").rstrip(" ?!.,;:\uff1f")
    if len(text) > LONGEST or not _may_ask(whole, text):
        return ()
    asked = without_courtesy(whole)
    lexicon = lexicon or common_lexicon()
    marked = _mark_names(asked, lexicon)
    listed_names = partial(_listed_names, lexicon=lexicon)
    for split in (_elliptic, asked_in_turn, _years, compared, _attributes, _quantities, listed_names):
        parts = tuple(one_line(_unmarked(part)).strip(" ,") for part in split(marked))
        if len({part.lower() for part in parts}) > 1 and all(map(_makes_sense, parts)):
            return parts
    return tuple(_listed_titles(asked, marked, lexicon))


def _unmarked(part: str) -> str:
    return part.replace(_SPACE, " ").replace(_AMPERSAND, "&")


def _may_ask(asked: str, text: str) -> bool:
    """Whether the text may be a question; a long statement that joins things states them together."""
    words = len(asked.split())
    if words > _MOST_WORDS:
        return False
    return words <= _FEW_WORDS or bool(re.search(r"[?;]", text)) or any(map(begins_to_ask, clauses(asked)))


def _mark_names(text: str, lexicon: Lexicon) -> str:
    text = re.sub(r"(?<=\w)&(?=\w)", _AMPERSAND, text)
    text = _QUOTED.sub(lambda m: m[0].replace(" ", _SPACE), text)
    if not _CHANGES.search(text) or re.search(r" (?:and|or|vs\.?|versus|with|to) ", text):
        text = re.sub(r"(?<=\w) & (?=[A-Z])", f"{_SPACE}{_AMPERSAND}{_SPACE}", text)
    return lexicon.mark_names(text, _SPACE)


def _makes_sense(part: str) -> bool:
    words = re.findall(r"[\w'&]+", part.lower())
    return any(word not in _FUNCTION_WORDS for word in words) and not _DANGLING.search(part)


def _elliptic(text: str) -> list[str]:
    """Both questions in full: "Who founded it and when", "how long is it and how deep"."""
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
    """The text once for each year of a list; a range is one period unless it is asked what changed."""
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


def _attributes(text: str) -> list[str]:
    """Each attribute with what has it: "symptoms and causes of measles"."""
    if match := _TWO_QUESTION_WORDS.match(text):
        return [f"{match[1]} {match['rest']}", f"{match[2]} {match['rest']}"]
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    if match := _TWO_PHRASES.fullmatch(text):
        owner = " of ".join(["", match["other"].rpartition(" of ")[2]])  # date of birth and place of death of ...
        one = f"{match['one']}{owner}" if _COMPOUND.search(f"{match['one']} of ") else match["one"]
        return [_bare(one), _bare(match["other"])]
    if match := _ATTRIBUTES.fullmatch(text):
        *items, last = items_of(match["listed"].replace(" as well as ", " and "))
        compound = _COMPOUND.match(match["of"])  # cause of death
        of = match["of"][compound.end() :] if compound else match["of"]
        return [*(f"{_bare(item)}{of}" for item in items), f"{_bare(last)}{match['of']}"]
    if match := _OWNED.fullmatch(text):
        listed = items_of(match["listed"].replace(" as well as ", " and "))
        return [f"{match['owner']} {item}{match['of']}" for item in listed]
    return []


def _bare(phrase: str) -> str:
    return re.sub(r"^(?:the|its|an?|some|any|also) ", "", phrase.strip(), flags=re.I)


def _quantities(text: str) -> list[str]:
    """What is measured, for each thing that is: "lifespan of cats and dogs"."""
    match = _QUANTITY.fullmatch(text[:1].lower() + text[1:])
    if match is None or _RELATION.search(text) or _UNLIKE.search(match["rest"]):
        return []
    return share(f"{_bare(match['what'])} {match['of']} {match['rest']}")


def _listed_names(text: str, lexicon: Lexicon) -> list[str]:
    """The text once for each name of a list in it."""
    listed = find_list(text)
    if listed is None or listed.link == "between" or is_contest(text):
        return []
    if _is_one_thing(listed, text) and not {item.lower() for item in listed.items} <= lexicon.titles:
        return []
    around = f"{listed.before} {listed.after}"
    if _RELATION_BEFORE.search(listed.before) or _RELATIVE.search(listed.before) or _RELATION.search(around):
        return []
    return [_with_one(listed.before, item, listed.after) for item in listed.items]


def _is_one_thing(listed: NameList, text: str) -> bool:
    """Whether "X and Y" is taken for one name where no corpus says so."""
    is_pair = len(listed.items) == 2 and " and " in text
    return is_pair and bool(_ONE_THING.search(f"{listed.before}|{listed.after}"))


def _with_one(before: str, item: str, after: str) -> str:
    """The question about one of several: its verb agrees, and "the same" becomes a question."""
    verb, same = _VERB_FIRST.match(before), _SAME.match(after)
    if verb and same:
        if not same["place"]:
            return f"{same['noun']} of {item}"
        one = _AUXILIARY.get(verb["verb"].lower(), verb["verb"].lower())
        return f"Which {same['noun']} {one} {item} {same['predicate']}{same['place']}"
    if (kind := _BOTH_ARE.fullmatch(after)) and re.fullmatch(r"(?:are|were) (?:both )?", before, re.I):
        article = "an" if kind["what"][0] in "aeiou" else "a"
        after = f" {article} {re.sub('ie$', 'y', kind['what'])}"
    after = re.sub(r"^(,?) (?:both|each|all)\b", r"\1", after)
    before = re.sub(
        r"\b(were|are|do|have) (?:both )?$", lambda m: f"{_like(_AUXILIARY[m[1].lower()], m[1])} ", before, flags=re.I
    )
    if not before:
        after = re.sub(r"^ (were|are|do|have)\b", lambda m: f" {_AUXILIARY[m[1]]}", after)
    return f"{before}{item}{after}"


def _like(word: str, model: str) -> str:
    return word.capitalize() if model[:1].isupper() else word


def _listed_titles(asked: str, marked: str, lexicon: Lexicon) -> list[str]:
    """The text once for each of two things that the corpus has documents of: "population of oslo and bergen"."""
    match = re.search(r"^(?P<before>.*\b(?:of|in|for) )(?P<one>\S+(?: \S+){0,3}?) and (?P<rest>\S.*)$", marked, re.I)
    if match is None or asked != marked or _RELATION_BEFORE.search(match["before"]) or _RELATION.search(asked):
        return []
    words = match["rest"].split(" ")
    for length in range(min(4, len(words)), 0, -1):
        other, after = " ".join(words[:length]), " ".join(words[length:])
        if {match["one"].lower(), other.lower()} <= lexicon.titles:
            return [f"{match['before']}{item} {after}".strip() for item in (match["one"], other)]
    return []

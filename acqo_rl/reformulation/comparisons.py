"""Splits a comparison into one question or phrase per compared thing."""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import find_list, items_of, names_attribute

_POLITE = r"^(?:(?:explain|describe|list|summari[sz]e|discuss|about)\s)?"
_COMPARE = re.compile(
    rf"""{_POLITE}(?:
    (?:compare|contrast|comparing|contrasting|tell\ apart|(?:a\ )?comparison\ (?:of|between))(?:\ and\ contrast)?
    |(?:what(?:'?s|\ is|\ are|\ was|\ were)\ )?(?:the\ )?(?:(?:main|key|major|biggest|most\ important|exact)\ )?
        (?:differences?|similarit(?:y|ies)|distinctions?|contrasts?)(?:\ (?:and|or)\ (?:differences?|similarities))?
        (?:\ in\ (?P<attribute>[\w\ -]+?))?\ (?:between|of)
    )\ (?P<rest>.+)$""",
    re.I | re.X,
)
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
        r"(?:should|would|do|could) (?:i|we|you) (?:rather )?(?:\w+|go to|invest in|sign up for) "
        rf"(?P<one>{_ONE}) (?:or|over) (?P<other>.+)",
        rf"(?P<one>{_ONE}) or (?P<other>{_ONE} (?:for|as|in|to|when) .+)",
    )
]
_VERSUS = re.compile(r"\S,? (?:vs\.?|versus) \S", re.I)
_MATCH = re.compile(
    r"\b(?:scores?|match|game|final|semi-?final|fight|bout|won|wins?|beat|tickets?|kick-?off|line-?ups?|odds|lyrics|court|"
    r"case|lawsuit|ruling|trial|battle|war|results?|highlights|head to head|derby|playoffs?|cup|league|season|stream|"
    r"live|predictions?|movie|film|episode)\b",
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

_COMPARATIVE = (
    r"(?P<more>(?:more|less) (?!than\b)[a-z-]+|worse"
    r"|(?!(?:either|neither|number|water|paper|other|another|under|over|ever|never)\b)[a-z]{2,}er)\b"
)
_BE = r"(?P<be>is|are|was|were)"
_WHICH = r"(?:who|which|what)(?: (?!(?:is|are|was|were)\b)[\w'-]+){0,4}"
_BY = r"(?P<by>(?: (?:by|in|for|at|on|to|of|than) [^,:]+?)?)"
_WHICH_IS = [
    re.compile(f"^{shape}$", re.I)
    for shape in (
        rf"{_WHICH} {_BE} {_COMPARATIVE}{_BY}[,:] (?P<items>[^:]+?,? or [^,:]+)",
        rf"{_WHICH} {_BE} {_COMPARATIVE}{_BY} (?P<items>(?-i:[A-Z])[^,:]*? or (?-i:[A-Z])[^,:]+)",
        rf"(?P<items>[^:]+?,? (?:or|and|vs\.?|versus) [^,:]+)[,:] {_WHICH} {_BE} {_COMPARATIVE}(?P<by>.*)",
        rf"{_BE} (?P<items>[^,:]+ or [^,:]+?) {_COMPARATIVE}(?P<by>.*)",
        rf"{_BE} (?P<one>[^,:]+?)(?: (?:really|actually|much|far|any|still|a lot))? {_COMPARATIVE}{_BY} "
        r"than (?P<other>[^,:]+?)(?P<tail>(?: (?:for|in|by|as|when) .+)?)",
    )
]
_WHICH_DOES = re.compile(r"^(?P<asked>(?:who|which|what)\b[^:]+?)[,:] (?P<items>[^:]+?,? or [^,:]+)$", re.I)
_MOST_WORDS = 7
_WHICH_DOES_BEHIND = re.compile(
    r"^(?P<items>[^:]+?,? (?:or|vs\.?|versus) [^,:]+)[,:] (?P<asked>(?:who|which|what)\b[^:]+)$", re.I
)
_DOES_MORE = re.compile(
    rf"^(?P<do>do|does|did) (?P<one>.+?) (?P<verb>[a-z]+) {_COMPARATIVE}(?P<what>(?: [a-z-]+){{0,3}}?) "
    r"than (?P<other>.+?)(?P<tail>(?: (?:in|on|for|during|at) .+)?)$",
    re.I,
)
_BETTER_TO = re.compile(
    rf"^(?:is it|which is|what is|would it be) {_COMPARATIVE} to (?P<one>\w+) or (?:to )?(?P<other>\w+) (?P<what>.+)$",
    re.I,
)
_PREDICATE = re.compile(
    r"\b(?:whose|will|would|should|could|died|has|have|had|is|was|are|were|does|did|can|came|won|made|began|got|took|went|ran|sold|costs?|wrote|became|"
    r"lived|lives|contains|uses|offers|needs|lasts|weighs|grows|[a-z]{3,}ed)\b"
)
_ENDS_IN_E = (
    "large wide late safe nice rare dense close wise fine simple strange brave pure loose huge gentle little able cute"
)
_POSITIVE = {
    **{"better": "good", "worse": "bad", "elder": "old", "further": "far", "farther": "far"},
    **{f"{adjective}r": adjective for adjective in _ENDS_IN_E.split()},
}


def compared(text: str) -> list[str]:
    """Returns one part per compared thing; empty if the text is not a comparison.

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
    """
    return _which_is(text) or _does_more(text) or _which_does(text) or _sides(text)


def _does_more(text: str) -> list[str]:
    """Splits "Do cats live longer than dogs" (how long each lives) and "is it cheaper to rent or buy a flat"."""
    if match := _BETTER_TO.match(text):
        return [f"{match['one']} {match['what']}", f"{match['other']} {match['what']}"]
    match = _DOES_MORE.match(text)
    if match is None:
        return []
    more = match["more"].lower()
    is_amount = more.startswith(("more ", "less ")) and not more.endswith("ly")
    how = f"much {more.split(' ')[1]}" if is_amount else _positive(more)
    asked = f"How {how}{match['what']} {match['do'].lower()}"
    return [f"{asked} {item} {match['verb']}{match['tail']}" for item in (match["one"], match["other"])]


def _which_is(text: str) -> list[str]:
    """Splits "Which is longer, the Nile or the Amazon" into the length of each."""
    match = next((m for pattern in _WHICH_IS if (m := pattern.match(text))), None)
    if match is None:
        return []
    found = match.groupdict()
    items = [found["one"], found["other"]] if found.get("one") else items_of(_bare(found["items"]))
    asked = f"How {_positive(found['more'])} {found['be'].lower()}"
    if re.match(r"(?:in|at|on|for|by|during) ", items[1]):  # more common in Peru than in Chad
        return [f"{asked} {items[0]}{found['by']}", f"{asked} {items[0]} {items[1]}"]
    return [f"{asked} {item}{found['by'] or ''}{found.get('tail') or ''}" for item in items]


def _which_does(text: str) -> list[str]:
    """Splits "Which ship sank first, the Vasa or the Titanic" into "the Vasa sank first" and the same for the other."""
    if match := _WHICH_DOES.match(text) or _WHICH_DOES_BEHIND.match(text):
        asked, items = match["asked"], items_of(_bare(match["items"]))
    else:
        listed = find_list(text)
        is_choice = listed and not listed.after and text.endswith(f" or {listed.items[-1]}")
        if not listed or not is_choice or not re.match(r"(?:who|which|what)\b", text, re.I):
            return []
        asked, items = listed.before.strip(), list(listed.items)
    verb = _PREDICATE.search(asked)
    if verb is None or max(len(item.split()) for item in items) > _MOST_WORDS:
        return []
    does = asked[verb.start() :]
    if owned := re.match(r"whose (\w+) (.+)", does):
        return [f"{owned[1]} of {item} {owned[2]}" for item in items]
    return [f"{item} {does}" for item in items]


def _sides(text: str) -> list[str]:
    """Splits "compare X and Y", "X compared to Y", "X vs Y" and similar forms."""
    if match := _COMPARE.match(text):
        head = f"{match['attribute']} of " if match["attribute"] else ""
        return [f"{head}{side}" for side in _share(match["rest"])]
    if match := next((m for pattern in _SIDES if (m := pattern.match(text))), None):
        return shared(f"{match['one']} and {match['other']}{match.groupdict().get('tail') or ''}")
    return _share(text) if _VERSUS.search(text) and not is_contest(text) else []


def is_contest(text: str) -> bool:
    """Whether "versus" separates the opponents of a match, a trial or a battle."""
    return bool(_VERSUS.search(text) and _MATCH.search(text))


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
    first, last = items[0], items[-1].split(" ", 1)
    if len(items) == 2 and " " not in first and len(last) == 2:
        if _DESCRIBES.search(first):
            items[0] = f"{first} {last[1]}"  # electric and diesel cars
        elif not head and names_attribute(attribute := last[1].split(" ")[-1]):
            items[0] = f"{first} {attribute}"  # lima vs bogota population
    return [f"{head}{item.removeprefix('both ')}{tail}" for item in items]


def _bare(listed: str) -> str:
    return re.sub(r"^(?:between|both|either) ", "", listed.strip(), flags=re.I)


def _positive(comparative: str) -> str:
    """The positive form of a comparative: "large" for "larger", "expensive" for "more expensive"."""
    word = comparative.lower()
    if word.startswith(("more ", "less ")):
        return word.split(" ", 1)[1]
    if word in _POSITIVE:
        return _POSITIVE[word]
    if word.endswith("ier"):
        return f"{word[:-3]}y"
    stem = word[:-2]
    return stem[:-1] if stem[-1] == stem[-2:-1] and stem[-1] not in "lsz" else stem

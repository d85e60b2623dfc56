"""Splits a question that chooses between things: "Which is longer, the Nile or the Amazon?".

A part must make sense without the other thing: "the Nile is longer" does not, "how long the Nile is" does. After "how"
and "when", the verb stays as it was asked ("how many people Kenya has"), so that no verb form must be derived.
"""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import PARTICIPLE, find_list, is_plural, items_of

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
        rf"{_BE} (?!it\b)(?P<items>[^,:]+ or [^,:]+?) {_COMPARATIVE}(?! .*\bthan\b){_BY}",
        rf"{_BE} (?P<one>[^,:]+?)(?: (?:really|actually|much|far|any|still|a lot))? {_COMPARATIVE}{_BY} "
        r"than (?P<other>[^,:]+?)(?P<tail>(?: (?:for|in|by|as|when) .+)?)",
    )
]
_WHICH_DOES = [
    re.compile(r"^(?P<asked>(?:who|which|what)\b[^:]+?)[,:] (?P<items>[^:]+?,? or [^,:]+)$", re.I),
    re.compile(r"^(?P<items>[^:]+?,? (?:or|vs\.?|versus) [^,:]+)[,:] (?P<asked>(?:who|which|what)\b[^:]+)$", re.I),
]
_WHICH_OF_NAMES = re.compile(
    r"(?:[Ww]ho|[Ww]hich)(?: (?!(?:with|of|in|for|at|on|from|to|by)\b|\w+ed\b)[a-z'-]+){0,3},? "
)
_EITHER_FIRST = re.compile(
    rf"^(?P<be>was|were) (?P<items>[^,:]+? or [^,:]+?) (?P<done>(?:{PARTICIPLE})(?: [^,:]+)?) (?:first|earlier|later)$",
    re.I,
)
_WHETHER = re.compile(
    r"^(?:whether(?: or not)?|if) (?P<items>(?!or\b)[^,:]+? or (?!not\b)[^,:]+?) "
    r"(?P<does>(?:is|are|was|were|has|have|had|does|did|can|came|died|lived|weighs?|costs?|[a-z]{2,}[^e\W]ed)\b[^,:]*)$",
    re.I,
)
_MOST_WORDS = 7
_NUMBER = (
    r"\d|(?:one|two|three|four|five|ten|half|any|all|ever|usual|before|an? (?:minute|hour|day|week|month|year|decade"
    r"|century|dozen|hundred|thousand|million|billion|quarter|third|few|couple))\b"
)
_DOES_MORE = re.compile(
    rf"^(?P<do>do|does|did) (?P<one>.+?) (?P<verb>[a-z]+) (?:{_COMPARATIVE}(?P<what>(?: [a-z-]+){{0,3}}?)"
    rf"|(?P<much>more|less)) than (?P<other>(?!{_NUMBER}).+?)(?P<tail>(?: (?:in|on|for|during|at) .+)?)$",
    re.I,
)
_NO_ARTICLE = r"(?!(?:the|an?|both|either) )\S+"
_EITHER_DOES_MORE = [
    re.compile(
        rf"^(?P<one>(?:do|does|did) {item}) or (?P<other>{item}) "
        rf"(?P<does>[a-z]+ (?:{_COMPARATIVE}|more|less)(?: (?!than\b)[a-z-]+){{0,3}})$",
        re.I,
    )
    for item in (
        r"(?:the|an?) \S+",
        _NO_ARTICLE,
        rf"{_NO_ARTICLE} \S+",
    )  # "the minority or majority party" shares a noun
]
_BETTER_TO = re.compile(
    rf"^(?:is it|which is|what is|would it be) {_COMPARATIVE} to (?P<one>\w+) or (?:to )?(?P<other>\w+) (?P<what>.+)$",
    re.I,
)
_ADVERB = (
    r"better|worse|longer|shorter|faster|slower|higher|lower|farther|further|deeper|closer|nearer|harder|louder|older"
    r"|taller|larger|bigger|smaller|wider|brighter|hotter|colder|stronger|heavier|cheaper|healthier"
)
_SOONER = r"(?:first|last|earlier|later|sooner|more recently|(?:before|after) the other(?: one)?)"
_IN = r"(?:in|at|on|for|per|during|since|by|from|to|with|as)"
_PREDICATE = re.compile(
    r"\b(?:whose|will|would|should|could|died|has|have|had|is|was|are|were|does|did|can|came|won|made|began|got|took"
    r"|went|ran|sold|costs?|wrote|became|lived|lives|contains|uses|offers|needs|lasts|weighs|grows|[a-z]{2,}[^e\W]ed"
    rf"|(?!(?:{_IN}|of|and|or|the|any|even|much)\b)[a-z]+"
    rf"(?= (?:{_IN} )?(?:more|less|fewer|{_ADVERB}|{_SOONER})\b))\b"
)
_AMOUNT = re.compile(rf"(?P<does>.+?) (?:more|less|fewer)(?: (?P<what>(?!{_IN}\b).+?))?(?P<rest>(?: {_IN} .+)?)$", re.I)
_DEGREE = re.compile(rf"(?P<does>\w+(?: \w+){{0,2}}) (?P<more>{_ADVERB})(?P<rest>(?: {_IN} .+)?)$", re.I)
_TIME = re.compile(rf"(?P<does>.+?),? {_SOONER}(?P<rest>(?: {_IN} .+)?)$", re.I)
_FIRST_DONE = re.compile(r"(?P<be>was|were|is|are|has been|have been) first (?P<done>\w+(?:ed|n|t)\b.*)$", re.I)
_THAN_OTHER = re.compile(r" than the other(?: one)?\b", re.I)
_OWNED = re.compile(
    r"(?:whose (?P<what>\w+)|(?:has|have|had) the (?P<role>\w+) (?:who |that |(?=died|born|was|is)))"
    r" ?(?P<does>[a-z]+\b.*)",
    re.I,
)
"""What is asked of something that belongs to each item: "which film has the director who died first"."""
_PLACES = re.compile(
    r"(?:is|are|was|were|be|been|c[ao]mes?|go|goes|went|finish(?:es|ed)?|rank(?:s|ed)?|placed?)$", re.I
)
"""Verbs that state a rank with "first": "which came first" does not ask when something came."""
_SEEMS = re.compile(r"(?:look|taste|smell|sound|feel|seem|appear|become|get|grow|stay|remain|is|are|was|were)s?$", re.I)
_ADVERBIAL = re.compile(r"(?:\w+ly|often)\b", re.I)
_CONTEST = re.compile(
    r"(?:(?:would|will|could|should|is going to) )?(?:wins?|won|los(?:es?|t)|prevail(?:s|ed)?|triumph(?:s|ed)?"
    r"|came out on top|got the better of it)"
    r"(?:$| (?:in|at|on|by|against|if|when|that|this|their|it)\b| (?:the|a) .*\b(?:final|semi-?final|match|game|fight"
    r"|bout|duel|race|election|primary|primaries|debate|battle|war|derby|series|case|lawsuit|argument|contest)\b)"
    r"|(?:is|are|was|were) (?:it|right|wrong|correct|real|true|the (?:one|winner|answer))$",
    re.I,
)
"""What is true of only one item, so that a text about it names both: "Who won the final", "Which is correct"."""
_THAT_OF = re.compile(r"(?:that|those) (?P<of>(?:of|in|for|from) .+)", re.I)
_OF_OWNER = re.compile(r"(?:the )?(?P<noun>[^']+?) (?:of|in|for|from) .+|.+'s? (?P<owned>[a-z].*)", re.I)
_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do"}
_ENDS_IN_E = (
    "large wide late safe nice rare dense close wise fine simple strange brave pure loose huge gentle little able cute"
)
_POSITIVE = {
    **{"better": "good", "worse": "bad", "elder": "old", "further": "far", "farther": "far"},
    **{f"{adjective}r": adjective for adjective in _ENDS_IN_E.split()},
}
_WELL = {"better": "well", "worse": "badly"}


def chosen_from(text: str) -> list[str]:
    """Returns one part per thing that a question chooses from; empty for other texts.

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
    """
    if match := _WHETHER.match(text):
        text = f"which {match['does']}, {match['items']}"
    return _either_first(text) or _which_is(text) or _does_more(text) or _which_does(text)


def _either_first(text: str) -> list[str]:
    """Splits "Was Haydn or Mozart born first" into the time of each."""
    match = _EITHER_FIRST.match(text)
    return [f"when {item} {match['be'].lower()} {match['done']}" for item in _items(match["items"])] if match else []


def _which_is(text: str) -> list[str]:
    """Splits "Which is longer, the Nile or the Amazon" into the length of each."""
    match = next((m for pattern in _WHICH_IS if (m := pattern.match(text))), None)
    if match is None:
        return []
    found = match.groupdict()
    if (found.get("other") or "").lower() in ("that", "those"):  # than those in Chile
        found |= {"other": f"{found['other']}{found['tail']}", "tail": ""}
    items = _with_noun(found["one"], found["other"]) if found.get("one") else _items(found["items"])
    asked, be = f"How {_positive(found['more'])}", found["be"].lower()
    if re.match(r"(?:in|at|on|for|by|during) ", items[1]):  # more common in Peru than in Chad
        return [f"{asked} {be} {items[0]}{found['by']}", f"{asked} {be} {items[0]} {items[1]}"]
    return [f"{asked} {_agreeing(be, item)} {item}{found['by'] or ''}{found.get('tail') or ''}" for item in items]


def _with_noun(one: str, other: str) -> list[str]:
    """Both things; "that of Chile" after "the population of Peru" or "Peru's population" gets the noun."""
    that = _THAT_OF.fullmatch(other)
    owned = _OF_OWNER.fullmatch(one)
    if that is None or owned is None:
        return [one, other]
    return [one, f"the {owned['noun'] or owned['owned']} {that['of']}"]


def _does_more(text: str) -> list[str]:
    """Splits "Do cats live longer than dogs" (how long each lives) and "is it cheaper to rent or buy a flat"."""
    if match := _BETTER_TO.match(text):
        return [f"{match['one']} {match['what']}", f"{match['other']} {match['what']}"]
    if match := next((m for pattern in _EITHER_DOES_MORE if (m := pattern.match(text))), None):
        text = f"{match['one']} {match['does']} than {match['other']}"
    match = _DOES_MORE.match(text)
    if match is None:
        return []
    what = match["what"] or ""
    if match["much"]:
        how = "much"
    elif re.match(r"(?:more|less) ", match["more"], re.I) and not _describes(match["verb"], match["more"][5:]):
        how = _amount(f"{match['more'][5:]}{what}")
        what = ""
    else:
        how = _positive(match["more"])
    return [
        f"How {how}{what} {match['do'].lower()} {item} {match['verb']}{match['tail']}"
        for item in _with_noun(match["one"], match["other"])
    ]


def _which_does(text: str) -> list[str]:
    """Splits "Which ship sank first, the Vasa or the Titanic" into the time when each sank."""
    is_set_apart = True
    if match := next((m for pattern in _WHICH_DOES if (m := pattern.match(text))), None):
        asked, items = match["asked"], _items(match["items"])
    else:
        listed = find_list(text)
        if not listed or listed.conjunction != "or":
            return []
        is_set_apart = bool(listed.after) or listed.before.endswith((", ", ": "))
        if listed.after and not _WHICH_OF_NAMES.fullmatch(listed.before):
            return []
        asked, items = f"{listed.before.strip(' ,')}{listed.after}", list(listed.items)
    if not re.match(r"(?:who|which|what)\b", asked, re.I) or max(len(item.split()) for item in items) > _MOST_WORDS:
        return []
    verb = _PREDICATE.search(asked, asked.index(" ") if " " in asked else len(asked))
    if verb is None or " to " in asked[: verb.start()]:
        return []
    is_choice = is_set_apart and not re.match("what", asked, re.I)  # the items may be an object: who wrote Emma or Dune
    return _of_each(asked[verb.start() :], items, is_choice=is_choice)


def _of_each(does: str, items: list[str], *, is_choice: bool) -> list[str]:
    """What a predicate says of each item: an amount, a degree, a time, or else the predicate as it is.

    Args:
        does: what is said of the chosen item, such as "has more people".
        items: the items.
        is_choice: whether a predicate without a comparison may be said of each item.
    """
    does = _THAN_OTHER.sub("", does)
    if owned := _OWNED.match(does):
        be = "was " if owned["does"].startswith("born") else ""
        of_items = [f"the {owned['what'] or owned['role']} of {item}" for item in items]
        return _of_each(f"{be}{owned['does']}", of_items, is_choice=is_choice)
    if match := _FIRST_DONE.match(does):
        return [f"when {item} {_agreeing(match['be'], item)} {match['done']}" for item in items]
    if match := _TIME.match(does):
        if _PLACES.match(match["does"]):
            return []
        return [f"when {item} {_agreeing(match['does'], item)}{match['rest']}" for item in items]
    if match := _DEGREE.match(does):
        how = _WELL.get(match["more"].lower(), _positive(match["more"]))
    elif match := _AMOUNT.match(does):
        what = match["what"] or ""
        how = what if _describes(match["does"], what) else _amount(what)
    else:
        are_separate = is_choice and not _CONTEST.match(does)
        return [f"{item} {_agreeing(does, item)}" for item in items] if are_separate else []
    return [f"how {how} {item} {_agreeing(match['does'], item)}{match['rest']}" for item in items]


def _describes(verb: str, what: str) -> bool:
    """Whether the words after "more" are an adverb or adjective, and not a noun: "more often", "tastes more sweet"."""
    return bool(_ADVERBIAL.match(what) or (what and _SEEMS.fullmatch(verb)))


def _amount(what: str) -> str:
    """The words for an amount: "many people", "much sugar", and "much" if nothing is counted."""
    noun = re.split(r" of ", what)[0]
    return f"{'many' if is_plural(noun) else 'much'} {what}".strip()


def _agreeing(predicate: str, item: str) -> str:
    """The predicate with its verb in the plural if the item is a plural noun: "apples have"."""
    last = item.split()[-1]
    if not last.islower() or not is_plural(last) or " of " in item or re.match(r"an? ", item, re.I):
        return predicate
    verb, space, rest = predicate.partition(" ")
    plural = _PLURAL.get(verb) or (verb[:-1] if re.search(r"[^s]s$", verb) else verb)
    return f"{plural}{space}{rest}"


def _items(listed: str) -> list[str]:
    """The items, without a word for all of them: "two singers Adele and Duffy"."""
    bare = re.sub(r"^(?:between|both|either) ", "", listed.strip(), flags=re.I)
    names = find_list(bare)
    if names and names.before.islower() and not names.after and not names.before.startswith(("the ", "a ", "an ")):
        return list(names.items)
    return items_of(bare)


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

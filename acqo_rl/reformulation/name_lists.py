"""Splits a question about a list of names: one question for each name.

"Brighton and Hove" may be two towns or one. A pair is split only if the corpus has both names as titles, or if the
wording shows two things: "both", a plural verb ("when were"), a plural that each thing has once ("capitals of"), or an
article or preposition before each name. Otherwise it is not split: on questions of Wikipedia, searching the halves of
such pairs finds less than the raw query. The same holds for "or", because "Sink or Swim" is a title. There, a measure
in the singular shows two things, too: "the population of Oslo or Bergen".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from acqo_rl.reformulation.comparisons import names_opponents
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.relations import joins, joins_list, joins_next
from acqo_rl.reformulation.signals import (
    MEASURED,
    ONE_EACH,
    PARTICIPLE,
    NameList,
    find_list,
    has_attribute,
    is_of,
    is_plural,
    items_of,
)

SPACE, AMPERSAND = "\u02cd", "\ua788"
"""Characters that replace spaces and "&" in marked names."""

_ONE_THING = re.compile(
    r"^(?:when|where|what|who|why|how(?: \w+)?) (?:is|was|does|has) \|"
    r"|^who (?:plays|played|stars|starred|acts|acted|is|was) in (?:the \w+ )?\|$|^who (?:are|were) \|$"
    r"|\b(?:plot|cast|ending|lyrics|soundtrack|sequel|characters?|author|director) (?:of|to|from) (?:the \w+ )?\|$"
    r"|\| (?:come out|premiere|debut|air|end)$|^where do \| live$|\b(?:more|fewer|less) \|",
    re.I,
)
"""Context in which "X and Y" is one thing: a singular verb, a comparison, or a question about a work, show or pair."""
_WORK = (
    r"(?:plot|cast|ending|lyrics|soundtrack|sequel|characters?|author|director|movie|film|book|novel|band|members?"
    r"|singers?|songs?|albums?|hits?|discography|trailer|series|show)"
)
_ONE_WORK = re.compile(
    rf"\b{_WORK} (?:(?:of|by|from|called) )?\|$|\b(?:watch|stream|read) \|$|^\| (?:the )?(?:[a-z]+ )?{_WORK}\b", re.I
)
"""Context in which "X, Y and Z" is one thing: a question about a work or a band."""
_CONTENT = (
    r"(?:actors|actresses|bosses|chapters|characters|duets|episodes|heroes|jokes|levels|lines|monologues|monsters|motifs"
    r"|numbers|quotes|roles|scenes|songs|stunts|symbols|themes|tracks|villains|weapons)"
)
"""What works consist of: "characters in Angels and Demons"."""
_OF_BOTH = re.compile(
    r"^(?:which|what)(?: (?!(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must)\b)"
    r"[\w'-]+){2,}$|^(?:who|which|what|how many)\b.* (?!(?:are|is|were|was|do|does|did|have|has|had|of|in|for|at|on"
    r"|from|to|about|with) )\w+ both$",
    re.I,
)
"""Context in which one subject has all the things: "which film stars", "who speaks both"."""
_CHOICE = re.compile(r"(?:who|which|what)\b.*\w, $", re.I)
_CHOICE_AFTER = re.compile(r"[:,] (?:who|which)\b", re.I)
_GOES_ON = re.compile(r",? (?:and )?[^\W\d_a-z][\w']*(?:,|$)")
_LIFE = re.compile(r"\b(?:born|die|discover|invent|write|marry|study|win|buried|compose|paint|found|grow up)\b", re.I)
_PLURAL_VERB = re.compile(
    r"\b(?:are|were|do|have)(?: (?!(?:of|in|at|for|from|by|to|on|about|near|with) (?:the )?$)[a-z]+){0,3} (?:the )?$",
    re.I,
)
_PLURAL_VERB_AFTER = re.compile(r" (?:are|were|do|have)\b")
_SUBJECT = re.compile(r"\b(?:did|can|could|will|would|should|may|might|must) (?:the )?$", re.I)
_VERB_AFTER = re.compile(r" (?:(?:are|were|do|have|did|had|can|could|will|would|may|might)\b|[a-z]+ed\b)")
_EACH_AFTER = re.compile(r",? (?:both|each|all|respectively)\b")
_OF_EACH = re.compile(
    r"^(?:(?:what|who|which) (?:are|were) )?(?:the )?(?:[\w'-]+ ){0,3}?(?P<what>[\w-]+) "
    r"(?P<of>of|for|from|to|in|at|near|on|about)(?P<more>(?: [\w-]+){0,5}) $",
    re.I,
)
_PLACED = frozenset(("in", "near"))
_OFTEN_SEVERAL = frozenset(("location", "name", "price", "salary", "size"))
"""Attributes of which a firm or a band may have several."""
_THING_AFTER = re.compile(r" (?!(?:always|sometimes)\b)(?P<noun>[a-z]+)\b")
_PLACE_BEFORE = re.compile(r"\b(?:of|in|for|at|from|to|on|near|about) (?:the )?$", re.I)
_PLACE_AFTER = re.compile(r"(?: \S+| (?:in|at|on|for|during|since|by|\d{4})\b.*)?$")
_NOUN_AFTER = re.compile(r"(?: (?!the\b|an?\b)[\w-]+){1,3}(?: (?:in|at|on|for|during|since|by|\d{4})\b.*)?$")
_AUXILIARY = {"were": "was", "are": "is", "do": "does", "have": "has"}
_VERB_FIRST = re.compile(
    r"(?P<verb>are|were|is|was|do|did|does|have|has)\b(?:(?P<of> (?:the )?[a-z-]+ of)|(?:,? [a-z][\w-]*){0,4},?) $",
    re.I,
)
_BOTH_KINDS = re.compile(r"\bboth (?:the )?[a-z]+s[:,]? $", re.I)
"""A common noun for the listed names: "both films"."""
_SAME = re.compile(
    r",? (?:both )?(?P<predicate>.*?)(?P<place>in|of|from|at|to|on|by|for)? ?the same (?P<noun>[a-z]+(?: [a-z]+)?)$",
    re.I,
)
_BOTH_ARE = re.compile(r" (?:both )?(?P<what>(?:[a-z-]+ ){0,2}[a-z]+[^s\W])s(?P<of>(?: (?:of|in|from) .+)?)$")
_RELATIVE = re.compile(r"\S (?:who|that|which|whom|whose) ", re.I)
_WORD = (
    r"(?!(?:the|an?|it|they|we|you|i|he|she|this|that|these|those|my|your|our|his|her|their|its|all|both|some|any)\b)"
    r"[a-z][\w'-]*"
)
_ITEM = rf"{_WORD}(?: {_WORD})?"
_BOTH_DONE = re.compile(
    r"(?P<word>(?:[Ww]he(?:n|re)|[Ww]hy|[Ii]n (?:what|which) \w+)) (?P<verb>are|were) "
    rf"(?P<one>{_WORD}) and (?P<other>{_WORD}) (?P<done>(?:{PARTICIPLE})(?: .+)?)$"
)
_THREE_OF = re.compile(
    r"(?P<before>(?:(?:what|who|which) (?:are|were) )?(?:the )?(?:[a-z][\w-]* ){0,2}?(?P<what>[a-z][\w-]*) "
    r"(?:of|in|for|from|to|at)) "
    rf"(?P<items>{_ITEM}(?:, {_ITEM})+,? and {_ITEM}?)(?P<after>(?: (?:in|on|since|during) .+)?)$"
)


_TITLE_WORDS = 6
_TWO_TITLES = re.compile(
    r"(?P<before>.*\b(?:of|in|for) |who (?:wrote|painted|composed|directed|invented|founded|built|created|designed) )"
    r"(?P<one>\S+(?: \S+){0,3}?) and (?:(?:of|in|for) )?(?P<rest>\S.*)$",
    re.I,
)


def unmarked(text: str) -> str:
    """The text without the marks inside names."""
    return text.replace(SPACE, " ").replace(AMPERSAND, "&")


def listed_names(text: str, lexicon: Lexicon, is_asked: bool) -> list[str]:
    """Repeats a text for each name of its list; empty if it has no list, or a list that may be one thing.

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
        lexicon: names of the corpus.
        is_asked: whether the text is known to be a question or a request.
    """
    listed = find_list(text)
    if listed is None or listed.link == "between" or names_opponents(text):
        return []
    before, after = listed.before, listed.after
    if (
        _CHOICE.match(before)
        or _CHOICE_AFTER.match(after)
        or listed.items[0].startswith(SPACE)  # a title with a colon
        or _GOES_ON.match(after)
        or _OF_BOTH.match(f"{before}{listed.link}".strip())
    ):
        return []
    are_titles = _are_titles(map(unmarked, listed.items), before, lexicon)
    if not are_titles and not _are_several(listed, text):
        return []
    if not (is_asked or (are_titles and not after) or _asks_of_each(listed, text)):
        return []
    if _RELATIVE.search(before) or joins_list(before, after):
        return []
    return [_with_one(before, item, after) for item in listed.items]


def listed_titles(text: str, lexicon: Lexicon, is_asked: bool) -> list[str]:
    """Repeats a text for two things that are titles of the corpus, in any case: "population of oslo and bergen"."""
    match = _TWO_TITLES.match(text)
    if match is None or joins_next(match["before"]) or joins(text) or _OF_BOTH.match(match["before"].strip()):
        return []
    words = match["rest"].split(" ")
    for length in range(min(_TITLE_WORDS, len(words)), 0, -1):
        other, after = " ".join(words[:length]), " ".join(words[length:])
        if not is_asked and not _PLACE_AFTER.match(f" {after}".rstrip()):
            continue
        if _are_titles(map(unmarked, (match["one"], other)), match["before"], lexicon):
            return [f"{match['before']}{item} {after}".strip() for item in (match["one"], other)]
    return []


def listed_words(text: str) -> list[str]:
    """Repeats a text for each of several things in lower case: "leaders of france, germany and italy".

    Args:
        text: on one line, without closing punctuation; names with "and" are marked as one word.
    """
    if joins(text):
        return []
    if (match := _BOTH_DONE.match(text)) and match["one"] != match["other"]:
        verb, done = match["verb"], match["done"]
        return [
            f"{match['word']} {verb if is_plural(item) else _AUXILIARY[verb]} {item} {done}"
            for item in (match["one"], match["other"])
        ]
    match = _THREE_OF.match(text)
    if match is None or not (is_plural(match["what"]) or has_attribute(match["what"])):
        return []
    *items, last = items_of(match["items"])
    if len(last.split()) > max(len(item.split()) for item in items):  # hand, foot and mouth disease
        return []
    return [f"{match['before']} {item}{match['after']}" for item in (*items, last)]


def _are_titles(items: Iterable[str], before: str, lexicon: Lexicon) -> bool:
    """Whether all items are titles; after an attribute, a title needs no article: "height of K2 and the Matterhorn"."""
    article = "the " if has_attribute(before) else ""
    names = [item.lower() for item in items]
    return all(name in lexicon.titles or name.removeprefix(article) in lexicon.titles for name in names)


def _asks_of_each(listed: NameList, text: str) -> bool:
    """Whether a text without a question word requests something of each name: "population of Lima and Quito"."""
    if ":" in text:
        return True
    if not listed.before:
        is_phrase = has_attribute(listed.after) and _NOUN_AFTER.match(listed.after)
        return bool(is_phrase) or listed.conjunction != "and"
    is_of_each = _PLACE_BEFORE.search(listed.before) or has_attribute(listed.before)
    return bool(is_of_each and _PLACE_AFTER.match(listed.after))


def _are_several(listed: NameList, text: str) -> bool:
    """Whether the wording shows that a list is not one name: a firm, a place, a work, a pair or a family."""
    first, *_, last = listed.items
    around = f"{listed.before}|{listed.after}"
    if listed.conjunction not in ("and", "or"):
        return True
    if len(listed.items) > 2:
        is_title = first.startswith("The ") and bool(listed.before)
        is_subject = _SUBJECT.search(listed.before) or (not listed.before and _VERB_AFTER.match(listed.after))
        return not (is_title or is_subject or _ONE_THING.search(around) or _ONE_WORK.search(around))
    if listed.link or _EACH_AFTER.match(listed.after):
        return True
    if _SAME.match(listed.after):
        return listed.conjunction == "and"
    if any(mark in item for item in listed.items for mark in (SPACE, AMPERSAND)):
        return True
    if (
        " " not in first.removeprefix("the ") and " " in last and is_plural(last.split()[-1])
    ):  # the Southern and Northern Dynasties
        return False
    if _ONE_THING.search(around) or last.endswith("'s") or (last.startswith("the ") and not _has_article(listed)):
        return False
    return (
        _has_article(listed)
        or bool(re.search(rf"\b(\w+) {re.escape(first)},? and \1 {re.escape(last)}", text))
        or ":" in listed.before
        or _has_plural_verb(listed)
        or _is_of_each(listed)
        or (listed.conjunction == "or" and _are_alternatives(listed, text))
    )


def _are_alternatives(listed: NameList, text: str) -> bool:
    """Whether names with "or" are alternatives: each is measured, or both are kinds of one thing."""
    first, *_, last = (item.split() for item in listed.items)
    if len(first) > 1 < len(last) and (first[0] == last[0] or first[-1] == last[-1]):
        return True
    is_measured = any(is_of(word, MEASURED) for word in re.findall(r"\w+", listed.before.lower()))
    return is_measured and _PLACE_BEFORE.search(listed.before) is not None and f", or {listed.items[-1]}" not in text


def _has_article(listed: NameList) -> bool:
    """Whether both names have an article: "the Prado and the Louvre", in contrast to "Florence and the Machine"."""
    first, *_, last = listed.items
    return last.startswith("the ") and (first.startswith("the ") or listed.before.endswith("the "))


def _has_plural_verb(listed: NameList) -> bool:
    """Whether the names are the subject of a plural verb, and not part of its subject: "where are X and Y shops"."""
    if not _PLURAL_VERB.search(listed.before):
        return _PLURAL_VERB_AFTER.match(listed.after) is not None
    first, *_, last = listed.items
    if " " not in first and last.count(" ") == 1 and _LIFE.search(listed.after):
        return False  # when were Wilbur and Orville Wright born
    thing = _THING_AFTER.match(listed.after)
    is_noun = thing is not None and is_plural(thing["noun"])
    return not (is_noun and re.match(r"(?:wh|how)", listed.before, re.I))


def _is_of_each(listed: NameList) -> bool:
    """Whether the text requests a plural that each name has once, or things in two places."""
    if not listed.before:
        words = listed.after.split()
        return bool(words) and is_plural(words[-1]) and is_of(words[-1], ONE_EACH)
    match = _OF_EACH.match(listed.before)
    if match is None or not is_plural(match["what"]) or not _PLACE_AFTER.match(listed.after):
        return False
    if is_of(match["what"], ONE_EACH) and not is_of(match["what"], _OFTEN_SEVERAL):
        return True
    *_, place = listed.before.split()
    return place in _PLACED and not re.fullmatch(_CONTENT, match["what"], re.I)


def _with_one(before: str, item: str, after: str) -> str:
    """The question about one item of the list: adapts the verb, and turns "the same" into a question."""
    before = _BOTH_KINDS.sub("", before)
    verb, same = _VERB_FIRST.match(before), _SAME.match(after)
    if verb and same:
        if not same["place"]:
            return f"{same['noun']} of {item}"
        do = verb["verb"].lower()
        one = f"{do}{verb['of']}" if verb["of"] else _AUXILIARY.get(do, do)
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

"""Surface features of questions for rules and classifier: names, lists, clauses and references.

Words are matched at word boundaries ("android" does not contain "and"). An ambiguous name counts only if the question
contains nothing else ("apple pie recipe" is about fruit).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from acqo_rl.types import Turn

LONGEST = 1_000
"""Maximum number of characters; the rules are slow on longer texts, which are rarely questions."""

_LOWER = "a-z" + "".join(filter(str.islower, map(chr, range(0x80, 0x530))))
"""Lower-case letters of the Latin, Greek and Cyrillic alphabets; names in other scripts cannot be found by case."""
NAME_WORD = rf"(?:[a-z]{{1,2}}(?=[A-Z]))?[^\W\d_{_LOWER}](?:\.(?=\s)|[\w'\u2019-]*(?:\.[\w'\u2019-]+)*)"
"""A capitalised word or an initial, without the full stop of a sentence."""
_PARTICLE = r"(?:van|von|vom|zu|der|den|ter|de|la|le|du|del|della|da|di|dos|das|do|bin|bint|ibn|al|el|ben|af|av)"
_NAME = rf"{NAME_WORD}(?:\s+(?:(?:{_PARTICLE}\s+){{0,2}}|v\.\s+){NAME_WORD})*"
_CAPITALISED = re.compile(rf"\b{_NAME}")
NAME_PHRASE = (
    rf"(?:the\s+)?{_NAME}(?:\s+of(?:\s+the)?\s+{_NAME})*(?:\s+(?!(?:1[5-9]|20)\d\d\b)\d[\w.]*)?(?:\s\([^()]*\))?"
)
"""A name with its article and its parts: "the University of Bologna", "Windows 95", "Mercury (planet)"."""
_LIST = re.compile(
    rf"\b((?:between\s+|both\s+|either\s+)?){NAME_PHRASE}(?:\s*,\s*{NAME_PHRASE})*\s*,?\s*"
    rf"(?P<conjunction>\band\b|\bor\b|\bvs\b\.?|\bversus\b|&)\s*(?:(?:in|of|for|at)\s+)?{NAME_PHRASE}"
)
HAN = r"\u4e00-\u9fff"
_HAN_WORDS = re.compile(rf"[{HAN}]{{2}}")
_ASK = (
    r"(?:who(?:se|m)?|what|when|where|which|why|how|is|are|was|were|do|does|did|can|tell|give|list|name"
    r"|wer|was|wann|wo|welche[mnrs]?|warum|wie|qui[e\u00e9]n(?:es)?|qu\u00e9|cu[a\u00e1]ndo|d[o\u00f3]nde|c[o\u00f3]mo"
    r"|cu[a\u00e1]nt[oa]s?|cu[a\u00e1]l(?:es)?|por\s+qu\u00e9|wieso|wem|wen|quand|o\u00f9|quel(?:le)?s?|combien|comment|pourquoi|qui)\b"
)
_BEFORE_ASK = r"(?:in|at|to|from|by|for|on|with|ab|an|auf|zu|mit|von|seit|a|de|en|por|con|\u00e0|par|pour|avec)"
_NEXT_NEED = re.compile(
    rf"\s*(?:[?;\uff1f\uff1b]|,?\s+(?:and|plus|und|y|et)\s+(?:also\s+|auch\s+|tambi\u00e9n\s+)?(?=(?:{_BEFORE_ASK}\s+)?{_ASK}))\s*",
    re.I,
)
SQL = re.compile(
    r"""\s*(?:select\b.+\bfrom\s+\S+(?:\s+\w+)?\s*(?:$|[;,)]|\b(?:where|join|inner|left|group|order|limit)\b)
    |insert\s+into\s+\w+\s*[(]|update\s+\S+\s+set\b.+=|delete\s+from\s+\w+\s*(?:$|;|where\b)|create\s+table\s+\w+\s*[(])""",
    re.I | re.X,
)
"""An SQL statement; it is searched as the raw query."""
CODE = re.compile(  # x = 1; x=[1]; f(x); }
    r"[\w\])](?:\s(?:[-+*/%|&^:]|<<|>>)?={1,3}\s|=(?=[\d\"'\[{(]))[^;\n]{1,80};|\w\([^()\n]{0,80}\)\s?;|;\s*\}"
)
"""Statements of a programming language, which are not the parts of a question."""
REFERENCE = re.compile(
    r"\b(?:it|its|it's|they|their|them|he|she|his|her|him|this|that|these|those|there|one|former|latter|same|"
    r"what about|how about)\b",
    re.I,
)
STRONG_REFERENCE = re.compile(r"\b(?:it|its|they|their|them|he|she|his|her|him|there)\b", re.I)
"""Words that almost always refer to a thing, place or person mentioned before."""
_BARE = re.compile(
    r"\s*(?:(?:(?:can|could) you |please )*(?:tell me (?:more )?about|wh(?:at|o)(?:'?s| is| are| was| were)"
    r"|define|explain|describe|look up|about)\s+)?(?:the\s+|an?\s+)?(.*?\w)[\s?!.]*$",
    re.I,
)
_REQUEST = re.compile(
    r"(?:(?:please|hi|hello|hey|ok|okay|so|and|also|first),? )*(?:wh(?:o|om|ose|at|en|ere|ich|y|ether)|how|is|are|was"
    r"|were|do|does|did|can|could|should|would|will|has|have|had|tell|give|show|list|name|explain|describe|compare|find"
    r"|contrast|discuss|i|help|summari[sz]e|outline|look|(?:in|at|on|for|to|from|by) wh(?:ich|at|om))(?:'?s|'d)?\b",
    re.I,
)
_COURTESY = re.compile(
    r"(?:(?:(?:hi|hello|hey)(?: there)?[,!.]?|(?:please|kindly),?|ok(?:ay)?,?|so,?"
    r"|(?:can|could|would|will) (?:you|someone|anyone)(?: please| kindly)?(?= (?:please )?(?:tell|show|give|explain"
    r"|compare|describe|list|help|find|look|summari|let|name|say|provide))|do you know|let me|help me(?: to)?"
    r"|i(?:(?:'m| am| was) (?:just )?(?:wondering|curious|trying to)| wonder)"
    r"(?: if (?:you|someone) (?:could|can|would))?,?"
    r"|i(?:'d| would) (?:like|love) to|i (?:want|need|have) to|(?:for|in) my (?:\w+ )?\w+,|find out|figure out|know"
    r"|understand|learn|(?:tell|show|give) me|explain to me)\s+)+",
    re.I,
)
_THANKS = re.compile(
    r",? (?:please|(?:many )?thanks|thank you|thx)(?: (?:so much|a lot|in advance|very much))?\W*$", re.I
)
_WHAT_IS = re.compile(r"^(what|who|where|when|which|how)'?s ", re.I)
_OF_A_KIND = re.compile(
    rf"\b(?:an?|two|three|four|five|six|several|many|some|\d+)\s+{NAME_WORD}"
    r"(?=\s(?!(?:and|or|in|on|at|of|for|from|with|by|to|is|are|was|were|has|have|that|which|who)\b)[a-z])"
)
_OPENERS = """
a also although among an and are at because besides between both but can compare comparing contrast could describe
despite did discuss do does either explain find for give had has have how however i if in is it list name no of on or
outline please s should show since so summarize tell the their then there they this though to u was we well were what
when where which while who whose why would yes you
"""
_ORDERS = re.compile(
    r"(?:^|(?<=[.?!:]\s))\w+(?=(?:-(?:moi|nous|me|nos))? (?:mir|uns|me|moi|mij|nos)\b|-(?:moi|nous|me|nos)\b"
    r"|(?<=[aei]m[ei]) (?:de|del|sobre|acerca|algo|el|la|los|las|di|della|qualcosa|su)\b"
    r"| (?:the|an?|your|my|our|their|its|it|them|you|\d+%?)\s)"
)
"""The first word of a request: "Erz\u00e4hl mir von", "Parle-moi de", "H\u00e1blame de", "Increase the"."""
_STARTERS = frozenset(_OPENERS.split())
_OPENS = re.compile(rf"(?:{'|'.join(_STARTERS)}|(?:it|that|there|here|let)['\u2019]s)(?!\S)", re.I)
_OPENING = re.compile(rf"^\w+['\u2019]?\w*\s+(?:{_PARTICLE}\s+)*")
_NO_NAMES = """
absolutely according additionally after all another any anything anyway apparently around as awesome based basically
before by certainly cheers correct currently definitely delighted during each even everything exactly excellent feel
few finally fine first from further furthermore generally glad good great happy he hello her here hi his hopefully i'd
i'll i'm instead interesting it's let like lots make many meanwhile more moreover most my nobody not note noted
nothing oh ok okay once one other our overall perfect pleasure really regularly roughly second see several she some
something sorry still such sure thank thanks that therefore these those thus today under understood unfortunately
until use using usually we're welcome will with wonderful wow your
january february march april may june july august september october november december monday tuesday wednesday
thursday friday saturday sunday
"""
_NO_NAME = _STARTERS | frozenset(_NO_NAMES.split())
"""Words that are not names even if they are capitalised."""

QUANTITIES = frozenset(
    """
    age area benefit caffeine calorie capital cause climate cost currency definition density depth effect expectancy gdp
    height length lifespan mass meaning origin point population price protein rent risk salary size speed sugar symptom
    temperature treatment use wage weather weight
    """.split()  # noqa: SIM905
)
"""Attributes (in the singular) that all kinds of things have, so that a question may ask for them of several things."""
ONE_EACH = frozenset(
    """
    age altitude anthem area birthday birthplace budget capacity capital circumference climate currency density depth
    diameter economy elevation expectancy flag gdp height language latitude length lifespan location longitude mass
    mayor motto name nationality point population president price salary size speed temperature weight width wingspan
    """.split()  # noqa: SIM905
)
"""Attributes that a thing has once, so that their plural asks for them of several things: "the mayors of"."""
MEASURED = (QUANTITIES | ONE_EACH) - {"definition", "meaning", "motto", "name", "origin"}
"""Attributes of things, but not of words or works: names that share one are not a title or an expression."""
_ATTRIBUTES = (
    QUANTITIES
    | ONE_EACH
    | frozenset(
        """
    address advantage anatomy architecture atmosphere author cast characteristic code color colour complication composer
    composition consequence coordinate creator cuisine culture danger date diagnosis diet director disadvantage division
    dosage dose drawback duration ending etymology fee founder function genre geography government habitat headquarters
    history inflation ingredient inventor life limitation lyrics minister nutrition occupation outcome owner performance
    place plot prevention prognosis pronunciation property publisher purpose range rate rating reason recipe religion
    requirement result revenue score shape sign spelling spouse storage strength structure summary theme time timeline
    transmission type unemployment velocity weakness winner year
    """.split()  # noqa: SIM905
    )
)
_IRREGULAR_PLURALS = frozenset(
    "children cattle feet geese men mice people police sheep species teeth women".split()  # noqa: SIM905
)


PARTICIPLE = (
    r"[a-z]+ed|born|built|bought|brought|caught|cut|drawn|fought|found|given|grown|held|hidden|kept|known|laid|led|lost"
    r"|made|paid|seen|sent|set|shot|shown|sold|spoken|spent|stolen|sung|taken|taught|thrown|won|worn|written"
)


@dataclass(frozen=True, slots=True)
class NameList:
    """A list of names in a text.

    Attributes:
        before: the text before the list.
        link: ``between``, ``both`` or ``either`` before the first name; otherwise empty.
        items: the names.
        after: the text after the list.
        conjunction: the word or sign before the last name: ``and``, ``or``, ``vs``, ``versus`` or ``&``.
    """

    before: str
    link: str
    items: tuple[str, ...]
    after: str
    conjunction: str


def newest_first(history: Sequence[Turn]) -> list[str]:
    """The texts of the turns, newest first."""
    return [turn.text for turn in reversed(history)]


def user_turns_first(history: Sequence[Turn]) -> list[str]:
    """The texts of the turns: the user's newest first, then the assistant's newest first."""
    return [turn.text for speaker in ("user", "assistant") for turn in reversed(history) if turn.speaker == speaker]


def last_said(turns: Iterable[str], spans: Callable[[str], Sequence[str]]) -> list[str]:
    """The distinct spans of the turns, in the order of the turns; within a turn, the last span comes first."""
    return list(dict.fromkeys(span for turn in turns for span in reversed(spans(turn))))


def names(text: str) -> list[str]:
    """Capitalised spans in order, without single words that often start a sentence."""
    text = _ORDERS.sub(lambda match: match[0].lower(), text)
    spans = (match.group().strip(" .") for match in _CAPITALISED.finditer(text))
    opened = (_OPENING.sub("", s) if _OPENS.match(s) else s for s in spans)
    bare = (re.sub(r"(?<!\b[Ii]t)['\u2019]s$", "", s) for s in opened)
    return [s for s in bare if s and s.lower().replace("\u2019", "'") not in _NO_NAME]


def names_of_own(text: str) -> list[str]:
    """The names in a text, without those that only describe a noun ("two Nobel prizes") if there are others."""
    return names(_OF_A_KIND.sub("", text)) or names(text)


def refers_to_itself(text: str) -> bool:
    """Whether a question refers to a name in its own first part: "Where is Oslo and who is its mayor?"."""
    first, _, later = text.partition(" and ")
    return bool(names(first)) and not REFERENCE.search(first) and STRONG_REFERENCE.search(later) is not None


def bare_name(text: str) -> str:
    """The text without question words and articles, in lower case: "mercury" for "What is Mercury?"."""
    match = _BARE.match(text)
    name = match[1].lower() if match else ""
    return "" if name in _STARTERS else name


def without_courtesy(text: str) -> str:
    """The question without polite phrases such as "could you please tell me" and "thanks"."""
    core = _THANKS.sub("", text)
    match = _COURTESY.match(core)
    return _WHAT_IS.sub(r"\1 is ", core[match.end() :] if match else core)


def begins_to_ask(text: str) -> bool:
    """Whether a text starts like a question or a request."""
    return _REQUEST.match(text) is not None


def without_shorter_forms(spans: Iterable[str]) -> list[str]:
    """The names in order, without repetitions; of "Picasso" and "Pablo Picasso" only the longer one."""
    kept: list[str] = []
    for span in spans:
        same = [other for other in kept if is_form(span, other)]
        longest = max([*same, span], key=lambda one: len(one.split()))
        kept = list(dict.fromkeys(longest if other in same else other for other in kept))
        kept = kept if same else [*kept, span]
    return kept


def is_form(name: str, other: str) -> bool:
    """Whether one name contains the words of the other: "Pablo Picasso" and "Pablo Ruiz Picasso"."""
    shorter, longer = sorted((name.casefold().split(), other.casefold().split()), key=len)
    rest = iter(longer)
    return all(word in rest for word in shorter)


def clauses(text: str) -> list[str]:
    """Splits a text into its questions; drops single words, except those of two or more Chinese characters."""
    parts = (part.strip(" ,.") for part in _NEXT_NEED.split(text))
    return [part for part in parts if len(part.split()) > 1 or _HAN_WORDS.search(part)]


def find_list(text: str) -> NameList | None:
    """Finds the first list of names; the capitalised first word of a sentence does not start one."""
    opener, space, rest = text.partition(" ")
    is_noun = rest.startswith("of ") and opener.lower() not in rest.lower()
    match = _LIST.search(f"{opener.lower()}{space}{rest}" if is_noun or opener.lower() in _STARTERS else text)
    if match is None:
        return None
    link, listed = match[1].strip().lower(), text[match.end(1) : match.end()]
    before, items = text[: match.start()], items_of(listed)
    head, of, first = items[0].rpartition(" of ")
    if head.split(" ")[-1].isupper():  # the GDP of France and Germany
        before, items = f"{before}{head}{of}", [first, *items[1:]]
    return NameList(before, link, tuple(items), text[match.end() :], match["conjunction"].lower().rstrip("."))


def items_of(listed: str) -> list[str]:
    """Splits a list such as "Lima, Quito or Bogota"."""
    found = re.split(r"\s*,?\s*(?:\b(?:and|or|vs|versus)\b\.?|&)\s*(?:(?:in|of|for|at)\s+)?|\s*,\s*", listed.strip())
    return [item for item in found if item]


def names_attribute(phrase: str) -> bool:
    """Whether the last word of a phrase, and no other word, is an attribute: "boiling point", not "price index"."""
    *before, last = phrase.lower().split()
    return is_of(last, _ATTRIBUTES) and not any(is_of(word, _ATTRIBUTES) for word in before)


def has_attribute(text: str) -> bool:
    """Whether any word of a text is an attribute."""
    return any(is_of(word, _ATTRIBUTES) for word in re.findall(r"\w+", text.lower()))


def is_plural(word: str) -> bool:
    """Whether a noun has the form of a plural."""
    return word.lower() in _IRREGULAR_PLURALS or bool(re.search(r"(?<![su])(?<![snrtlx]i)s$", word, re.I))


def is_of(word: str, nouns: frozenset[str]) -> bool:
    """Whether a word is one of the nouns, in the singular or plural."""
    singular = word.lower()
    forms = (singular, singular[:-1], singular[:-2], f"{singular[:-3]}y", f"{singular[:-2]}is")
    return forms[0] in nouns or (singular.endswith("s") and any(form in nouns for form in forms))

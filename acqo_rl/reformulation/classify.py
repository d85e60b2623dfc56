"""What kind of question it is: its type (S3-24), its route (S0-16), and the challenges it poses (S4-09).

Rules of words at word boundaries ("prefix" holds no "fix"), in English, German, Spanish, French and Chinese. They cost
no model call; :mod:`acqo_rl.reformulation.model_classifier` asks a model where that is wanted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from acqo_rl.reformulation.signals import LONGEST, REFERENCE, YEAR, clauses, find_list, readings
from acqo_rl.reformulation.type_words import (
    ASKED,
    CHOOSING,
    COMPARISON,
    EITHER,
    FACTS,
    FAULTS,
    NO_CHOICE,
    NO_FAULT,
    NO_SYMPTOM,
    OWN,
    REASONS,
    STEPS,
    SYMPTOMS,
    TASKS,
    WHOSE,
    WHY,
    WHY_I,
    spaced,
)
from acqo_rl.text import one_line
from acqo_rl.types import Challenge, Query, QueryType, Route


@dataclass(frozen=True, slots=True)
class Classification:
    """What a classifier says of one query.

    Attributes:
        query_type: chooses the strategy.
        route: whether to pass, disambiguate or decompose.
        challenges: what makes it hard; ``("simple",)`` where nothing does. Several at once are usual.
        calls: completions that were asked for.
        tokens: that a language model wrote.
        problem: why the rules answered though a model was asked; ``None`` otherwise.
    """

    query_type: QueryType
    route: Route
    challenges: tuple[Challenge, ...]
    calls: int = 0
    tokens: int = 0
    problem: str | None = None


_NAME_OF_ERROR = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception|BackOff)\b|\b(?:HTTP|status|code)(?: code)? [45]\d\d\b|\b[A-Z]+_[A-Z_]{3,}\b|#N/A|#{4,}"
)
_COMPARATIVE = re.compile(
    r"""[ ]than[ ](?!\d)|[ ]as[ ](?!soon|well|far|long|much|possible)\w+[ ](?:[\w-]+[ ]){0,3}as[ ]
    |[ ](?:choose|prefer|pick|benefits[ ]of|advantages[ ]of)[ ](?:\S+[ ]){1,4}over[ ]
    |[ ]sets?[ ](?:\S+[ ]){1,4}apart[ ]
    |[ ]which[ ](?:\w+[ ])?(?:is|are)[ ](?:\w+er|more|less|worse)[ ]
    |[ ]\w+er[ ]als[ ]|[ ](?:plus|moins|aussi)[ ]\w+[ ]qu[e'][ ]|[ ](?:más|menos|tan)[ ](?:\w+[ ])?(?:que|como)[ ]
    |比\w{1,10}(?:高|大|长|快|好|多|贵|便宜|重|远|强)|[和与跟]\w+哪\w?(?:更|个|种|家)""",
    re.X,
)
_HAPPENS = re.compile(
    r"""[ ](?:when|while|after)[ ](?:\w+ing|upgrading)[ ]
    |(?<!\^)[ ](?:breaks|burns|buzzes|curdles|dies|drips|drops|exits|freezes|grinds|hangs|jams|lags|leaks|loses|prints
        |sinks|skips|slips|smells|splits|stalls|sticks|throws|tears|beeps|reboots|restarts|returns|shakes|wilts)
        [ ](?:a|after|all|and|at|blank|during|empty|every|from|immediately|in|into|it|my|nothing|null|off|on|out|over|the
        |under|when|while|with|\w+s|\#\S+)[ ]
    |(?<!\^)[ ](?:accepts|appears|asks|becomes|closes|comes|connects|deletes|does|feels|gets|gives|goes|ignores|keeps
        |loads|looks|makes|needs|opens|remains|runs|says|seems|sends|shows|sounds|spins|starts|stays|takes|tastes|turns)
        [ ](?:a|all|as|at|away|bad|cold|down|for|forever|hot|in|into|it|itself|like|loud|me|my|no|nothing|off|on|only|out
        |over|slow|the|three|two|up|very|weird|wet|wrong|empty|password|\w+ly|\w+ing)[ ]
    |[ ]\w+s[ ](?:me|my|itself|nothing|over|to[ ]the[ ](?:left|right|ground)|double)[ ]
    |[ ]no[ ](?:me[ ]|se[ ]|le[ ])?\w+(?=[ ].*[ ](?:el|la|los|las|mi|en|al|del)[ ])|[ ](?:la|el|mi)[ ].*[ ]no[ ]\w
    |[ ](?:n'|ne)[ ]\w+[ ](?:pas|plus)[ ]""",
    re.X,
)
"""What a thing does that it should not: a verb with what surrounds it, for "drops" alone may be a noun."""
_STEPS = re.compile(
    r"""[ ]how[ ]2[ ]|[ ]wie[ ]\w+[ ](?:ich|man|wir|du)[ ]|[ ]c[oó]mo[ ](?!es[ ]|se[ ]llam|muri|está)\w+
    |[ ]comment[ ](?:est-ce[ ]que?[ ]|est-ce[ ]qu'[ ])?(?:on|je|nous|puis-je|peut-on|\w+(?:er|ir|re))[ ]""",
    re.X,
)
_EXPLAINED = re.compile(
    r"""[ ]how[ ](?:do|does|did|is|are|was|were|can)[ ](?!i[ ]|you[ ]|we[ ]|u[ ]|one[ ]|people[ ]|someone[ ]|my[ ])
    |[ ](?:do|does|did)[ ].+[ ]mean[ ]|[ ]how[ ].+[ ]works?[ ]|[ ]how[ ].+[ ](?:changed|evolved|evolve)[ ]because
    |[ ]wie[ ](?!heißen|viel)\w+en[ ](?!ich|man|wir|sie[ ]|du)|[ ]cómo[ ]\w+n[ ](?:el|la|los|las)[ ]
    |是(?:如何|怎么|怎样)|如何.{1,8}(?:形成|产生|运作|工作|影响)""",
    re.X,
)
_ORDERED = re.compile(
    r"\^ (?!(?:what|is|are|was|were|of|in|on|at|to|for|from|by|with|like|such|over|under|once|all|not|find|what's|how|why|who"
    r"|and|or|do|does|did|can|has|had|have|about|the|into|through|around|when|where|which|suggest|recommend|plan"
    r"|after|before|behind|beyond|as)\b)[a-z]+ (?:a|an|my|your) "
)
"""An order: a first word that is no function word, before an article."""
_JOINING = re.compile(r" (?:and|with|using|also|while|but|und|mit|sowie|y|con|et|avec) |以及|并且|同时|和|还有")
_TWO_OF = re.compile(r"\w (?:and|und|y|et) (?:\w+ ){1,2}(?:of|von|de|del|der|du|des) \w")
_LISTED = re.compile(
    r"(?:^|[ ¿])(?:[^\W_]+ ){0,2}[^\W_]+, (?:[^\W_]+ ){0,2}[^\W_]+,? (?:and|und|sowie|y|e|et) \w|、.+[和与及]|[^、]、.+以及"
    r"|\w (?:and|und|y|et) (?:when|where|why|how|wann|wo|warum|wie|cuándo|dónde|quand|où)\W*$"
)
_ASKED_TWICE_ZH = re.compile(
    r"(?:什么|哪|谁|多[少大高长远久]|几|如何|怎|是否).*[,\uff0c].*(?:什么|哪|谁|多[少大高长远久]|几|如何|怎|是否)"
)

_SQL = re.compile(
    r"""\s*(?:select\b.+\bfrom\s+\S+(?:\s+\w+)?\s*(?:$|[;,)]|\b(?:where|join|inner|left|group|order|limit)\b)
    |insert\s+into\s+\w+\s*[(]|update\s+\S+\s+set\b.+=|delete\s+from\s+\w+\s*(?:$|;|where\b)|create\s+table\s+\w+\s*[(])""",
    re.I | re.X,
)
"""A statement in a query language is no question: nothing in it is to be said otherwise (S2-08)."""


def _words(spaced_words: str, unspaced: str) -> re.Pattern[str]:
    """Alternatives at word boundaries, and those of scripts that are written without spaces; blanks only lay it out."""
    return re.compile(rf"\b(?:{spaced_words})\b|{unspaced}", re.I | re.X)


_TEMPORAL = _words(
    r"""latest|(?:most\ )?recent(?:ly)?|newest|upcoming|today|nowadays|right\ now|so\ far|trends?|timeline|as\ of|since
    |(?:this|last|next|past)\ (?:\w+\ )?(?:years?|months?|weeks?|decades?|century|quarter)
    |over\ (?:time|the\ (?:\w+\ )?years)
    |(?<!electric\ )(?<!alternating\ )(?<!direct\ )(?<!ocean\ )(?<!eddy\ )current(?:ly)?(?=\ \w)
    |aktuell\w*|derzeit|heute|neueste[mnrs]?|seit|letzte[nmrs]?\ (?:jahre?n?|monate?n?)
    |actual(?:es|mente)|hoy|últim[oa]s?|reciente(?:s|mente)?|desde|actuel\w*|aujourd'hui|récent\w*|depuis""",
    "最新|最近|目前|现在|当前|今年|去年|明年|趋势|以来",
)
_TOGETHER = _words(
    r"respectively|both|each\ of|as\ well\ as|on\ the\ one\ hand|jeweils|sowohl",
    "分别|以及|优缺点",
)
_APPOSED = (
    "city|town|village|state|province|republic|kingdom|university|gulf|county|isle|island|church|house|people|art"
)
_CHAIN = re.compile(
    rf"""
    # the spouse of the CEO of ...; the capital of the country that ...
    \b(?:of|by|in|from|with|for)\ the\ (?!(?:{_APPOSED})\ of)(?:(?:[a-z-]+|[A-Z]{{2,4}})\ ){{1,3}}
        (?:of|that|who|which|whose|where|behind)[ ]
    # which company acquired the firm that developed ...
    |\b[Ww](?:ho|hich|hat|here|hen|hom|hose)\b.*\ (?:the|a)\ (?:[a-z-]+\ ){{1,3}}(?:that|who|which|whose|where)[ ]
    # where was the director of X born
    |\b(?:was|is|did|does|were|has)\ the\ (?:[a-z-]+\ ){{1,3}}of\ .+
        \ (?:born|die|died|buried|educated|study|live|work|grow\ up
        |marry|attend|found|receive|win|speak|belong)\b
    # X's mother's birthplace; the director of X's wife
    |\w's\ [\w-]+'s\ |\bthe\ (?:[a-z-]+\ ){{1,2}}of\ [^,?]+'s[ ]
    # die Frau des Chefs von ...; la esposa del director de ...
    |\bwurde\ (?:der|die|das)\ \w+\ (?:von|des|der)\ .+\ (?:geboren|begraben)\b
    |\b(?:des|der)\ [\w-]+(?:s|in|en)\ (?:von|des|der)[ ]
    |\bd(?:el|e\ la)\ (?!república|ciudad|universidad)[a-zñ-ú]+\ (?:de|del|que)[ ]
    # a possession of a possession, which are no adjectives: 特斯拉首席执行官的妻子的出生地
    |(?<![大小高长多好新老])的[^的,\uff0c。?\uff1f最]{{1,8}}(?<![大小高长多好新老])的
    """,
    re.X,
)


def classify(query: Query) -> Classification:
    """Type, route and challenges by rules alone."""
    text = _readable(query)
    return Classification(query_type_of(text), route_of(query), challenges_of(text))


def route_of(query: Query) -> Route:
    """The route the signals of S0-02 point at: references and known ambiguous names, then signs of several needs."""
    text = _readable(query)
    if _SQL.match(text):
        return "pass"
    if query.history and REFERENCE.search(text):
        return "disambiguate"
    if readings(text):
        return "disambiguate"
    return "decompose" if _asks_several(text) else "pass"


def query_type_of(text: str) -> QueryType:
    """The first type whose signs the text shows; ``simple`` is a text that asks nothing in words."""
    if _SQL.match(text):
        return "simple"
    words = spaced(text)
    if _compares(words):
        return "comparison"
    if _is_faulty(text, words):
        return "debugging"
    if len(_JOINING.findall(words)) > 1 or len(clauses(text)) > 1 or _lists(text):
        return "complex"
    if _explains(words):
        return "conceptual"
    if STEPS.within(words) or _STEPS.search(words):
        return "how_to"
    if _is_question(text, words):
        return "factual"
    return "how_to" if TASKS.within(words) or _ORDERED.search(words) else "simple"


def _explains(words: str) -> bool:
    """Whether it asks why, or how something comes about that nobody does."""
    if REASONS.within(words):
        return True
    found = _EXPLAINED.search(words)
    return bool(found) and not (STEPS.within(words) and found.group().strip().startswith("how"))


def _compares(words: str) -> bool:
    """Whether things are weighed against each other: words of comparing, or a choice between two."""
    if COMPARISON.within(words) or _COMPARATIVE.search(words):
        return True
    if not EITHER.within(words) or NO_CHOICE.within(words):
        return False
    return CHOOSING.within(words) or not (FACTS.within(words) or REASONS.within(words) or STEPS.within(words))


def _is_faulty(text: str, words: str) -> bool:
    """Whether something does not do what it should."""
    if _NAME_OF_ERROR.search(text) or WHY_I.within(words) or (WHY.within(words) and OWN.within(words)):
        return True
    if not NO_FAULT.within(words) and FAULTS.within(words):
        return OWN.within(words) or not ASKED.within(words)
    if _is_question(text, words) or STEPS.within(words) or REASONS.within(words):
        return False
    return (
        WHOSE.within(words) or bool(_HAPPENS.search(words)) or (SYMPTOMS.within(words) and not NO_SYMPTOM.within(words))
    )


def _is_question(text: str, words: str) -> bool:
    """Whether a fact is asked for: a question word, a verb that opens, or a question mark after several words."""
    return FACTS.within(words) or (text.rstrip().endswith(("?", "\uff1f")) and len(words.split()) > 3)


def _lists(text: str) -> bool:
    """Whether several things are named of which something is asked."""
    return bool(_LISTED.search(text) or _TWO_OF.search(text) or _ASKED_TWICE_ZH.search(text))


def challenges_of(text: str) -> tuple[Challenge, ...]:
    """Every challenge the text shows signs of, ``("simple",)`` where it shows none (S4-12)."""
    if _SQL.match(text):
        return ("simple",)
    found: list[Challenge] = []
    if _TEMPORAL.search(text) or YEAR.search(text):
        found.append("temporal")
    if _CHAIN.search(text):
        found.append("multi_hop")
    if _asks_several(text):
        found.append("decomposition")
    return tuple(found) or ("simple",)


def _asks_several(text: str) -> bool:
    """Whether the text shows several needs (S0-02, S4-10): things compared or listed, periods, clauses, "and" twice."""
    return bool(
        _compares(spaced(text))
        or _lists(text)
        or _TOGETHER.search(text)
        or find_list(text)
        or len(set(YEAR.findall(text))) > 1
        or len(clauses(text)) > 1
        or len(re.findall(r"\band\b", text, re.I)) > 1
    )


def is_unsure(text: str, challenges: tuple[Challenge, ...]) -> bool:
    """Whether to ask a model for the challenges: a long question, or not a short one and the rules saw none (S4-11)."""
    words = len(text.split())
    return words > 20 or (words > 12 and challenges == ("simple",))


def _readable(query: Query) -> str:
    """The text on one line; nothing of one so long that it is no question."""
    text = one_line(query.text).replace("\u2019", "'")
    return text if len(text) <= LONGEST else ""

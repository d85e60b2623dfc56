"""Classifies queries by rules: query type, route and challenges.

The rules match words at word boundaries ("prefix" does not contain "fix"), in English, German, Spanish, French and
Chinese. :mod:`acqo_rl.reformulation.model_classifier` uses a language model instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from acqo_rl.reformulation.dummy_pronouns import names_whole_action, without_dummies
from acqo_rl.reformulation.ellipsis import completed
from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.reformulation.query_types import compares, lists, query_type_of, weighs
from acqo_rl.reformulation.signals import LONGEST, PARTICIPLE, REFERENCE, SQL, clauses, names, refers_to_itself
from acqo_rl.reformulation.splitting import parts_of
from acqo_rl.reformulation.type_words import spaced
from acqo_rl.reformulation.years import HOW_IT_CHANGED, years_in
from acqo_rl.text import one_line
from acqo_rl.types import Challenge, Query, QueryType, Route


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification of one query.

    Attributes:
        query_type: determines the strategy.
        route: ``pass``, ``disambiguate`` or ``decompose``.
        challenges: what makes the question hard, often several challenges; ``("simple",)`` if there are none.
        calls: number of completions requested.
        failed_calls: number of those calls that returned no text.
        tokens: number of tokens that a language model generated.
        problem: why the rules were used although a model was called; otherwise ``None``.
    """

    query_type: QueryType
    route: Route
    challenges: tuple[Challenge, ...]
    calls: int = 0
    failed_calls: int = 0
    tokens: int = 0
    problem: str | None = None


def _words(spaced_words: str, unspaced: str) -> re.Pattern[str]:
    """A verbose-mode pattern: alternatives at word boundaries, and alternatives of scripts written without spaces."""
    return re.compile(rf"\b(?:{spaced_words})\b|{unspaced}", re.I | re.X)


_TEMPORAL = _words(
    r"""latest|(?:most\ )?recent(?:ly)?|newest|upcoming|today|nowadays|right\ now|so\ far|trends?|timeline|as\ of|since
    |(?<!\bi\ )(?<!\bwe\ )(?<!\byou\ )changed
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
_WEIGHED = _words(r"analy[sz]e[sd]?|evaluate[sd]?|assess(?:es)?|appraise[sd]?", "分析|评估")
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
    # a chain of possessives (not adjectives): 特斯拉首席执行官的妻子的出生地
    |(?<![大小高长多好新老])的[^的,\uff0c。?\uff1f最]{{1,8}}(?<![大小高长多好新老])的
    """,
    re.X,
)

_BEST = (
    r"(?:(?:more|fewer|less)\b.*\bthan\ any|most|least|fewest|best|worst|first|last"
    r"|(?!(?:interest|west|east|rest|test|forest|request)\b)[a-z]{2,}est)\b"
)
_VERB = r"(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would|should)\b"
_OF_SOME = re.compile(
    rf"""\b(?:which|what|(?:of|among)(?:\ all)?(?:\ the)?)\ (?:of\ the\ )?(?:(?!{_VERB})[\w'-]+\ ){{1,3}}?(?:
        # country bordering Laos; film starring the Rock; city lying on two rivers
        (?!(?:\w*thing|string|spring|king|ring|wing|building|painting|drawing|housing|clothing|wedding|evening|morning
            |ceiling)\b)[a-z]{{2,}}ing\ (?=(?-i:[A-Z\d])
            |(?:the|an?|both|two|three|its|on|in|by|at|with|for|from|to|as|of|about|under|over|through|against)\ )
        |(?:bordering|starring|featuring|containing|using|including|wearing|crossing|spanning|supporting|speaking)[ ]
        # model trained on ImageNet; team coached by a woman
        |(?:{PARTICIPLE}|bred|run|put|flown|driven|eaten|bound)[ ]
            (?:on|in|by|at|with|from|for|to|as|of|after|before|under|during|since|outside|near|between)[ ]
        # player who moved to Spain; city where they met
        |(?:that|who|whom|whose|where)[ ]
    ).{{0,150}}?(?:\b{_VERB}|,\ (?:which|what|who)\ .{{0,50}}?
        |\b(?:\w+ed|\w+s|won|made|sold|got|took|ran|wrote|cost|grew|came|went|spent|drew|beat|led|paid|kept|held|lost|gave)
    )\ (?:\w+\ )?{_BEST}""",
    re.I | re.X,
)
"""The best of the things that meet a condition: "which country bordering Laos has the largest army"."""

_ONE_OF_SOME = re.compile(
    r"""\b(?:which|what)\ (?:[\w'-]+\ ){0,2}?
    (?:actor|actress|alumnus|astronaut|author|character|coach|composer|creator|director|drummer|employee|founder|graduate
    |guitarist|illustrator|inventor|member|musician|player|producer|screenwriter|singer|songwriter|star|student|vocalist
    |writer)(?:e?s|i)?
    \ (?:at|behind|from|in|of|on)\ (?!the\ (?:year|month|week|match|game|day)\b).{1,80}?
    \ (?:(?:also|later|once)\ )?
    (?:\w+ed|was|were|is|are|has|have|had|won|wins|wrote|sang|made|led|became|went|got|took)\ \w
    """,
    re.I | re.X,
)
"""One of the people behind a work or in a group, with a condition: "which actor in Titanic won an Oscar"."""


def classify(query: Query) -> Classification:
    """Returns type, route and challenges by rules."""
    text = readable(query)
    return Classification(query_type_of(text), route_of(query), challenges_of(text))


def route_of(query: Query, lexicon: Lexicon | None = None) -> Route:
    """Determines the route from the text: first references and ambiguous names, then signs of several needs.

    In a conversation, a question without any name is assumed to depend on earlier turns, even without a pronoun.

    Args:
        query: the query.
        lexicon: names of the corpus; by default a list of common names.
    """
    lexicon = lexicon or common_lexicon()
    text = readable(query)
    if SQL.match(text):
        return "pass"
    if query.history and completed(text, query.history, lexicon):
        return "disambiguate"
    if query.history and REFERENCE.search(without_dummies(text)) and not refers_to_itself(text):
        return "disambiguate"
    if lexicon.readings_asked(text):
        return "disambiguate"
    if _asks_several(text, lexicon):
        return "decompose"
    leans = query.history and text and not names(text) and not names_whole_action(text)
    return "disambiguate" if leans else "pass"


def challenges_of(text: str) -> tuple[Challenge, ...]:
    """All challenges that the text shows signs of; ``("simple",)`` if there are none."""
    if SQL.match(text):
        return ("simple",)
    found: list[Challenge] = []
    if _TEMPORAL.search(text) or HOW_IT_CHANGED.search(text) or years_in(text):
        found.append("temporal")
    if _CHAIN.search(text) or _OF_SOME.search(text) or _ONE_OF_SOME.search(text):
        found.append("multi_hop")
    if _asks_several(text, common_lexicon()) or _WEIGHED.search(text) or weighs(text):
        found.append("decomposition")
    return tuple(found) or ("simple",)


def _asks_several(text: str, lexicon: Lexicon) -> bool:
    """Whether the text has several needs: a comparison, a list, several years or clauses, or "and" twice."""
    return bool(
        compares(spaced(text))
        or lists(text)
        or _TOGETHER.search(text)
        or len(set(years_in(text))) > 1
        or len(clauses(text)) > 1
        or len(re.findall(r"\band\b", text, re.I)) > 1
        or parts_of(text, lexicon)
    )


def is_unsure(text: str, challenges: tuple[Challenge, ...]) -> bool:
    """Whether a model should determine the challenges: over 20 words, or over 12 words and no challenge by rules."""
    words = len(text.split())
    return words > 20 or (words > 12 and challenges == ("simple",))


def readable(query: Query) -> str:
    """The text on one line; empty if it has more than ``LONGEST`` characters."""
    text = one_line(query.text).replace("\u2019", "'")
    return text if len(text) <= LONGEST else ""

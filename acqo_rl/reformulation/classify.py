"""What kind of question it is: its type (S3-24), its route (S0-16), and the challenges it poses (S4-09).

Rules of words at word boundaries ("prefix" holds no "fix"), in English, German, Spanish, French and Chinese. They cost
no model call; :mod:`acqo_rl.reformulation.model_classifier` asks a model where that is wanted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from acqo_rl.reformulation.signals import LONGEST, REFERENCE, YEAR, clauses, find_list, readings
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


def _words(spaced: str, unspaced: str) -> re.Pattern[str]:
    """Alternatives at word boundaries, and those of scripts that are written without spaces; blanks only lay it out."""
    return re.compile(rf"\b(?:{spaced})\b|{unspaced}", re.I | re.X)


_COMPARISON = _words(
    r"""compare[ds]?|comparing|comparisons?|comparable|vs|versus|differ|differs|differences?|different\ from
    |(?:\w+er|more|less|worse)(?:\ [\w-]+)?\ than(?!\ \d)
    |which\ (?:\w+\ )?(?:is|are)\ (?:\w+er|more|less|worse)
    |pros\ and\ cons|advantages\ and\ disadvantages|\w+er,\ [\w ]{2,30}\ or
    |should\ (?:i|we)\ \w+\ [\w ]{2,30}\ or
    |vor-\ und\ nachteile|ventajas\ y\ desventajas|avantages\ et\ inconvénients
    |vergleich\w*|unterschied\w*|unterscheide\w*|\w+er\ als
    |compar(?:a|ar|ación|aison|er|ez)|diferencias?|(?:más|menos)\ (?:\w+\ )?que|mejor(?:es)?\ que
    |différences?|(?:plus|moins)\ \w+\ que""",
    "比较|对比|区别|相比|差异|不同|哪个更|哪一?种更",
)
_DEBUGGING = _words(
    r"""(?<!standard\ )errors?|exceptions?|tracebacks?|stack\ ?traces?|bugs?|debug\w*
    |fix|fixes|fixed|fail|fails|failed|failing|failure
    |crash(?:es|ed|ing)?|segfaults?|broken|stuck|keeps?\ \w+ing
    |issues?\ with|troubleshoot\w*|(?:isn't|is\ not|not|stopped)\ working
    |(?:doesn't|does\ not|won't|will\ not|can't|cannot)\ (?:work|start|load|connect|compile|open|find|boot|import)
    |\w*fehler\w*|funktioniert\ nicht|stürzt\b.*\bab|startet\ nicht
    |errores|falla|fallo|no\ (?:funciona|arranca)|erreurs?|ne\ (?:marche|fonctionne|démarre)\ pas|plante""",
    "报错|出错|错误|异常|崩溃|失败|无法|修复",
)
_NAME_OF_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|\b(?:HTTP|status)(?: code)? [45]\d\d\b")
_HOW_TO = _words(
    r"""how\ (?:do|can|could|should|would|might|shall)\ (?:i|we|you|one|someone|people)|how\ to|steps?\ (?:to|for)
    |ways?\ to|(?:guide|instructions)\ (?:to|for)|tutorial|recipe\ for|wie\ \w+\ (?:ich|man|wir)|anleitung\w*
    |c[oó]mo\ (?:puedo|podemos|se\ (?:puede|hace)|hago|\w+[aei]r(?:se)?)|pasos\ para
    |comment\ (?:puis-je|faire|\w+er|\w+ir)""",
    "如何|怎么(?!样)|怎样|步骤|教程",
)
_CONCEPTUAL = _words(
    r"""why|explain\w*|explanation|concepts?|conceptual(?:ly)?|theor(?:y|ies)|principles?|intuition|philosophy
    |meaning\ of|what\ causes|how\ come|understand(?:ing)?|idea\ behind|purpose\ of|what\ (?:does|do)\ .{1,60}\ mean
    |how\ (?:do|does|did|is|are|was|were)\ (?!i\b|we\b|you\b|one\b).{1,80}
        \ (?:works?|affect|influence|happen|form|formed|evolve|lead|made|caused|related|arise|emerge)
    |warum|wieso|weshalb|erklär\w*|bedeutet|wie\ funktionier\w+|por\ qué|expli[cq]\w*|c[oó]mo\ funcionan?|significa
    |pourquoi|comment\ fonctionnent?|signifie""",
    "为什么|为何|解释|原理|概念|意味|含义|理解|如何工作|怎么运作",
)
_FACTUAL = _words(
    r"""who|whom|whose|when|where|which|what(?:'s)?
    |how|wer|wen|wem|wann|wo|welche[mnrs]?|was|wie\ (?:viele?|hoch|alt|groß|lange?|weit|heißt)
    |qui[eé]n(?:es)?|cu[aá]ndo|d[oó]nde|cu[aá]l(?:es)?|cu[aá]nt[oa]s?|qué|qui|quand|où|quel(?:le)?s?|combien""",
    "谁|何时|什么|哪里|哪[个些年座国位种]|多少|几[个年点月]|多[大高长远]",
)
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|will|ist|sind|war|hat|est-ce)\b|[吗么][?\uff1f]?$", re.I
)
_JOINING = _words("and|with|using|also|while|but|und|mit|sowie|y|con|et|avec", "以及|并且|同时|和|还有")

_SQL = re.compile(
    r"""\s*(?:select\b.+\bfrom\s+\S+(?:\s+\w+)?\s*(?:$|[;,)]|\b(?:where|join|inner|left|group|order|limit)\b)
    |insert\s+into\s+\w+\s*[(]|update\s+\S+\s+set\b.+=|delete\s+from\s+\w+\s*(?:$|;|where\b)|create\s+table\s+\w+\s*[(])""",
    re.I | re.X,
)
"""A statement in a query language is no question: nothing in it is to be said otherwise (S2-08)."""

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
    if _COMPARISON.search(text):
        return "comparison"
    if _DEBUGGING.search(text) or _NAME_OF_ERROR.search(text):
        return "debugging"
    if len(_JOINING.findall(text)) > 1 or len(clauses(text)) > 1:
        return "complex"
    if _CONCEPTUAL.search(text):
        return "conceptual"
    if _HOW_TO.search(text):
        return "how_to"
    return "factual" if _FACTUAL.search(text) or _YES_OR_NO.search(text) else "simple"


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
        _COMPARISON.search(text)
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

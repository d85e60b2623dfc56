"""Signals in the wording of English questions: query type, challenges, several needs, references.

One table of patterns decides, without a model. They match whole words: "prefix" is not "fix", and "Thailand" is not
"and". Questions in other languages have few signals, so they are mostly ``simple`` and pass unchanged.
:class:`acqo_rl.reformulation.classify.Classifier` can ask a language model for the type instead.
"""

from __future__ import annotations

import re

from acqo_rl.text import one_line
from acqo_rl.types import Challenge, Query, QueryType

LONGEST = 1_000
"""Maximum number of characters of a text that the rules read; longer texts are rarely questions."""

ASKING = r"(?:who|whom|whose|what|when|where|which|why|how)"
VERB = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will)"
_MORE = r"(?:better|worse|more|less|fewer|first|earlier|(?!(?:other|ever|never|water|number|power)\b)[a-z]{2,}er)"
_MOST = r"(?:most|least|worst|first|(?!(?:inter|w|ea|r|t|for)est\b)\w+est)"
_TASK = rf"(?!(?:w?{ASKING}|{VERB}|name|give|find|any)\b)[a-z]{{2,}}"

_TABLE = {
    "comparison": rf"""
        compar(?:e[ds]?|ing|isons?) | contrast(?:s|ing)? | versus | vs | diff?e?rences? | differs?
        similarit(?:y|ies) | distinguish(?:es)? | (?:different|similar) (?:from|than|to) | apart | side by side
        pros and cons | (?:dis)?advantages and | trade-?offs? | rather than | instead of(?! \w+ers)
        {_MORE} (?:[\w'-]+ ){{0,5}}?than(?! \d) | is it {_MORE}\b.{{0,80}} or
        as \w+ (?:to \w+ )?as(?! (?:possible|well|soon)) | (?:benefits|advantages) of .{{1,40}} over
        {ASKING}\b.{{0,80}} {_MORE}\b.{{0,80}}\bor(?! (?:not|without)\b) | ^[\w-]+ or [\w-]+ for
        (?:should|do|would|can) (?:i|we|you) (?:prefer|choose|buy|get|use)\b.{{0,80}} or(?! not\b)
        (?:is|are|was|were) .{{1,60}} or .{{1,60}} {_MORE}
    """,
    "debugging": r"""
        (?<!standard )errors?(?! (?:of|bars|correction|rates?)\b) | (?-i:\w+(?:Error|Exception)) | exception
        traceback | segfault | fault | crash(?:es|ed|ing) | fail(?:s|ed|ing) | bug(?! spray) | broken
        fix(?:es|ing)? | debug(?:ging)? | troubleshoot\w* | (?:won|\w+n)'t
        not (?:\w+ing|found|applied|recognized|a function) | stuck | freez(?:es|ing) | hangs (?:on|at|when)
        leak(?:s|ing) | stop(?:ped|s) | keeps? \w+ing | no longer | times? out | denied | refused | declined
        unauthorized | unable to | cannot | invalid | corrupt(?:ed)? | never \w+s | too (?!many|much)\w+
        problems? (?:with|between) | why (?:is|does|do|are|did) my | my .* \w+s
        \w+ (?:when|after|while) (?:i|\w+ing) | HTTP [45]\d\d | [A-Z]+_[A-Z_]{3,}
        (?:shows?|gives?|returns?|says|asks) (?:an?|no|nothing|empty|for|#+)
    """,
    "several": r"""
        (?:\w[\w-]{0,40} ){0,2}\w[\w-]{0,40}, (?:\w[\w-]{0,40} ){0,2}\w[\w-]{0,40},? and \w+
        (?!names?|latitude|between)[a-z]+s? and (?:[a-z]+ ){1,3}of | respectively | each of | analy[sz]e
        evaluate | assess
    """,
    "conceptual": r"""
        wh?y | how (?:does|do|did|is|are|was|were|come)(?! (?:i|you|we|u|one|people)\b) | how .{1,60} works?
        expla(?:in|nation) | how (?:can|could) \w+s\b | meaning | concept | theory | principles? | idea behind
        what(?:'s| is| was) (?:the )?(?:behind|meant|intuition|rationale|significance|logic|cause|point)
        what .{1,60} mean | what (?:causes|makes|leads|happens|role|would) | reasons? (?:for|why|are)
        purpose of | overview | background | understand(?:ing)? | describe | eli5 | tell me how
    """,
    "how_to": rf"""
        how ?(?:do|does one|can|could|should|would|might|to(?!-| books)|2) | ways? to | steps? (?:to|for|by)
        guide | tutorial | instructions | set(?:ting)? up | recommend\w* | best way | procedure
        what should i do | teach me | walk me | i (?:want|need) to
        ^{_TASK} (?:up )?(?:an?|my) .* | ^{_TASK} .* (?:from|without|with|to|on) .*
    """,
    "factual": rf"""
        w?{ASKING}(?![-\w]) | wich | name (?:the|a) | tell me | give (?:me|the) | list (?:the|all) | define
    """,
    "temporal": r"""
        latest | newest | (?:most )?recent(?:ly)? | upcoming | today | nowadays | right now | so far | trends?
        timeline | as of | since | currently | current(?! (?:in|of)\b) \w+
        (?:this|last|next|past) (?:\w+ )?(?:years?|months?|weeks?|decades?|century)
        over (?:time|the (?:\w+ )?years)
    """,
    "development": r"""
        how (?!to|do|does|can|should)\w+ (?!(?:i|we|you)\b).{1,80} (?:evolved|changed|developed)
        how did (?!(?:i|we|you)\b).{1,80} (?:evolve|change|develop)(?=\W*$| (?:in|over|since|during|from|after|under)\b)
    """,
    "multi_hop": rf"""
        (?:of|by|in|from|with|for) the (?:[\w-]+ ){{1,3}}(?:of(?! america)|that|who|which|whose|where|behind)
        (?:who|which|what|where|when|whose) .{{1,80}} (?:the|a) (?:[a-z-]+ ){{1,3}}(?:that|who|which|whose|where)
        {VERB} the (?:[a-z-]+ ){{1,3}}of .{{1,80}} (?:born|die|died|buried|educated|study|live|work|marry|found|win)
        \w+'s [\w-]+'s
        (?:which|what) [\w-]+ (?:\w+ing|\w+ed|written|born|built|made|that|who|whose) .{{1,80}} {_MOST}
    """,
    "reference": r"""
        it | its | it's | they | their | them | he | she | his | her | him | this | that | these | those | there
        one | former | latter | same | both | (?:what|how) about
    """,
    "pronoun": r"""
        it | its | they | their | them | he | she | his | her | him | there
    """,
    "code": r"""
        select .{1,200} from | insert into | update \w+ set | delete from | create table
    """,
}
"""Signal -> alternatives, separated by " | " or line ends, each a regular expression for whole words."""


def _compiled(listed: str) -> re.Pattern[str]:
    alternatives = re.split(r" [|] |\n *", listed.strip())
    return re.compile(rf"(?<![\w'])(?:{'|'.join(alternatives)})(?!\w)", re.I)


_PATTERNS = {signal: _compiled(listed) for signal, listed in _TABLE.items()}
_JOINING = re.compile(r"\b(?:and|with|using|also|while|but)\b", re.I)
_YEAR = re.compile(
    r"(?<![\w.,:/$\u20ac#-])(?:1[5-9]|20)\d\d(?![\w%]|[.,:]\d|-\d| ?(?:tokens?|words?|b(?:it|yte)s?|px|k[mg]|m)\b)"
)
_NUMBERED = re.compile(r"(?:ports?|room|error|code|rfc|iso|model|version|page|number|no\.?|bus|flight|line) $", re.I)
_LINK = r"(?:and|plus|also|as well as)(?: also| in addition,| then)?"
_NEXT = re.compile(
    rf"(?<!\s)\s*[?;](?:\s*(?:and|also|plus)\b,?)*\s*|, (?={ASKING}\b)"
    rf"|,? {_LINK} (?=(?:(?:in|at|to|from|by|for|on) )?{ASKING}\b|whether\b"
    rf"|{VERB} (?:it|they|he|she|there|the|an?|i|you)\b)",
    re.I,
)
"""Between two questions."""

_STATEMENT = re.compile(
    rf"\A(?:(?:in|on|at|for|if|after|before|during|since|according to) [^,;?]+|(?!{ASKING}\b|{VERB}\b)[\w' -]+)"
    rf", (?={ASKING}\b)(?!.*[?;].*\w)",
    re.I,
)


def has(signal: str, text: str) -> bool:
    """Whether a text has a signal; see ``_TABLE`` for their names."""
    return _PATTERNS[signal].search(text) is not None


def clauses(text: str) -> list[str]:
    """Splits a text into its questions; pieces of one word are dropped.

    A statement before a question, such as "I'm filling in a form, what is ...", stays with it.
    """
    if _STATEMENT.match(text):
        return [text]
    return [part for part in (piece.strip(" ,.") for piece in _NEXT.split(text)) if " " in part]


def years_in(text: str) -> list[int]:
    """The years (1500 to 2099) in a text, in order; "port 2021" and "2048 tokens" have none."""
    return [int(m[0]) for m in _YEAR.finditer(text) if not _NUMBERED.search(text[: m.start()][-12:])]


def query_type_of(text: str) -> QueryType:
    """Returns the first type whose signal the text has; ``simple`` if it has none.

    Several clauses, or two of the words "and", "with", "using", "also", make a question ``complex``.
    """
    if has("code", text):
        return "simple"
    first: tuple[QueryType, ...] = ("comparison", "debugging")
    others: tuple[QueryType, ...] = ("conceptual", "how_to", "factual")
    if found := next((query_type for query_type in first if has(query_type, text)), None):
        return found
    if len(_JOINING.findall(text)) > 1 or len(clauses(text)) > 1 or has("several", text):
        return "complex"
    if found := next((query_type for query_type in others if has(query_type, text)), None):
        return found
    return "factual" if text.rstrip().endswith("?") and text.count(" ") > 2 else "simple"


def challenges_of(text: str) -> tuple[Challenge, ...]:
    """All challenges that the text has signals of; ``("simple",)`` if there are none."""
    if has("code", text):
        return ("simple",)
    found: list[Challenge] = []
    if has("temporal", text) or has("development", text) or years_in(text):
        found.append("temporal")
    if has("multi_hop", text):
        found.append("multi_hop")
    if asks_several(text):
        found.append("decomposition")
    return tuple(found) or ("simple",)


def asks_several(text: str) -> bool:
    """Whether the text has signals of several needs: a comparison, several years or clauses, or "and" twice."""
    return (
        has("comparison", text)
        or has("several", text)
        or len(set(years_in(text))) > 1
        or len(clauses(text)) > 1
        or len(re.findall(r"\band\b", text, re.I)) > 1
    )


def readable(query: Query) -> str:
    """The text on one line; empty if it has more than ``LONGEST`` characters."""
    text = one_line(query.text).replace("\u2019", "'")
    return text if len(text) <= LONGEST else ""

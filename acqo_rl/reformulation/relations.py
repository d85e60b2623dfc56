"""Detects relations between the items of a list: "When did Egypt and Israel make peace?" must not be split.

The patterns contain symmetric predicates of English: verbs such as "meet", nouns such as "rivals", adjectives such as
"similar".
"""

from __future__ import annotations

import re

_NOUNS = (
    r"marriage|wedding|divorce|child(?:ren)?|sons?|daughters?|parents|forces|army|union|merger|merging|combination"
    r"|mix(?:ture)?|blend|intersection|alliance|rivalry|feud|friendship|partition|war|duel|duet|collaboration"
    r"|relations?(?:hip)?|connection|link|distance|affair|ratio|product|sum|differences?|gap|dispute|conflict|borders?"
    r"|father|mother|treaty|peace|exchange rate|reaction|interaction"
)
_JOINED_BY_VERB = (
    r"mixing|combining|merging|uniting|joining|linking|connecting|separating|dividing|comparing"
    r"|introduced|reconciled|mediated|united|divided|separated|links?|connects?|separates?|divides?|joins"
)
_BEFORE = re.compile(
    r"\b(?:between|among|amongst|with|by|featuring|starring|via|besides|except|including|throughout|alongside|like|than"
    r"|such as|aside from|apart from|along with|as well as"
    rf"|(?:{_NOUNS})(?: (?:of|from|for))?|{_JOINED_BY_VERB}) (?:both )?(?:the )?$",
    re.I,
)
_ANYWHERE = re.compile(
    r"\b(?:marr(?:y|ied)|divorced?|met|meet|fought|fight|f[ae]ll in love|collaborat\w+|merged?|team(?:ed)? up|compete"
    r"|interact|related|connected|linked|separated|combin(?:ed?|ing)|mix(?:ed|ing)?|in common|each other|one another"
    r"|together|jointly|mutual\w*|border each|share(?! the same)|apart|treaty|pact|armistice|ceasefire|truce)\b",
    re.I,
)
_VERBS = (
    r"separate|split|part ways|break up|make (?:peace|up)|reconcile|unite|reunite|unify|become (?:one|an?) \w+"
    r"|(?:dis)?agree|negotiate|clash|battle|duel|quarrel|argue|debate|kiss|trade|talk|correspond|cooperate|communicate|converge"
    r"|intersect|overlap|collide|coexist|coincide|react|bond|mate|interbreed|ally|get along|go to war|join forces"
    r"|strike a deal|sign an? (?:deal|agreement)|date"
)
_ARE = (
    r"friends|rivals|enemies|foes|allies|partners|lovers|neighbou?rs|siblings|brothers|sisters|twins|cousins|spouses"
    r"|colleagues|contemporaries|relatives|competitors|opponents|opposites|equals|equivalents?|synonyms|antonyms|strangers"
    r"|\w+mates|engaged|alike|similar|identical|different|compatible|interchangeable|adjacent|parallel|perpendicular"
    r"|a (?:couple|pair|duo)|(?:in|at|on) (?:conflict|war|odds|peace|touch|contact|love|(?:good|bad|speaking) terms)"
)
_AFTER = re.compile(rf" (?:(?:\w+ ){{0,2}}?(?:{_ARE})|(?:[a-z]+ )??(?:{_VERBS}))\b", re.I)
_AT_END = re.compile(r" (?:strike|sign|negotiate)$", re.I)
_DEGREE = re.compile(r"\bhow (?:close|near|similar|different|compatible|alike) (?:are|were) $", re.I)


def joins(text: str) -> bool:
    """Whether a text contains a symmetric relation anywhere."""
    return _ANYWHERE.search(text) is not None


def joins_next(before: str) -> bool:
    """Whether the text before a list relates its items: "the distance between"."""
    return _BEFORE.search(before) is not None


def joins_list(before: str, after: str) -> bool:
    """Whether the text around a list relates its items."""
    if joins(f"{before} {after}") or joins_next(before):
        return True
    is_degree = not after and _DEGREE.search(before)
    return bool(is_degree or _AFTER.match(after) or _AT_END.match(after))

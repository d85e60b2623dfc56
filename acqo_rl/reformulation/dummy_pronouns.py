"""Detects dummy pronouns: "Is it raining?", "Is there a train to Bari?", "Is it safe to eat raw eggs?".

The object of the infinitive is decisive: "Is it safe to eat raw eggs?" is complete, but in "Is it safe to eat?" the
pronoun refers to something mentioned before.
"""

from __future__ import annotations

import re

_BE = r"(?:is|was|would|will|isn't|wasn't)"
_TRAVEL = r"(?:go|fly|drive|walk|travel|cycle|swim|sail|commute|move)"
_NO_OBJECT = (
    r"(?:(?:in|on|at|for|from|to|with|without|by|during|when|while|if|after|before|as|and|or|every)\b"
    r"|(?:again|now|today|daily|often|raw|hot|cold|alone|well|\w+ly)\W*$)"
)
_DEED = rf"to (?:{_TRAVEL}\b|\w+(?: or (?:to )?\w+)? (?!{_NO_OBJECT})\w)"
_ADJECTIVE = (
    r"(?:\w+er|possible|impossible|legal|illegal|safe|dangerous|risky|ok|okay|fine|normal|common|usual|worth|necessary"
    r"|important|required|mandatory|allowed|forbidden|healthy|unhealthy|good|bad|best|wrong|right|wise|rude|polite|hard"
    r"|difficult|easy|cheap|expensive|useful|useless|time|too late|more \w+|less \w+|an? \w+ idea)"
)
_WEATHER = r"(?:hot|cold|warm|sunny|cloudy|windy|humid|dark)"
DUMMY = re.compile(
    # weather and time
    r"\bit(?= (?:\w+ ){0,2}?(?:rain|snow|hail|freez)(?:s|ed|e|es|ing)?\b)"
    rf"|\b{_BE} it(?= (?:\w+ )?{_WEATHER} (?:outside|now|today|tonight|in (?-i:[A-Z])))"
    rf"|\bhow {_WEATHER} {_BE} it(?= in (?-i:[A-Z]))"
    rf"|\bwhat (?:time|day|year|month|season) {_BE} it(?= (?:in|at|now|right now|today|there)\b|\W*$)"
    # actions and facts
    rf"|\b(?:{_BE} it|it(?: is|'s| was))(?= (?:\w+ )?{_ADJECTIVE} (?:for \w+ )?{_DEED})"
    rf"|\b{_BE} it(?= worth \w+ing (?!{_NO_OBJECT})\w)"
    rf"|\b(?:does|did|will|would) it(?= (?:\w+ )?(?:take|cost|mean|feel like|make sense|help) (?:\w+ )?{_DEED})"
    r"|\bit(?= (?:takes|costs|like) (?:\w+ )?to \w)"
    rf"|\b{_BE} it(?= (?:\w+ )?(?:true|likely|known|possible|normal|ok|okay|bad|good) (?:that|if|when)\b)"
    r"|\b(?:true|likely|known|possible|normal) that\b"
    r"|\b(?:does|did) it(?= (?:\w+ )?matter (?:if|whether|that|what|which|when|how)\b)"
    r"|\b(?:is|was) it(?= (?-i:[A-Z])\S*(?: \S+){0,3}? (?:who|that)\b)"
    # existence
    r"|\b(?:is|are|was|were|be|been|isn't|aren't) there(?= \w)|\bthere(?= (?:is|are|was|were|exist)\b|'s\b)"
    r"|\b(?:will|has|have|had|can|could|would) there(?= be)"
    # titles: "the film Them"
    r"|(?<=[a-z] )(?-i:It|Her|Him|Them|They)\b",
    re.I,
)
_WHOLE_DEED = re.compile(
    rf" (?:to \w+|worth \w+ing) (?!{_NO_OBJECT}|(?:the|this|that|these|those|it|its|his|her|him|their|them|one)\b)"
    r"\w",
    re.I,
)


def without_dummies(text: str) -> str:
    """The text without dummy pronouns."""
    return DUMMY.sub("", text)


def names_whole_action(text: str) -> bool:
    """Whether a text asks about an action that it fully names: "How long does it take to boil an egg?"."""
    dummy = DUMMY.search(text)
    return dummy is not None and _WHOLE_DEED.search(text, dummy.end()) is not None

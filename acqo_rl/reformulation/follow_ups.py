"""Splits a text with several questions, and replaces references of later questions to earlier ones."""

from __future__ import annotations

import re

from acqo_rl.reformulation.dummy_pronouns import DUMMY, without_dummies
from acqo_rl.reformulation.signals import (
    PARTICIPLE,
    REFERENCE,
    begins_to_ask,
    clauses,
    find_list,
    has_attribute,
    names,
    names_attribute,
)
from acqo_rl.reformulation.subjects import THEY_THERE, is_sure, subject_of

_NOUN_PHRASE = r"(?P<it>(?:(?:the|an?|his|her|my|our) )?[\w'\u02cd\ua788.-]+(?: [\w'\u02cd\ua788.-]+){0,6})"
_TOPICS = [
    re.compile(f"^{shape}$", re.I)
    for shape in (
        rf"(?:who|what|which)(?:'s| is| are| was| were) (?:called )?{_NOUN_PHRASE}",
        r"(?:who|what) (?:\w+ed|wrote|built|made|sang|drew|won|found|led|owns|runs|makes|causes|created) "
        + _NOUN_PHRASE,
        rf"how \w+ (?:is|are|was|were) {_NOUN_PHRASE}",
        rf"(?:when|where) (?:did|does|do) {_NOUN_PHRASE} (?-i:(?!(?:from|to|in|at)\b)[a-z]+)(?: (?:from|to|in|at))?",
        rf"(?:when|where) (?:is|are|was|were) {_NOUN_PHRASE} (?-i:{PARTICIPLE}|open|closed|now|today)",
        rf"(?:when|where) (?:is|are|was|were) {_NOUN_PHRASE}",
        rf"(?:tell me about|explain|describe|about) {_NOUN_PHRASE}",
        rf"(?:what|how|how much|why) (?:does|do|did) {_NOUN_PHRASE} (?:do|mean|work|cost|happen|stand for)",
    )
]
_PREPOSITION = r"(?:in|on|at|to|from|for|with|by|of|up|out|if|when|after|before|without)"
_DEED = re.compile(
    r"^(?:(?:where|how|when|what) )?(?:can|could|do|should|may|must) (?:i|you|we|one) (?P<deed>(?!have |need )\w+ "
    rf"(?P<it>(?!(?:{_PREPOSITION}|it|them|this|that)\b)[\w'-]+(?: (?!{_PREPOSITION}\b)[\w'-]+){{0,3}}))"
    rf"(?: {_PREPOSITION} .*)?$",
    re.I,
)
"""An action and its object; a later clause refers to the object."""
_OF_DEED = re.compile(r" (?:does|did|will|would) it (?:take|cost|matter|mean)$", re.I)
_SPEAKER = re.compile(r"^(?:i|you|we|me|us)\b|\b(?:my|your|our)\b", re.I)
_ONE = re.compile(r"\bone$", re.I)
_THERE = re.compile(r"(?P<way>\b(?:get|go|travel|fly|drive|walk|move) )?\bthere\b", re.I)
_THING = re.compile(r"\b(?:it|they|them)\b", re.I)
_PERSON = re.compile(r"\b(?:he|she|him)\b", re.I)
_PLURAL = re.compile(r"\b(?:they|them|their)\b", re.I)
_WHO = re.compile(r"^who (?!(?:is|was|are|were)\b)\w+ ", re.I)
_JOINING = re.compile(
    r"^(?:(?:(?:and|also|plus|then)\b,? )+(?:also,? )?|(?:finally|lastly|next|besides|in addition|additionally"
    r"|furthermore|moreover|secondly|thirdly), )",
    re.I,
)
_HAS_VERB_FIRST = re.compile(
    r"^(?:who|(?:\w+ )?(?:what|which|how|when|where|why)(?: \S+){0,3}) "
    r"(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had)\b",
    re.I,
)
"""A question with the usual word order: the verb soon after the question word."""
_QUESTION_AFTER_COMMA = re.compile(r", (?=(?:who|what|when|where|which|why|how) )", re.I)
_OWN = re.compile(r"\b(?:its|his|her|their)\b(?! (?:and|or)\b)", re.I)
_PHRASE = 8
"""Maximum number of words of a request without a verb: "capital of Peru and how large is Lima"."""
_VERB_PHRASE = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|has|have|had) (?!(?:the|an?|it|he|she|they|i|you|we|there|my|your|our"
    r"|his|her|their|its|this|that|these|those|any|some|all|people|both)\b)[a-z]"
)
_ASKS_FOR_ITEM = re.compile(
    r"(?i:what|which|who)\b(?!(?: [a-z]+){0,3}? (?:do|does|did|can|could|should|would|will)\b"
    r"|(?: [a-z]+){0,3}? (?:is|are|was|were) (?:the|an?|its|their|[A-Z]))"
)
"""A question for another item of a list: "motion lines and what are often used in comics"."""
_COMPLETE = re.compile(
    r"(?:what|when|where|why|how) do [a-z]+s "
    r"(?!(?:cost|open|close|run|start|leave|begin|end|work|sell|go|arrive)\b)[a-z]+"
    r"(?: (?:on|in|at|with|for|from|during) .+)?$",
    re.I,
)
"""A question about all things of a kind: "what do owls eat"; not "what do tickets cost", which are those of a place."""
_UNRESOLVED = re.compile(
    r"(?:(?:wer|was|wann|wo|warum|wie|wieso)\b.*\b(?:es|er|sie|ihn|ihm)"
    r"|(?:quand|o\u00f9|combien|comment|pourquoi)\b.*\b(?:il|elle|ils|elles)"
    r"|(?:cu[a\u00e1]ndo|d[o\u00f3]nde|c[o\u00f3]mo|por qu\u00e9)\b.*\b(?:\u00e9l|ella|ellos|ellas))\b",
    re.I,
)
"""A question with a pronoun in a language in which pronouns are not replaced: "wie lange gilt es"."""
_RELATIVE = re.compile(r"^(?:.+ )(who|which|whose|whom|where|that) ", re.I)


_ASKS_WHAT = re.compile(r"(?:what|who|which)\b", re.I)
_SAID = re.compile(rf"(?<!\bthe)(?<!\ban)(?<!\ba) (?:{PARTICIPLE}) {_PREPOSITION}\b.*$")
_SAID_AT_END = re.compile(rf" (?:{PARTICIPLE}|famous|good|responsible) (?:{_PREPOSITION}|about|as)$")


def asked_in_turn(text: str) -> list[str]:
    """Returns the questions of a text with pronouns resolved; empty if a pronoun cannot be resolved.

    Args:
        text: on one line; names with "and" are marked as one word.
    """
    found = clauses(text)
    if len(found) < 2 or not _are_questions(text, found):
        return []
    found = [part for clause in found for part in _QUESTION_AFTER_COMMA.split(_JOINING.sub("", clause))]
    asked: list[str] = []
    topic = source = ""
    if any(_UNRESOLVED.match(clause) for clause in found[1:]):
        return []
    for clause in found:
        own = subject_of(clause) or _topic(clause)
        about = _carried(asked[0]) if asked else ""
        if asked and REFERENCE.search(without_dummies(clause)):
            if (not topic and not names(clause)) or (_PLURAL.search(clause) and find_list(asked[-1])):
                return []
            if topic and not is_sure(topic, source, without_dummies(clause)):
                return []
            if about and _OF_DEED.search(clause) and not any(pattern.match(asked[0]) for pattern in _TOPICS):
                clause = f"{clause} ({about})"
            elif topic:
                clause = _about(clause, topic, asked[-1])
                if _THERE.search(without_dummies(clause)):
                    return []
        elif (
            asked
            and (not own or _is_attribute(own))
            and not find_list(asked[0])
            and about
            and not _COMPLETE.match(clause)
        ):
            clause = f"{clause} ({about})"
        asked.append(clause)
        deed = _DEED.match(clause)
        if deed or own:
            topic, source = (deed["it"], "") if deed else (own, clause)
    return asked


def _are_questions(text: str, found: list[str]) -> bool:
    """Whether the clauses are separate questions or phrases; a relative clause or a verb phrase is not."""
    if re.search(r"[?;\uff1f\uff1b]", text):
        return True
    if any(_VERB_PHRASE.match(clause) for clause in found[1:]):
        return False
    is_bare = not begins_to_ask(found[0]) and not has_attribute(found[0]) and not re.search(r" [A-Z]", found[0])
    if is_bare and _ASKS_FOR_ITEM.match(found[1]):
        return False
    relative = _RELATIVE.match(found[0])
    is_relative = relative is not None and found[1].lower().startswith(relative[1].lower())
    is_phrase = len(found[0].split()) <= _PHRASE or _HAS_VERB_FIRST.match(found[1]) is not None
    return not is_relative and (is_phrase or begins_to_ask(found[0]))


def _topic(clause: str) -> str:
    """The topic of a clause; empty if it has none."""
    match = next((m for pattern in _TOPICS if (m := pattern.match(clause))), None)
    named = names(clause)
    if match and not REFERENCE.search(match["it"]):
        return _without_deed(match["it"], clause)
    return named[-1] if named and not match else ""


def _without_deed(topic: str, clause: str) -> str:
    """The topic without what is said of it: "a heat pump" for "a heat pump used for"."""
    if _ASKS_WHAT.match(clause):
        return _SAID_AT_END.sub("", topic).replace(" like in ", " in ").removesuffix(" like")
    return _SAID.sub("", topic)


def _is_attribute(topic: str) -> bool:
    """Whether a topic is an attribute of something named before: "the capital"."""
    return topic.lower().startswith("the ") and names_attribute(topic[4:]) and len(topic.split()) == 2


def topic_of(question: str) -> str:
    """The topic of a question without capitalised names: "mona lisa" for "who painted the mona lisa"."""
    asked = question.rstrip(" ?!.")
    deed = _DEED.match(asked)
    topic = _owner(deed["it"] if deed else _topic(asked))
    return "" if _SPEAKER.search(topic) else re.sub(r"^(?:the|an?) ", "", topic, flags=re.I)


def _carried(first: str) -> str:
    """The topic for a later clause without a topic: the action, subject, last name or topic of the first clause."""
    if deed := _DEED.match(first):
        return first[deed.start("deed") :]
    doer = subject_of(first)
    if doer and is_sure(doer, first, ""):
        return doer
    named = names(first)
    return named[-1] if named else _owner(_topic(first))


def _owner(topic: str) -> str:
    """The owner in "the capital of Peru"; a name such as "the Tower of London" is unchanged."""
    head, _, owner = topic.partition(" of ")
    return owner if owner and not re.search(r"[A-Z][a-z]", head) else topic


def _about(clause: str, topic: str, before: str) -> str:
    """Replaces the pronoun that refers to the topic.

    After "who invented the telephone", "he" and "she" become "the person who invented the telephone".
    """
    whole = _owner(topic)
    place = whole.rpartition(" in ")[2]
    start = max((dummy.end() for dummy in DUMMY.finditer(clause)), default=0)
    head, rest = clause[:start], clause[start:]
    if _PERSON.search(rest):
        person = f"the person {before[:1].lower()}{before[1:]}" if _WHO.match(before) else topic
        return head + _PERSON.sub(lambda _: person, rest, count=1)
    where = (_THERE, lambda match: f"{match['way']}to {whole}" if match["way"] else f"in {place}")
    pronouns = (
        (_THING, lambda _: whole),
        (_OWN, lambda _: f"{whole}'s"),
        (_ONE, lambda _: topic),
        where,
    )
    for pronoun, stands_for in [where] if THEY_THERE.search(rest) else pronouns:
        if pronoun.search(rest):
            return head + pronoun.sub(stands_for, rest, count=1)
    return f"{whole} {clause}"

"""Questions that are asked in one breath, each with what it leans on in the one before."""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import REFERENCE, begins_to_ask, clauses, find_list, names

_NOUN_PHRASE = r"(?P<it>(?:(?:the|an?|his|her|my|our) )?[\w'\u02cd\ua788.-]+(?: [\w'\u02cd\ua788.-]+){0,6})"
_PARTICIPLE = (
    r"[a-z]+ed|born|built|bought|brought|caught|cut|drawn|fought|found|given|grown|held|hidden|kept|known|laid|led|lost"
    r"|made|paid|seen|sent|set|shot|shown|sold|spoken|spent|stolen|sung|taken|taught|thrown|won|worn|written"
)
_TOPICS = [
    re.compile(f"^{shape}$", re.I)
    for shape in (
        rf"(?:who|what|which)(?:'s| is| are| was| were) (?:called )?{_NOUN_PHRASE}",
        r"(?:who|what) (?:\w+ed|wrote|built|made|sang|drew|won|found|led|owns|runs|makes|created) " + _NOUN_PHRASE,
        rf"how \w+ (?:is|are|was|were) {_NOUN_PHRASE}",
        rf"(?:when|where) (?:did|does|do) {_NOUN_PHRASE} (?-i:[a-z]+)",
        rf"(?:when|where) (?:is|are|was|were) {_NOUN_PHRASE} (?-i:{_PARTICIPLE}|open|closed|now|today)",
        rf"(?:when|where) (?:is|are|was|were) {_NOUN_PHRASE}",
        rf"(?:tell me about|explain|describe|about) {_NOUN_PHRASE}",
        rf"(?:what|how|why) (?:does|do|did) {_NOUN_PHRASE} (?:do|mean|work|cost|happen|stand for)",
    )
]
_IDLE_IT = re.compile(
    r"\b(?:(?:does|did|will|would) it (?:take|cost|matter|mean|rain|snow)|it takes|is it (?:\w+ )?(?:possible|legal"
    r"|safe|true|ok|okay|worth|better|necessary|time|like|cheaper|easier|allowed|healthy|normal))\b",
    re.I,
)
_THING = re.compile(r"\b(?:it|they|them)\b", re.I)
_PERSON = re.compile(r"\b(?:he|she|him)\b", re.I)
_PLURAL = re.compile(r"\b(?:they|them|their)\b", re.I)
_WHO = re.compile(r"^who (?!(?:is|was|are|were)\b)\w+ ", re.I)
_JOINING = re.compile(r"^(?:and|also|plus|then) (?:also )?", re.I)
_HAS_VERB_FIRST = re.compile(
    r"^(?:who|(?:\w+ )?(?:what|which|how|when|where|why)(?: \S+){0,3}) "
    r"(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had)\b",
    re.I,
)
"""The verb stands where a question has it, soon after what is asked."""
_QUESTION_AFTER_COMMA = re.compile(r", (?=(?:who|what|when|where|which|why|how) )", re.I)
_OWN = re.compile(r"\b(?:its|his|her|their)\b(?! (?:and|or)\b)", re.I)
_PHRASE = 8
"""Words of a phrase that asks without a verb, at most: "capital of Peru and how large is Lima"."""
_VERB_PHRASE = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|has|have|had) (?!(?:the|an?|it|he|she|they|i|you|we|there|my|your|our"
    r"|his|her|their|its|this|that|these|those|any|some|all|people|both)\b)[a-z]"
)
_RELATIVE = re.compile(r"^(?:.+ )(who|which|whose|whom|where|that) ", re.I)


def asked_in_turn(text: str) -> list[str]:
    """The questions of a text, pronouns replaced by what they stand for; none where one would stand for nothing.

    Args:
        text: on one line; names with "and" marked as one word.
    """
    found = clauses(text)
    if len(found) < 2 or not _are_questions(text, found):
        return []
    found = [_JOINING.sub("", part) for clause in found for part in _QUESTION_AFTER_COMMA.split(clause)]
    asked: list[str] = []
    topic = ""
    for clause in found:
        own = _topic(clause)
        if REFERENCE.search(clause) and asked and not _IDLE_IT.search(clause):
            if (not topic and not names(clause)) or (_PLURAL.search(clause) and find_list(asked[-1])):
                return []
            clause = _about(clause, topic, asked[-1]) if topic else clause
        elif asked and not own and not find_list(asked[0]) and (named := names(asked[0])):
            clause = f"{clause} ({named[-1]})"
        asked.append(clause)
        topic = own or topic
    return asked


def _are_questions(text: str, found: list[str]) -> bool:
    """Whether the clauses are questions or phrases, and the later ones are not about a person or thing of the first."""
    if re.search(r"[?;\uff1f\uff1b]", text):
        return True
    if any(_VERB_PHRASE.match(clause) for clause in found[1:]):
        return False
    relative = _RELATIVE.match(found[0])
    is_relative = relative is not None and found[1].lower().startswith(relative[1].lower())
    is_phrase = len(found[0].split()) <= _PHRASE or _HAS_VERB_FIRST.match(found[1]) is not None
    return not is_relative and (is_phrase or begins_to_ask(found[0]))


def _topic(clause: str) -> str:
    """What a clause is about."""
    match = next((m for pattern in _TOPICS if (m := pattern.match(clause))), None)
    named = names(clause)
    if match and not REFERENCE.search(match["it"]):
        return match["it"]
    return named[-1] if named and not match else ""


def _about(clause: str, topic: str, before: str) -> str:
    """The clause with its pronoun replaced; a thing that belongs to another ("the capital of Peru") is the other.

    The name of a thing is kept whole: "the Tower of London".

    After "who invented the telephone" a person is the one who did.
    """
    head, _, owner = topic.partition(" of ")
    whole = owner if owner and not re.search(r"[A-Z][a-z]", head) else topic
    if _PERSON.search(clause) and _WHO.match(before):
        topic = f"the person {before[:1].lower()}{before[1:]}"
    if _PERSON.search(clause):
        return _PERSON.sub(lambda _: topic, clause, count=1)
    if _THING.search(clause):
        return _THING.sub(lambda _: whole, clause, count=1)
    if _OWN.search(clause):
        return _OWN.sub(lambda _: f"{whole}'s", clause, count=1)
    return f"{whole} {clause}"

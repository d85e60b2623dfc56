"""Finds the subject of a question with an auxiliary verb, and tells whether the next question refers to it.

After "When did Norway gain independence", "its" is Norway's. After "When did Apple release the iPhone", "it" may be
either one. The parts of a question are only searched one by one if they cannot get the wrong name.
"""

from __future__ import annotations

import re

from acqo_rl.reformulation.signals import NAME_PHRASE, PARTICIPLE, is_plural, names

_ASK = r"(?i:(?:(?:in|on|at|by|for|to|from|since|until) )?(?:when|where|why|how|what|which|who)\b(?: [a-z]+){0,2}? )"
_HELPS = r"(?i:did|does|do|will|would|can|could|should|has|have|had)"
_DID = re.compile(
    rf"{_ASK}?(?:{_HELPS} (?P<doer>(?!I ){NAME_PHRASE}) (?P<verb>(?!and\b|or\b|vs\b|versus\b|&)[a-z]+)(?P<object> .+)?"
    rf"|(?i:is|are|was|were) (?P<done>(?!I ){NAME_PHRASE}) (?!based\b)(?:{PARTICIPLE})\b.*)"
)
"""A question about the deed of a name, or about what was done to it."""
_ASKS_DID = re.compile(rf"{_ASK}?{_HELPS} (?P<after>.+)")
_ONE_NOUN = re.compile(r"(?:(?:the|an?|his|her|my|our) )?[\w'\u02cd\ua788.-]+")
_ANYBODY = re.compile(
    r"(?:i|you|we|one|people|they|humans?|man|mankind|someone|anyone|(?:the )?(?P<many>[a-z]+)) ", re.I
)
_INTRANSITIVE = re.compile(
    r"(?:air|arrive|begin|bloom|close|collapse|come|cost|crash|depart|die|disappear|dissolve|end|erupt|exist|expire"
    r"|explode|fail|fall|finish|form|go|happen|hatch|land|last|launch|leave|live|mean|migrate|occur|open|operate"
    r"|originate|premiere|retire|return|run|sink|sleep|start|stop|work)s?\b(?: (?:from|to|in|at)$)?"
)
_MAKES = re.compile(
    r"(?:acquire|adapt|announce|build|buy|compose|construct|create|design|develop|direct|discontinue|discover|film|found"
    r"|introduce|invent|launch|make|open|paint|produce|propose|publish|record|release|retire|sculpt|sell|start|unveil"
    r"|write)"
)
"""Verbs whose object is often what the next question is about: "it" after "When did Apple release the iPhone"."""
_OF_PEOPLE = re.compile(
    r"(?:appoint|arrest|assassinate|beat|choose|crown|defeat|elect|execute|expel|fire|hire|imprison|jail|kill|marry|meet"
    r"|name|nominate|send|sign|succeed|teach)"
)
"""Verbs whose subject and object may both be a person: "he" after "When did Barcelona sign Messi"."""
_PERSON = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
_THEY = re.compile(r"\b(?:they|them|their|theirs)\b", re.I)
THEY_THERE = re.compile(r"\bthey\b.*\bthere\b", re.I)
"""The people of a place: "what do they eat there"."""
_OF_EVENT = re.compile(
    r"\b(?:its|the) (?:[a-z]+ )?(?:aftermath|causes?|consequences?|effects?|impacts?|implications?|importance|motives?"
    r"|outcomes?|purposes?|reasons?|results?|significance)\b|\b(?:did|does|do|will|would) it (?:affect|cause|end"
    r"|happen|lead|mean|matter|take)\b|\bit (?:happened|led|took)\b"
    r"|\bwas it (?:a )?(?:success\w*|worth|necessary|legal)\b",
    re.I,
)
"""A later question about the event of the first one."""
_OBJECT = re.compile(r" (?:(?:the|an?|this|that) |(?!(?:in|on|at|to|from|with|for|by|as) )\S*[A-Z])")
_ADVERBIAL = re.compile(r" (?:in|on|at|to|from|with|for|by|as)\b")
_OWN = re.compile(r"\b(?:its|his|her|their|it|he|she|they)\b", re.I)


def subject_of(question: str) -> str:
    """The name that does something, or to which something is done; empty if the question has no such name."""
    match = _deed(question)
    return (match["doer"] or match["done"]) if match else ""


def is_sure(topic: str, question: str, later: str) -> bool:
    """Whether a later question surely refers to the topic of a question, and not to another thing or the event.

    Args:
        topic: of the question.
        question: the question, in which names with lower-case words are marked as one word.
        later: the next question, with a pronoun.
    """
    if THEY_THERE.search(later) and re.match(r"who\b", question, re.I):
        return False
    match = _deed(question)
    if match:
        return _OF_EVENT.search(later) is None and (not match["object"] or _refers_to_doer(match, later))
    asked = _ASKS_DID.fullmatch(question)
    if asked is None:
        return True
    if _OF_EVENT.search(later):
        return False
    after = asked["after"]
    if after.startswith(f"{topic} ") and _INTRANSITIVE.fullmatch(after[len(topic) + 1 :]):
        return True
    named = names(after)
    if named:
        anybody = _ANYBODY.match(after)
        is_anybody = anybody is not None and (not anybody["many"] or is_plural(anybody["many"]))
        return (
            is_anybody
            and topic == named[-1]
            and len(named) == 1
            and (not _THEY.search(later) or bool(THEY_THERE.search(later)))
        )
    return _ONE_NOUN.fullmatch(topic) is not None


def _deed(question: str) -> re.Match[str] | None:
    """The deed, if the name before it is the whole subject: not "the Vietnam" in "When did the Vietnam war end"."""
    match = _DID.fullmatch(question)
    if not match or match["done"]:
        return match
    after = match["object"] or ""
    is_verb = any(verbs.fullmatch(match["verb"]) for verbs in (_MAKES, _OF_PEOPLE, _INTRANSITIVE))
    is_noun = after and not is_verb and _INTRANSITIVE.match(after[1:])
    may_go_on = match["doer"].startswith("the ") and " of " not in match["doer"]
    is_unclear = may_go_on and after and not _OBJECT.match(after) and not _ADVERBIAL.match(after)
    return None if is_noun or is_unclear or re.search(r"['\u2019]s?$", match["doer"]) else match


def _refers_to_doer(did: re.Match[str], later: str) -> bool:
    """Whether a pronoun refers to the one who acts, and not to what the deed was done to."""
    if _OWN.search(did["object"]) or (_THEY.search(later) and any(map(is_plural, did["object"].split()))):
        return False
    verbs = _OF_PEOPLE if _PERSON.search(later) else _MAKES
    return not (verbs.fullmatch(did["verb"]) and _OBJECT.match(did["object"]))

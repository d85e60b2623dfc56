"""Finds the names in a conversation that a question refers to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.conversations import Turn
from acqo_rl.reformulation.follow_ups import topic_of
from acqo_rl.reformulation.signals import asked_first, last_said, names, names_of_own, newest_first, told_apart

_HE_OR_SHE = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
_NAMED = r"(?-i:[^\W\d_a-z][\w'\u2019.-]*(?: [^\W\d_a-z][\w'\u2019.-]*)*)"
_NO_PERSON = re.compile(
    rf"\b(?:in|at|near|from|to|of|the|an?)(?: the)? {_NAMED}(?:(?:, and |, | and ){_NAMED})*"
    r"|^\W*who (?!(?:is|are|was|were)\b)\w+ .*|\b(?:he|she|his|her)\b.*",
    re.I,
)
"""A place, a thing with an article, what somebody asks who made it, and what is said of a person named before."""
_WHERE = re.compile(r"(?:and )?(?:where|(?:in |from )?(?:which|what) (?:country|city|town|place))\b", re.I)
_MAKER = re.compile(rf"\bby ({_NAMED})", re.I)


def antecedents(text: str, history: Sequence[Turn]) -> list[str]:
    """The names that a question may refer to, most likely first: one person for "he" and "she", else all names.

    If the user wrote no capitalised names, the topic of the user's last question that has a topic comes first.
    """
    person = _person(text, history) if _HE_OR_SHE.search(text) else ""
    if person:
        return [person]
    said = last_said(asked_first(history), names_of_own)
    asked = [turn.text for turn in reversed(history) if turn.speaker == "user"]
    topics = [] if any(map(names, asked)) else list(filter(None, map(topic_of, asked)))[:1]
    return told_apart([*topics, *said])


def _person(asked: str, history: Sequence[Turn]) -> str:
    """The most likely person in the newest turn that names one, in the longest form; empty if there is none.

    A name after "by" is preferred, then a name of several words, then the first name.
    """
    turns = newest_first(history)
    things = {name for turn in turns for part in _NO_PERSON.findall(turn) for name in names(part)} | set(names(asked))
    for turn, before in zip(turns, [*turns[1:], ""], strict=True):
        if _WHERE.match(before):  # it names places
            continue
        people = [name for name in names_of_own(_NO_PERSON.sub(" ", turn)) if name not in things]
        if people:
            makers = _MAKER.findall(turn)
            found = max(people, key=lambda name: (name in makers, " " in name))
            longer = (name for said in turns for name in names(said) if f" {found} " in f" {name} ")
            return told_apart([found, *longer])[0]
    return ""

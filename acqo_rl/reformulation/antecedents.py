"""Finds the names in a conversation that a question refers to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from acqo_rl.reformulation.follow_ups import topic_of
from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.reformulation.name_lists import SPACE, unmarked
from acqo_rl.reformulation.signals import (
    LONGEST,
    find_list,
    is_form,
    last_said,
    names,
    names_of_own,
    newest_first,
    user_turns_first,
    without_shorter_forms,
)
from acqo_rl.reformulation.splitting import mark_names, parts_of
from acqo_rl.text import one_line
from acqo_rl.types import Turn

_HE_OR_SHE = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
_NAMED = r"(?-i:[^\W\d_a-z][\w'\u2019.-]*(?: [^\W\d_a-z][\w'\u2019.-]*)*)"
_NO_PERSON = re.compile(
    rf"\b(?:in|at|near|from|to|of|the|an?)(?: the)? {_NAMED}(?:(?:, and |, | and ){_NAMED})*"
    r"|^\W*who (?!(?:is|are|was|were)\b)\w+ .*|\b(?:he|she|his|her)\b.*",
    re.I,
)
"""A place, a thing with an article, what somebody asks who made it, and what is said of a person named before."""
_THEY = re.compile(r"\b(?:they|them|their|theirs|both)\b", re.I)
_IT = re.compile(r"\b(?:it|its)\b", re.I)
_WHO = re.compile(r"\W*(?:and |so )?who\b", re.I)
_WHO_DID = re.compile(r"\s*(?:and )?who (?:(?P<be>is|was) the|(?!(?:is|was|are|were)\b)(?P<did>\w+)) ", re.I)
_PERSON = r"(?!(?:it|he|she|they|i|the|an?|yes|no|not|this|that|nobody|unknown)\b)[^\W\d]+(?: [^\W\d]+){1,2}"
_WHERE = re.compile(r"(?:and )?(?:where|(?:in |from )?(?:which|what) (?:country|city|town|place))\b", re.I)
_MAKER = re.compile(rf"\bby ({_NAMED})", re.I)


_MOST_NAMES = 2
_MOST_LISTED = 3
_NAME_WORDS = 8


def antecedents(text: str, history: Sequence[Turn], lexicon: Lexicon | None = None) -> list[str]:
    """The names that a question refers to and does not contain, most likely first.

    "He" and "she" refer to one person, "they" to the names of the newest list ("Goethe and Schiller"), if there is one,
    and "it" to the thing that the user named last. Otherwise, these are the two newest names. If the user wrote no
    capitalised names, the topic of the user's last question that has a topic comes first.

    Args:
        text: the current turn.
        history: earlier turns, oldest first.
        lexicon: names of the corpus; a joined name such as "War and Peace" is one name. By default a list of common
            names.
    """
    lexicon = lexicon or common_lexicon()
    history = with_marked_names(history, lexicon)
    if not _THEY.search(text):
        history = _with_marked_lists(history, lexicon)
    found, most = _referred(text, history)
    return [name for name in without_shorter_forms(map(unmarked, found))[:most] if not _has(text, name)]


def with_marked_names(history: Sequence[Turn], lexicon: Lexicon) -> list[Turn]:
    """The turns on one line, in which names with lower-case words, such as "War and Peace", are marked as one word."""
    return [replace(turn, text=_marked(one_line(turn.text), lexicon)) for turn in history]


def _marked(text: str, lexicon: Lexicon) -> str:
    if len(text) > LONGEST:
        return text
    return " ".join(map(_marked_if_needed, mark_names(text, lexicon).split(" ")))


def _marked_if_needed(word: str) -> str:
    """A marked name without commas; without marks if it is one name without them, or too long for a name."""
    plain = unmarked(word)
    is_plain = names(plain) == [plain.rstrip("?!.,;:")] or len(plain.split()) > _NAME_WORDS
    return plain if is_plain else word.replace(f",{SPACE}", SPACE)


def _with_marked_lists(history: Sequence[Turn], lexicon: Lexicon) -> list[Turn]:
    """Marks "X and Y" or "X or Y" as one name.

    A list is not marked if its question is split, or if a later turn names only one of both.
    """
    turns = list(history)
    for place, turn in enumerate(history):
        listed = find_list(turn.text) if turn.speaker == "user" and len(turn.text) <= LONGEST else None
        if listed is None or listed.link or len(listed.items) != 2 or parts_of(unmarked(turn.text), lexicon):
            continue
        whole = turn.text[len(listed.before) : len(turn.text) - len(listed.after)]
        later = {name for after in history[place + 1 :] for name in names(after.text)}
        if listed.conjunction in ("and", "or") and not any(
            name in later for item in listed.items for name in names(item)
        ):
            turns[place] = replace(turn, text=f"{listed.before}{whole.replace(' ', SPACE)}{listed.after}")
    return turns


def _referred(text: str, history: Sequence[Turn]) -> tuple[Sequence[str], int]:
    """The names that a question may refer to, and the maximum number of them; those that it contains count."""
    asked = [turn.text for turn in reversed(history) if turn.speaker == "user"]
    topics = [] if any(map(names, asked)) else list(filter(None, map(topic_of, asked)))[:1]
    if _HE_OR_SHE.search(text):
        person = _maker(history) or _person(text, history)
        if person or topics:
            return without_shorter_forms(filter(None, [person, *topics]))[:1], 1
    if _THEY.search(text) and (listed := _last_list(history)):
        return listed, _MOST_LISTED
    if _IT.search(text) and (thing := _thing(history)):
        return thing, _MOST_NAMES
    return [*topics, *last_said(user_turns_first(history), names_of_own)], _MOST_NAMES


def _thing(history: Sequence[Turn]) -> list[str]:
    """The thing that the user named last, with the newest other name in the answers to it: "Norway" and "Oslo".

    Of listed things, it is the one that the answers name first, otherwise the last one. "San Felipe in Chile" is San
    Felipe, with its country. An answer to "who" names a person.
    """
    answers: list[str] = []
    for turn in reversed(history):
        if turn.speaker != "user":
            answers.append(turn.text)
        elif asked := names_of_own(turn.text):
            said = [name for answer in answers for name in reversed(names_of_own(answer))]
            if len(asked) > 1 and find_list(turn.text):
                chosen = [name for name in reversed(said) if any(is_form(name, one) for one in asked)]
                return [*chosen, asked[-1]][:1]
            others = [name for name in said if not any(is_form(name, one) for one in asked)]
            if len(asked) > 1 and re.search(rf"{re.escape(asked[-2])},? in (?:the )?{re.escape(asked[-1])}", turn.text):
                return [_longest(asked[-2], history), asked[-1]]
            return [_longest(asked[-1], history), *([] if _WHO.match(turn.text) else others[:1])]
    return []


def _longest(name: str, history: Sequence[Turn]) -> str:
    """The longest form of a name in the conversation."""
    forms = (one for turn in history for one in names(turn.text) if is_form(name, one))
    return without_shorter_forms([name, *forms])[0]


def _last_list(history: Sequence[Turn]) -> list[str]:
    """The listed names in the newest exchange that has any name; empty if it has no list."""
    said: list[str] = []
    for turn in reversed(history):
        said.append(turn.text)
        if turn.speaker == "user" and any(map(names, said)):
            found = next((listed for one in said if (listed := find_list(one)) and " or " not in one), None)
            return [name for item in found.items for name in names(item)[:1]] if found else []
    return []


def _maker(history: Sequence[Turn]) -> str:
    """The person that an answer in lower case names: "jane austen" after "who wrote emma"; empty if there is none."""
    for asked, answer in reversed(list(pairwise(history))):
        verb = _WHO_DID.match(asked.text)
        if verb and (asked.speaker, answer.speaker) == ("user", "assistant") and not names(answer.text):
            said = answer.text.strip(" .!")
            match = re.match(
                rf"(?P<who>{_PERSON}) {re.escape(verb['be'] or verb['did'])}\b|.*\bby (?P<by>{_PERSON})$", said
            )
            return (match["who"] or match["by"]) if match else said if re.fullmatch(_PERSON, said) else ""
    return ""


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
            return _longest(found, history)
    return ""


def _has(text: str, name: str) -> bool:
    """Whether a text contains a name, in any form or case: "Pablo Picasso" as "picasso", but not as "the picasso".

    Of a joined name, the last three words count: "breakfast" is not "Finches Bed and Breakfast".
    """
    last = re.escape(" ".join(name.split()[-3 if " and " in name else -1 :]))
    return (
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None
        or any(is_form(name, own) for own in names(text))
        or re.search(rf"(?<!\w)(?<!\b(?:the|its) )(?<!\ban )(?<!\ba ){last}(?!\w)", text, re.I) is not None
    )

"""Completes a follow-up that names only what is new: "and Peru?" after "What is the capital of Chile?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.reformulation.antecedents import with_marked_names
from acqo_rl.reformulation.follow_ups import topic_of
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.name_lists import unmarked
from acqo_rl.reformulation.signals import REFERENCE, begins_to_ask, names, names_attribute
from acqo_rl.reformulation.years import years_in
from acqo_rl.text import one_line
from acqo_rl.types import Turn

_PREPOSITION = r"(?:of|in|for|at|from|to|on|by|during|since)"
_FOLLOW_UP = re.compile(
    r"(?:(?:ok(?:ay)?|so|now|then|well|yes|no|thanks),? )*(?:(?:and|or|but) )?(?:(?P<about>(?:what|how) about) )?"
    rf"(?:(?P<of>{_PREPOSITION}) )?(?P<new>(?:the )?[\w'\u2019.&-]+(?: [\w'\u2019.&-]+){{0,4}}?)"
    r"(?: (?:too|then|instead|as well))?[\s?!.]*$",
    re.I,
)
_JOINS = re.compile(r"(?:ok(?:ay)?,? |so,? |now,? )*(?:and|or|but|(?:what|how) about)\b", re.I)
_TIME = re.compile(r"today|tomorrow|tonight|yesterday|now|(?:this|next|last) \w+", re.I)
_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must|not|if|when|why|who|what"
    r"|which|where|how|i|you|we|me|us)\b",
    re.I,
)


def completed(text: str, history: Sequence[Turn], lexicon: Lexicon) -> str:
    """The user's last question, asked of what a follow-up names; empty if the text is no such follow-up.

    Args:
        text: the current turn.
        history: earlier turns, oldest first.
        lexicon: names of the corpus; a joined name such as "War and Peace" is one name.
    """
    question = ""
    for turn in with_marked_names(history, lexicon):
        if turn.speaker == "user":
            question = _carried(turn.text, question) or turn.text
    return unmarked(_carried(one_line(text), question))


def _carried(text: str, question: str) -> str:
    """The question with the new thing in the place of the old one; empty if the place cannot be found."""
    match = _FOLLOW_UP.fullmatch(text)
    if not question or not match or not _JOINS.match(text) or not _is_question(question):
        return ""
    new, of = match["new"], match["of"]
    bare = new.removeprefix("the ")
    if REFERENCE.search(new) or _VERB.search(new) or (not names(bare) and len(bare.split()) > 2):
        return ""
    asked = question.rstrip(" ?!.")
    if _TIME.fullmatch(new):
        return f"{asked} {f'{of} ' if of else ''}{new}"
    if years_in(new):
        return _with_year(asked, new, of)
    if not names(bare) and names_attribute(bare):
        done, times = re.subn(r"\bthe (?!.*\bthe )[\w -]+? (?=of )", f"the {bare} ", asked)
        return done if times else ""
    old = names(asked)
    if of:
        place = re.search(rf"\b{of} (?:the )?{re.escape(old[-1])}(?!\w)" if old else rf"\b{of} [\w' -]+$", asked, re.I)
        return f"{asked[: place.start()]}{of.lower()} {new}{asked[place.end() :]}" if place else ""
    if len(old) > 1:
        return ""
    replaced = old[0] if old else topic_of(asked)
    place = re.search(rf"(?<!\w)(?:the )?{re.escape(replaced)}(?!\w)", asked, re.I) if replaced else None
    return f"{asked[: place.start()]}{new}{asked[place.end() :]}" if place else ""


def _with_year(asked: str, year: str, of: str | None) -> str:
    """The question about another year; the year is added if the question has none."""
    if not years_in(asked):
        return f"{asked} {of or 'in'} {year}"
    return re.sub(r"\b\d{4}\b", year, asked, count=1) if len(years_in(asked)) == 1 else ""


def _is_question(text: str) -> bool:
    """Whether a text is a question or a request, and not a statement about the user."""
    return begins_to_ask(text) and not re.match(r"i\b", text, re.I)

"""Checks by rules whether the wording of a question fits its kind and its passages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.labelling.drafts import name_of
from acqo_rl.labelling.writing import Question
from acqo_rl.reformulation.names import NAME_WORD
from acqo_rl.text import folded, normalised

_WORD = re.compile(r"\w+")
_LETTERS = 4
"""Minimum letters of a word that says what a question is about."""
_NAME = re.compile(rf"(?<=\s){NAME_WORD}")


def fits_its_kind(question: Question) -> bool:
    """Whether the wording fits the kind.

    A bridge hides the name of its second document. A follow-up repeats no name of the first question. A question about
    a shared name tells it.
    """
    draft, text = question.draft, question.query.text
    last = normalised(name_of(draft.documents[-1].title))
    if draft.kind == "bridge":
        return last not in normalised(text)
    if draft.kind == "follow_up":
        first = normalised(question.query.history[0].text)
        repeats = any(normalised(name) in first for name in _NAME.findall(text))
        return not repeats and normalised(text) != first and (not last or last not in normalised(text))
    return draft.kind != "ambiguous" or last in normalised(text)


def is_grounded(question: Question) -> bool:
    """Whether the question shares a word with each passage that it must name, and with no other of its passages.

    It must name both passages of ``several`` and ``comparison``, and the first one of ``bridge``. Models that are too
    weak repeat the worked example of the prompt, or ask about one passage only.
    """
    draft = question.draft
    asked = words_of(" ".join([*(turn.text for turn in question.query.history), question.query.text]))
    words = [words_of(f"{d.title} {passage}") for d, passage in zip(draft.documents, draft.passages, strict=True)]
    if draft.kind == "ambiguous":
        return any(asked & some for some in words)
    named = words[:1] if draft.kind == "bridge" else words
    return all(asked & _only_in(some, words) for some in named)


def _only_in(some: set[str], all_words: Sequence[set[str]]) -> set[str]:
    """The words of one passage that no other passage has."""
    return some - {word for words in all_words if words is not some for word in words}


def words_of(text: str) -> set[str]:
    """The words of at least four letters, and the numbers, in lower case."""
    return {word for word in _WORD.findall(folded(text)) if len(word) >= _LETTERS or word.isdecimal()}

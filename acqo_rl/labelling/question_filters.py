"""Keeps the questions that are worth training on, and counts why the others are dropped."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from acqo_rl.labelling.drafts import Question, name_of
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import NAME_WORD
from acqo_rl.reformulation.pass_through import PassThrough, RecentTurns
from acqo_rl.roles import Fusion, Reformulator, Retriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.text import folded, normalised, text_of

CALL_FAILED, NOT_READABLE = "call failed", "not readable"
COPIED, OTHER_KIND, NOT_GROUNDED, DUPLICATE, NOT_FOUND = (
    "copied",
    "other kind",
    "not grounded",
    "duplicate",
    "not found",
)
REASONS = (CALL_FAILED, NOT_READABLE, COPIED, OTHER_KIND, NOT_GROUNDED, DUPLICATE, NOT_FOUND)
_LONGEST_COPY = 7
"""Maximum number of consecutive words that a question may copy from its passage."""
_LETTERS = 4
"""Minimum letters of a word that says what a question is about."""
_WORD = re.compile(r"\w+")
_NAME = re.compile(rf"(?<=\s){NAME_WORD}")


@dataclass
class FilteredQuestions:
    """The questions that are left, and what was dropped.

    Attributes:
        kept: in input order.
        dropped: reason -> questions.
    """

    kept: list[Question]
    dropped: dict[str, list[Question]] = field(default_factory=dict)

    def keep(self, reason: str, is_good: Callable[[Question], bool]) -> None:
        """Drops the questions that are not good for a reason."""
        good = [is_good(question) for question in self.kept]
        self.dropped[reason] = [q for q, kept in zip(self.kept, good, strict=True) if not kept]
        self.kept = [q for q, kept in zip(self.kept, good, strict=True) if kept]


def filter_questions(filtered: FilteredQuestions, retriever: Retriever, fusion: Fusion) -> None:
    """Applies all filters.

    Args:
        filtered: the questions as written.
        retriever: must find every relevant document of a question among its first 100 documents, by the raw query,
            the rules or the last two turns.
        fusion: of the rules' sub-queries.
    """
    filtered.keep(COPIED, lambda question: copied_words(question) <= _LONGEST_COPY)
    filtered.keep(OTHER_KIND, fits_its_kind)
    filtered.keep(NOT_GROUNDED, is_grounded)
    first = {_all_words(question): question for question in reversed(filtered.kept)}
    filtered.keep(DUPLICATE, lambda question: first[_all_words(question)] is question)
    found = found_questions(filtered.kept, retriever, fusion)
    filtered.keep(NOT_FOUND, lambda question: question.query.id in found)


def copied_words(question: Question) -> int:
    """Length of the longest run of words that the question shares with a passage."""
    asked = _words(question.query.text)
    runs = (SequenceMatcher(None, asked, _words(passage), autojunk=False) for passage in question.draft.passages)
    return max(run.find_longest_match().size for run in runs)


def fits_its_kind(question: Question) -> bool:
    """Whether the wording fits the kind.

    A bridge hides the name of its second document. A follow-up repeats no name of the first question. A question about
    a shared name tells it.
    """
    draft = question.draft
    text = question.query.text
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
    asked = words_of(text_of(question.query))
    words = [words_of(f"{d.title} {passage}") for d, passage in zip(draft.documents, draft.passages, strict=True)]
    if draft.kind == "ambiguous":
        return any(asked & some for some in words)
    named = words[:1] if draft.kind == "bridge" else words
    return all(asked & some.difference(*(other for other in words if other is not some)) for some in named)


def words_of(text: str) -> set[str]:
    """The words of at least four letters, and the numbers, in lower case."""
    return {word for word in _WORD.findall(folded(text)) if len(word) >= _LETTERS or word.isdecimal()}


def found_questions(questions: Sequence[Question], retriever: Retriever, fusion: Fusion) -> set[str]:
    """Ids of the questions whose relevant documents are found by the raw query, the rules or the last two turns."""
    queries = [question.query for question in questions]
    ways: tuple[Reformulator, ...] = (PassThrough(), Heuristic(), RecentTurns())
    results = [SearchPath(way, retriever, fusion).search(queries, DEPTH) for way in ways] if queries else [[], [], []]
    return {
        question.query.id
        for question, *some in zip(questions, *results, strict=True)
        if {d.id for d in question.draft.documents} <= {doc_id for result in some for doc_id in result.fused.doc_ids}
    }


def _all_words(question: Question) -> frozenset[str]:
    """The words of a question and of the conversation before it."""
    return frozenset(_words(text_of(question.query)))


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))

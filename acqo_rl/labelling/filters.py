"""Keeps the questions that are worth training on, and counts why the others are dropped."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acqo_rl.labelling.fit import fits_its_kind, is_grounded
from acqo_rl.labelling.writing import Question
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.roles import Fusion, Reformulator, Retriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.text import folded, normalised

CALL_FAILED, NOT_READABLE = "call failed", "not readable"
COPIED, OTHER_KIND, NOT_GROUNDED = "copied", "other kind", "not grounded"
DUPLICATE, NOT_FOUND, EASY = "duplicate", "not found", "too easy"
REASONS = (CALL_FAILED, NOT_READABLE, COPIED, OTHER_KIND, NOT_GROUNDED, DUPLICATE, NOT_FOUND, EASY)
_SAME = 0.8
"""Questions with a document in common are duplicates if their sets of words overlap by at least this (Jaccard)."""
_WORD = re.compile(r"\w+")


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


def filter_questions(
    filtered: FilteredQuestions, retriever: Retriever, fusion: Fusion, *, longest_copy: int, easy: float, seed: int
) -> None:
    """Applies all filters.

    Args:
        filtered: the questions as written.
        retriever: must find every relevant document of a question among its first 100 documents, by the raw query,
            the rules or the last two turns.
        fusion: of the rules' sub-queries.
        longest_copy: maximum number of words in a row that a question may share with its passages.
        easy: maximum share of kept questions for which the raw query already ranks the relevant documents first.
        seed: of the choice among easy questions.
    """
    filtered.keep(COPIED, lambda question: copied_words(question) <= longest_copy)
    filtered.keep(OTHER_KIND, fits_its_kind)
    filtered.keep(NOT_GROUNDED, is_grounded)
    seen = _Seen()
    filtered.keep(DUPLICATE, seen.is_new)
    found, first = found_questions(filtered.kept, retriever, fusion)
    filtered.keep(NOT_FOUND, lambda question: question.query.id in found)
    surplus = _surplus([q.query.id for q in filtered.kept if q.query.id in first], len(filtered.kept), easy, seed)
    filtered.keep(EASY, lambda question: question.query.id not in surplus)


def copied_words(question: Question) -> int:
    """Length of the longest run of words that the question shares with a passage."""
    from difflib import SequenceMatcher

    asked = _words(question.query.text)
    runs = (SequenceMatcher(None, asked, _words(passage), autojunk=False) for passage in question.draft.passages)
    return max(run.find_longest_match().size for run in runs)


class _Seen:
    """Remembers the words of questions by the documents that answer them."""

    def __init__(self) -> None:
        self._by_document: dict[str, list[frozenset[str]]] = {}
        self._texts: set[tuple[str, ...]] = set()

    def is_new(self, question: Question) -> bool:
        """Whether no earlier question is the same, or has nearly the same words and a document in common."""
        text = tuple(normalised(said) for said in (*(t.text for t in question.query.history), question.query.text))
        words = frozenset(_words(" ".join(text)))
        ids = [document.id for document in question.draft.documents]
        earlier = (other for doc_id in ids for other in self._by_document.get(doc_id, ()))
        if text in self._texts or any(len(words & o) >= _SAME * len(words | o) for o in earlier):
            return False
        self._texts.add(text)
        for doc_id in ids:
            self._by_document.setdefault(doc_id, []).append(words)
        return True


def found_questions(questions: Sequence[Question], retriever: Retriever, fusion: Fusion) -> tuple[set[str], set[str]]:
    """Ids of the questions whose relevant documents are all found, and of those that the raw query finds first.

    They are searched by the raw query, the rules and the last two turns, each document by any of these.
    """
    queries = [question.query for question in questions]
    ways: tuple[Reformulator, ...] = (PassThrough(), Heuristic(), RecentTurns())
    results = [SearchPath(way, retriever, fusion).search(queries, DEPTH) for way in ways] if queries else [[], [], []]
    found, first = set(), set()
    for question, *some in zip(questions, *results, strict=True):
        relevant = {document.id for document in question.draft.documents}
        if relevant <= {doc_id for result in some for doc_id in result.fused.doc_ids}:
            found.add(question.query.id)
        if relevant == set(some[0].fused.doc_ids[: len(relevant)]):
            first.add(question.query.id)
    return found, first


def _surplus(easy: Sequence[str], total: int, most: float, seed: int) -> set[str]:
    """The easy questions to drop so that at most a share ``most`` of those that are left is easy."""
    others = total - len(easy)
    allowed = len(easy) if most >= 1 else math.floor(most * others / (1 - most))
    excess = max(0, len(easy) - allowed)
    return set(random.Random(seed).sample(list(easy), excess))


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))

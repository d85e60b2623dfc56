"""Answers against gold answers, as SQuAD measures them (Rajpurkar et al. 2016, 2018): exact match and token F1.

Texts are compared without case, punctuation, English articles and spacing. Beyond the official script, punctuation is
that of any script, and Chinese and Japanese, which write no spaces, are compared character by character.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_YES_OR_NO = (("yes",), ("no",))
_NO_ANSWER = frozenset(("", "none", "no answer", "noanswer", "unanswerable"))


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """One answer against the gold answers of its question, the best of them for each measure.

    Attributes:
        em: 1 where it is one of them word for word.
        f1: harmonic mean of precision and recall over the words.
        holds: 1 where one of them stands in it; a yes or no has to be its first word. Fit for answers of whole
            sentences, of which exact match is never one (Mallen et al. 2023 call it accuracy).
    """

    em: float
    f1: float
    holds: float


def gold_answers(metadata: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The gold answers of a query: ``answers`` or ``answer`` of its metadata, a text or a list.

    Returns:
        ``None`` where no answer is told, so that nothing can be measured; an empty tuple where the question is known
        to have none (SQuAD 2.0 writes an empty list).
    """
    given = metadata.get("answers")
    if given is None:
        given = metadata.get("answer")
    if given is None:
        return None
    listed = given if isinstance(given, (list, tuple)) else [given]
    texts = ({True: "yes", False: "no"}[a] if isinstance(a, bool) else str(a) for a in listed if a is not None)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def score_answer(answer: str, gold: Sequence[str]) -> AnswerScore:
    """Measures an answer.

    Args:
        answer: empty where the system gave none, which is right for a question that has no answer and wrong for any
            other one.
        gold: the accepted answers; none for a question that has no answer.
    """
    said = answer_tokens(answer)
    if not gold:
        right = float(" ".join(said) in _NO_ANSWER)
        return AnswerScore(right, right, right)
    accepted = [answer_tokens(text) for text in gold]
    return AnswerScore(
        em=float(said in accepted),
        f1=max(_f1(said, tokens) for tokens in accepted),
        holds=float(any(_holds(said, tokens) for tokens in accepted)),
    )


def answer_tokens(text: str) -> tuple[str, ...]:
    """The words that count: NFKC, case folded, without punctuation and English articles.

    As in the official script, punctuation leaves no gap ("U.S." is "us"). A text of nothing but articles or
    punctuation, such as the name "The The", keeps its words.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(c for c in folded if c not in string.punctuation and unicodedata.category(c)[0] != "P")
    spaced = _UNSPACED.sub(r" \1 ", plain)
    return tuple(_ARTICLES.sub(" ", spaced).split() or spaced.split() or folded.split())


def _f1(said: tuple[str, ...], gold: tuple[str, ...]) -> float:
    same = (Counter(said) & Counter(gold)).total()
    return 2 * same / (len(said) + len(gold)) if same else 0.0


def _holds(said: tuple[str, ...], gold: tuple[str, ...]) -> bool:
    if gold in _YES_OR_NO:
        return said[:1] == gold
    return any(said[start : start + len(gold)] == gold for start in range(len(said) - len(gold) + 1))

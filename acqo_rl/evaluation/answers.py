"""Quality of answers: exact match and token F1 as in SQuAD (Rajpurkar et al. 2016, 2018), and their confidence.

Texts are compared without case, punctuation, English articles and spacing. In addition to the official script,
punctuation of all scripts is removed, and Chinese and Japanese, which have no spaces, are compared by characters.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acqo_rl.evaluation.pipeline import Outcome
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import wilson

LABELS = ("High", "Medium", "Low", "Very Low")
"""Labels of the confidence of an answer."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_YES_OR_NO = (("yes",), ("no",))
_NO_ANSWER = frozenset(("", "none", "no answer", "noanswer", "unanswerable"))


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Measures of one answer; each is the best over the gold answers of the question.

    Attributes:
        em: exact match: 1 if the answer equals a gold answer.
        f1: harmonic mean of precision and recall over the words.
        holds: 1 if the answer contains a gold answer; a yes or no must be its first word. Suits answers in whole
            sentences, which never match exactly (called accuracy by Mallen et al. 2023).
    """

    em: float
    f1: float
    holds: float


def gold_answers(metadata: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The gold answers of a query: ``answers`` or ``answer`` of its metadata, a text or a list.

    Returns:
        ``None`` if no answer is known, so that nothing can be measured; an empty tuple if the question is known to have
        no answer (an empty list, as in SQuAD 2.0).
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
        answer: empty if the system gave none, which is right only for a question that has no answer.
        gold: the accepted answers; empty for a question that has no answer.
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
    """The words that are compared: NFKC, case folded, without punctuation and English articles.

    As in the official script, punctuation leaves no gap ("U.S." becomes "us"). A text that has only articles or
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


@dataclass(frozen=True, slots=True)
class Reliability:
    """The answers with one label of confidence.

    Attributes:
        label: of the confidence.
        answers: number of answers to questions with a known answer.
        confidence: mean confidence; ``None`` if there is no answer, as for the next four.
        right: share of answers that hold a gold answer.
        low: lower end of its 95 % interval (Wilson 1927).
        high: upper end.
        f1: mean token F1.
    """

    label: str
    answers: int
    confidence: float | None = None
    right: float | None = None
    low: float | None = None
    high: float | None = None
    f1: float | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Means over the questions with a known answer.

    Attributes:
        questions: number of these questions.
        unknown: number of questions left out because no answer is known.
        answered: share of questions that got an answer. An empty answer counts as wrong in the measures below.
        words: mean length of the answers given.
        em: mean exact match.
        f1: mean token F1.
        holds: share of answers that hold a gold answer.
        reliability: by label of confidence, the highest first.
        calibration_error: mean distance between confidence and share of right answers over the labels, weighted by
            their number of answers (Naeini et al. 2015, with labels as bins).
        auroc: probability that a right answer has a higher confidence than a wrong one; ``None`` if all or no answers
            are right.
    """

    questions: int
    unknown: int
    answered: float
    words: float
    em: float
    f1: float
    holds: float
    reliability: tuple[Reliability, ...]
    calibration_error: float
    auroc: float | None


@dataclass(frozen=True, slots=True)
class StepSummary:
    """Means and shares over the queries of a step of the pipeline.

    Attributes:
        passages: mean number of passages found.
        found: mean share of the relevant documents among all passages found.
        skipped: share of queries for which a part of the step was left out.
        fell_back: share of queries for which a reply could not be used or a model call failed.
        errors: share of queries for which a model call returned no text.
    """

    passages: float
    found: float
    skipped: float
    fell_back: float
    errors: float


def summarise_step(evaluation: Evaluation) -> StepSummary | None:
    """Means of a step of the pipeline; ``None`` for a reformulator."""
    pairs = [(result, result.outcome) for result in evaluation.results if result.outcome is not None]
    if not pairs:
        return None
    found = [np.mean([rank is not None for rank in result.gold_ranks.values()]) for result, _ in pairs]
    return StepSummary(
        passages=float(np.mean([len(outcome.doc_ids) for _, outcome in pairs])),
        found=float(np.mean(found)),
        skipped=float(np.mean([bool(outcome.skipped) for _, outcome in pairs])),
        fell_back=float(np.mean([bool(outcome.failures) for _, outcome in pairs])),
        errors=float(np.mean([bool(outcome.errors) for _, outcome in pairs])),
    )


def summarise_answers(evaluation: Evaluation, gold: Mapping[str, tuple[str, ...] | None]) -> Answers | None:
    """Means over the answers of a step; ``None`` if it answers nothing or no answer is known.

    Args:
        evaluation: of the step.
        gold: query id -> gold answers; ``None`` if no answer is known.
    """
    scored: list[tuple[Outcome, AnswerScore]] = []
    for result in evaluation.results:
        accepted = gold.get(result.reformulation.query.id)
        if result.outcome is not None and result.outcome.answer is not None and accepted is not None:
            scored.append((result.outcome, score_answer(result.outcome.answer, accepted)))
    if not scored:
        return None
    lengths = [len(outcome.answer.split()) for outcome, _ in scored if outcome.answer]
    reliability = tuple(_reliability(label, [pair for pair in scored if pair[0].label == label]) for label in LABELS)
    gaps = [row.answers * abs((row.confidence or 0.0) - (row.right or 0.0)) for row in reliability]
    return Answers(
        questions=len(scored),
        unknown=len(evaluation.results) - len(scored),
        answered=len(lengths) / len(scored),
        words=float(np.mean(lengths)) if lengths else 0.0,
        em=float(np.mean([score.em for _, score in scored])),
        f1=float(np.mean([score.f1 for _, score in scored])),
        holds=float(np.mean([score.holds for _, score in scored])),
        reliability=reliability,
        calibration_error=sum(gaps) / len(scored),
        auroc=auroc([outcome.confidence or 0.0 for outcome, _ in scored], [bool(score.holds) for _, score in scored]),
    )


def auroc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Probability that a right answer has the higher score; ties count half. ``None`` if all or none are right."""
    values, mask = np.asarray(scores), np.asarray(right)
    if mask.all() or not mask.any():
        return None
    gaps = values[mask][:, None] - values[~mask][None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def _reliability(label: str, scored: Sequence[tuple[Outcome, AnswerScore]]) -> Reliability:
    if not scored:
        return Reliability(label, 0)
    right = sum(bool(score.holds) for _, score in scored)
    low, high = wilson(right, len(scored))
    return Reliability(
        label=label,
        answers=len(scored),
        confidence=float(np.mean([outcome.confidence or 0.0 for outcome, _ in scored])),
        right=right / len(scored),
        low=low,
        high=high,
        f1=float(np.mean([score.f1 for _, score in scored])),
    )

"""The figures of a study of the pipeline: what each system finds, costs and answers, and how well it knows that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from acqo_rl.evaluation.answers import AnswerScore, score_answer
from acqo_rl.evaluation.pipeline_systems import PLAIN, Outcome
from acqo_rl.evaluation.significance import Difference, holm, paired_bootstrap, wilson
from acqo_rl.measures import gold_of, per_query, to_run
from acqo_rl.types import Qrels, Ranking

MEASURES = ("R@10", "AllGold@10", "AP@10", "nDCG@10")
LABELS = ("High", "Medium", "Low", "Very Low")


@dataclass(frozen=True, slots=True)
class Reliability:
    """Answers under one label of confidence: how sure they were, and how often they were right.

    Attributes:
        label: of the confidence: High, Medium, Low or Very Low.
        answers: number of them, those to questions with a known answer.
        confidence: mean score; ``None`` where there is no answer.
        right: share that hold the gold answer; likewise.
        low: lower end of its 95 % interval (Wilson 1927).
        high: upper end of it.
        f1: mean; likewise.
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
    """What a system's answers are worth, over the questions whose gold answers are known.

    Attributes:
        questions: number of these.
        unknown: questions left out because no gold answer is told.
        answered: share that got an answer; an empty one counts as wrong below.
        words: mean length of those.
        em: mean exact match.
        f1: mean token F1.
        holds: share of answers that hold a gold answer.
        reliability: by label of confidence, the highest first.
        calibration_error: mean distance of confidence and share of right answers over the labels, weighed by their
            answers (Naeini et al. 2015, with the labels as bins).
        auroc: chance that a right answer has a higher confidence than a wrong one; ``None`` without both kinds.
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
class SystemSummary:
    """Means over the queries.

    Attributes:
        system: its name.
        queries: number of them.
        measures: of the ten best passages.
        differences: measure -> paired difference to plain search; empty for plain search itself.
        corrected: measure -> p-value, corrected by Holm's method for all systems.
        passages: number of passages found.
        found: share of the relevant documents among all of them.
        calls: of a model.
        tokens: that a model wrote.
        searches: texts searched.
        ms_p50: median of the milliseconds that a query waited.
        ms_p95: 95th percentile.
        skipped: share of queries of which a step was left out.
        fell_back: share of queries of which a reply could not be used, or a model call failed.
        errors: share of queries of which a model call failed.
        answers: ``None`` for a system that only searches, or where no gold answer is known.
    """

    system: str
    queries: int
    measures: dict[str, float]
    differences: dict[str, Difference]
    corrected: dict[str, float]
    passages: float
    found: float
    calls: float
    tokens: float
    searches: float
    ms_p50: float
    ms_p95: float
    skipped: float
    fell_back: float
    errors: float
    answers: Answers | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A system's outcomes with their measures, query for query.

    Attributes:
        outcomes: one a query.
        measures: measure -> float[queries].
        found: share of the relevant documents among all passages, float[queries].
        answers: of the answer; ``None`` where there is none to measure.
    """

    outcomes: tuple[Outcome, ...]
    measures: Mapping[str, tuple[float, ...]]
    found: tuple[float, ...]
    answers: tuple[AnswerScore | None, ...]


def measured(outcomes: Sequence[Outcome], qrels: Qrels, gold: Mapping[str, tuple[str, ...] | None]) -> Measured:
    """Measures a system's outcomes.

    Args:
        outcomes: of one system, one a query; every query has a relevant document.
        qrels: judgements.
        gold: query id -> gold answers, ``None`` where none is told.
    """
    ids = [outcome.query_id for outcome in outcomes]
    rankings = {o.query_id: Ranking(o.doc_ids, tuple(-float(i) for i in range(len(o.doc_ids)))) for o in outcomes}
    values = per_query(MEASURES, {query_id: qrels[query_id] for query_id in ids}, to_run(rankings))
    found = []
    for outcome in outcomes:
        wanted = set(gold_of(qrels, outcome.query_id))
        found.append(len(wanted & set(outcome.doc_ids)) / len(wanted))
    return Measured(
        outcomes=tuple(outcomes),
        measures={m: tuple(values[m][query_id] for query_id in ids) for m in MEASURES},
        found=tuple(found),
        answers=tuple(_score(outcome, gold.get(outcome.query_id)) for outcome in outcomes),
    )


def summarise_study(systems: Mapping[str, Measured]) -> list[SystemSummary]:
    """One summary a system, in order; all are compared to plain search."""
    plain = systems[PLAIN].measures
    others = {name: system for name, system in systems.items() if name != PLAIN}
    differences = {
        name: {m: paired_bootstrap(plain[m], system.measures[m]) for m in MEASURES} for name, system in others.items()
    }
    corrected: dict[str, dict[str, float]] = {name: {} for name in others}
    for m in MEASURES:
        for name, p in zip(others, holm([differences[name][m].p for name in others]), strict=True):
            corrected[name][m] = p
    return [
        _summary(name, system, differences.get(name, {}), corrected.get(name, {})) for name, system in systems.items()
    ]


def _summary(
    name: str, system: Measured, differences: dict[str, Difference], corrected: dict[str, float]
) -> SystemSummary:
    outcomes = system.outcomes
    ms = [outcome.ms for outcome in outcomes]
    return SystemSummary(
        system=name,
        queries=len(outcomes),
        measures={m: float(np.mean(values)) for m, values in system.measures.items()},
        differences=differences,
        corrected=corrected,
        passages=float(np.mean([len(o.doc_ids) for o in outcomes])),
        found=float(np.mean(system.found)),
        calls=float(np.mean([o.calls for o in outcomes])),
        tokens=float(np.mean([o.tokens for o in outcomes])),
        searches=float(np.mean([len(o.searched) for o in outcomes])),
        ms_p50=float(np.percentile(ms, 50)),
        ms_p95=float(np.percentile(ms, 95)),
        skipped=float(np.mean([bool(o.skipped) for o in outcomes])),
        fell_back=float(np.mean([bool(o.failures) for o in outcomes])),
        errors=float(np.mean([bool(o.errors) for o in outcomes])),
        answers=summarise_answers(system),
    )


def summarise_answers(system: Measured) -> Answers | None:
    """The worth of a system's answers; ``None`` where there is nothing to measure."""
    scored = [(o, score) for o, score in zip(system.outcomes, system.answers, strict=True) if score is not None]
    if not scored:
        return None
    lengths = [len(o.answer.split()) for o, _ in scored if o.answer]
    reliability = tuple(_reliability(label, [pair for pair in scored if pair[0].label == label]) for label in LABELS)
    return Answers(
        questions=len(scored),
        unknown=len(system.outcomes) - len(scored),
        answered=len(lengths) / len(scored),
        words=float(np.mean(lengths)) if lengths else 0.0,
        em=float(np.mean([score.em for _, score in scored])),
        f1=float(np.mean([score.f1 for _, score in scored])),
        holds=float(np.mean([score.holds for _, score in scored])),
        reliability=reliability,
        calibration_error=sum(row.answers * abs((row.confidence or 0.0) - (row.right or 0.0)) for row in reliability)
        / len(scored),
        auroc=auroc([o.confidence or 0.0 for o, _ in scored], [bool(score.holds) for _, score in scored]),
    )


def auroc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Chance that a right one has the higher score, ties counting half; ``None`` where all or none are right."""
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
        confidence=float(np.mean([o.confidence or 0.0 for o, _ in scored])),
        right=right / len(scored),
        low=low,
        high=high,
        f1=float(np.mean([score.f1 for _, score in scored])),
    )


def _score(outcome: Outcome, gold: tuple[str, ...] | None) -> AnswerScore | None:
    return None if outcome.answer is None or gold is None else score_answer(outcome.answer, gold)

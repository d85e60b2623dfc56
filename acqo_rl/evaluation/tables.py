"""The main tables of a report: results, differences, costs, steps of the pipeline and robustness."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acqo_rl.evaluation.answers import Answers, StepSummary, summarise_answers, summarise_step
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import Difference, holm
from acqo_rl.evaluation.study import ALPHA, PairedComparison, Study
from acqo_rl.evaluation.summary import compare, cost_of, pareto_front, summarise
from acqo_rl.evaluation.systems import System
from acqo_rl.text import one_line

TABLE_MEASURES = ("nDCG@10", "R@10", "AllGold@10", "RR@10")
_MARKDOWN = re.compile(r"([\\`|<]|\](?=[(\[]))")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text. The first ``labels`` columns name the row, and ``note`` explains the others."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1


def aligned(table: Table) -> str:
    """The table in Markdown, with aligned columns. Characters that Markdown would interpret are escaped."""
    lines = [[_MARKDOWN.sub(r"\\\1", one_line(cell)) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(3, *(len(cell) for cell in column)) for column in zip(*lines, strict=True)]
    left = [position < table.labels for position in range(len(widths))]
    rule = ["-" * width if label else f"{'-' * (width - 1)}:" for width, label in zip(widths, left, strict=True)]
    padded = [
        [
            cell.ljust(width) if label else cell.rjust(width)
            for cell, width, label in zip(line, widths, left, strict=True)
        ]
        for line in (lines[0], rule, *lines[1:])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def interval(difference: Difference, *, starred: bool | None = None) -> str:
    """Mean difference and 95 % confidence interval, starred if significant; ``starred`` overrides the star."""
    star = "*" if (difference.significant if starred is None else starred) else ""
    return f"{difference.mean:+.3f}{star} [{difference.low:+.3f}, {difference.high:+.3f}]"


def format_table(
    evaluations: Sequence[Evaluation], baseline: Evaluation, measures: Sequence[str] = TABLE_MEASURES
) -> str:
    """The main table for a terminal, in Markdown; see :func:`results_table`.

    Args:
        evaluations: of the same queries; ``baseline`` is one of them.
        baseline: the evaluation that the others are compared to.
        measures: the columns; the difference is that of the first one.
    """
    systems = {System(evaluation.name, "", ""): evaluation for evaluation in evaluations}
    study = Study(systems, {}, baseline.name, measures)
    return aligned(results_table(study, study.comparisons()))


def results_table(study: Study, gains: Sequence[PairedComparison]) -> Table:
    """One row per system: means of the measures, mean number of sub-queries, difference to the baseline.

    Args:
        study: all evaluations.
        gains: the systems compared to the baseline with the same retriever and fusion.
    """
    measure = study.measures[0]
    by_system = {gain.system: gain for gain in gains}
    names, label = _labels(study)
    rows = []
    for system, evaluation in study.evaluations.items():
        overall = summarise(evaluation).overall
        means = [f"{overall.measures[m]:.3f}" for m in study.measures]
        difference = _starred(by_system[system], measure) if system in by_system else "-"
        rows.append((*label(system), *means, f"{overall.sub_queries:.2f}", difference))
    first = study.evaluations[study.reference]
    left_out = f" {first.unmeasured} queries without a relevant document are left out." if first.unmeasured else ""
    note = (
        f"Means over {len(first.results)} queries.{left_out} The difference is the mean paired difference to "
        f"{study.baseline}{_same(study)}, with a 95 % confidence interval (paired bootstrap over queries). A star "
        f"marks p < {ALPHA}, corrected by Holm's method for all rows."
    )
    header = (*names, *study.measures, "sub-queries", f"{measure}: difference to {study.baseline} [95 % CI]")
    return Table("Results", note, header, tuple(rows), len(names))


def main_tables(study: Study, gains: Sequence[PairedComparison]) -> Iterator[Table]:
    """Results, differences, costs, steps of the pipeline and robustness."""
    yield results_table(study, gains)
    if gains:
        yield _comparisons(f"Against {study.baseline}", study, gains)
        if len(study.measures) > 1:
            yield _differences(study, gains)
    for axis in ("retriever", "fusion"):
        if others := study.comparisons(axis, study.measures[:1]):
            yield _comparisons(f"{axis.capitalize()}s against {getattr(study.reference, axis)}", study, others)
    yield _costs(study)
    steps = {s: summary for s, e in study.evaluations.items() if (summary := summarise_step(e))}
    if steps:
        yield _steps(study, steps)
    answers = {s: found for s, e in study.evaluations.items() if (found := summarise_answers(e, study.gold))}
    if answers:
        yield _answers(study, answers)
        yield from (_reliability(study.name(system), found) for system, found in answers.items())
    if study.variants:
        yield _robustness(study)


def _labels(study: Study) -> tuple[tuple[str, ...], Callable[[System], tuple[str, ...]]]:
    """Header and cells of the columns that name a system."""
    if study.varies_alone("reformulator"):
        return ("",), lambda system: (system.reformulator,)
    return (
        ("reformulator", "retriever", "fusion"),
        lambda system: (system.reformulator, system.retriever, system.fusion),
    )


def _same(study: Study) -> str:
    return "" if study.varies_alone("reformulator") else " with the same retriever and fusion"


def _starred(gain: PairedComparison, measure: str) -> str:
    return interval(gain.comparison.differences[measure], starred=gain.significant(measure))


def _comparisons(title: str, study: Study, gains: Sequence[PairedComparison]) -> Table:
    measure = study.measures[0]
    names, label = _labels(study)
    rows = tuple(
        (
            *label(gain.system),
            _starred(gain, measure),
            f"{gain.comparison.differences[measure].p:.4f}",
            f"{gain.corrected[measure]:.4f}",
            f"{gain.comparison.helped:.1%}",
            f"{1 - gain.comparison.helped - gain.comparison.hurt:.1%}",
            f"{gain.comparison.hurt:.1%}",
        )
        for gain in gains
    )
    note = (
        f"All other components are the same. p (Holm) is corrected for the number of rows. Helped, same, hurt: "
        f"share of queries whose {measure} is higher, equal or lower."
    )
    return Table(title, note, (*names, measure, "p", "p (Holm)", "helped", "same", "hurt"), rows, len(names))


def _differences(study: Study, gains: Sequence[PairedComparison]) -> Table:
    names, label = _labels(study)
    rows = tuple((*label(gain.system), *(_starred(gain, m) for m in study.measures)) for gain in gains)
    note = (
        f"Mean paired difference to {study.baseline}{_same(study)} with a 95 % confidence interval; a star marks "
        f"p < {ALPHA}, corrected by Holm's method for the number of rows."
    )
    return Table("Difference in each measure", note, (*names, *study.measures), rows, len(names))


def _costs(study: Study) -> Table:
    costs = {system: cost_of(evaluation) for system, evaluation in study.evaluations.items()}
    quality = [evaluation.scores(study.measures[0]).mean() for evaluation in study.evaluations.values()]
    front = pareto_front([(cost.ms, value) for cost, value in zip(costs.values(), quality, strict=True)])
    names, label = _labels(study)
    has_reranker = any(cost.reranked for cost in costs.values())
    rows = tuple(
        (
            *label(system),
            f"{cost.calls:.2f}",
            f"{cost.tokens:.1f}",
            f"{cost.embedded:.2f}",
            f"{cost.searches:.2f}",
            f"{cost.reformulation_p50:.1f} / {cost.reformulation_p95:.1f}",
            f"{cost.retrieval_p50:.1f} / {cost.retrieval_p95:.1f}",
            *((f"{cost.reranked:.1f}", f"{cost.reranking_p50:.1f} / {cost.reranking_p95:.1f}") if has_reranker else ()),
            f"{summarise(study.evaluations[system]).copy_rate:.1%}",
            f"{cost.problems:.1%}",
            "yes" if position in front else "",
        )
        for position, (system, cost) in enumerate(costs.items())
    )
    note = (
        "Means per query. Calls: calls of a language model. Embedded: number of embedded texts. Searches include the "
        "first search for feedback, and are counted for each index. Milliseconds (p50 / p95) were measured in batches, "
        "without fusion; --batch_size 1 in a new folder measures single queries. For a step of the pipeline, retrieval "
        "is the time from question to result. "
        f"{'Reranked: number of pairs of text and document that the reranker scored. ' if has_reranker else ''}"
        "Copies: queries for which the raw query is one of the sub-queries. "
        "Problems: queries whose completion could not be used, so the raw query was searched. Front: no other system "
        f"is both faster and better in {study.measures[0]} (Pareto front)."
    )
    reranker = ("reranked", "reranking ms") if has_reranker else ()
    header = ("calls", "tokens", "embedded", "searches", "reformulation ms", "retrieval ms", *reranker)
    header = (*header, "copies", "problems")
    return Table("Cost", note, (*names, *header, "front"), rows, len(names))


def _steps(study: Study, steps: Mapping[System, StepSummary]) -> Table:
    rows = tuple(
        (
            study.name(system),
            f"{step.found:.3f}",
            f"{step.passages:.1f}",
            f"{step.skipped:.0%}",
            f"{step.fell_back:.0%}",
            f"{step.errors:.0%}",
        )
        for system, step in steps.items()
    )
    note = (
        "Found: share of the relevant documents that are among the passages found. Passages: mean number of passages. "
        "Skipped: queries for which a part of the step was skipped. Fell back: queries for which a reply of the model "
        "could not be used. Errors: queries with a failed model call; the same command runs them again."
    )
    return Table("Steps of the pipeline", note, ("", "found", "passages", "skipped", "fell back", "errors"), rows)


def _answers(study: Study, answers: Mapping[System, Answers]) -> Table:
    rows = tuple(
        (
            study.name(system),
            str(a.questions),
            f"{a.answered:.0%}",
            f"{a.words:.0f}",
            f"{a.em:.3f}",
            f"{a.f1:.3f}",
            f"{a.holds:.3f}",
            f"{a.calibration_error:.3f}",
            "-" if a.auroc is None else f"{a.auroc:.3f}",
        )
        for system, a in answers.items()
    )
    unknown = next(iter(answers.values())).unknown
    left_out = f" {unknown} questions without a known answer are left out." if unknown else ""
    note = (
        f"EM and F1 as in SQuAD, the best over the gold answers.{left_out} Contains gold: share of answers that "
        "contain a gold answer. Calibration error: mean distance between confidence and share of right answers. AUROC: "
        "probability that a right answer has a higher confidence than a wrong one (.5 is chance)."
    )
    header = ("", "questions", "answered", "words", "EM", "F1", "contains gold", "calibration error", "AUROC")
    return Table("Answers", note, header, rows)


def _reliability(name: str, answers: Answers) -> Table:
    rows = tuple(
        (row.label, "0", "-", "-", "-")
        if row.right is None
        else (
            row.label,
            str(row.answers),
            f"{row.confidence:.3f}",
            f"{row.right:.3f} [{row.low:.3f}, {row.high:.3f}]",
            f"{row.f1:.3f}",
        )
        for row in answers.reliability
    )
    note = "Answers by the label of their confidence, with Wilson's 95 % interval."
    return Table(f"Confidence of {name}", note, ("", "answers", "confidence", "contains gold", "F1"), rows)


def _robustness(study: Study) -> Table:
    measure = study.measures[0]
    names, label = _labels(study)
    changes = {
        (name, system): compare(variant[system], evaluation, [measure]).differences[measure]
        for name, variant in study.variants.items()
        for system, evaluation in study.evaluations.items()
    }
    corrected = dict(zip(changes, holm([change.p for change in changes.values()]), strict=True))
    rows = []
    for system, evaluation in study.evaluations.items():
        cells = []
        for name, variant in study.variants.items():
            starred = corrected[name, system] < ALPHA
            cells += [f"{variant[system].scores(measure).mean():.3f}", interval(changes[name, system], starred=starred)]
        rows.append((*label(system), f"{evaluation.scores(measure).mean():.3f}", *cells))
    header = [cell for name in study.variants for cell in (name, f"{name}: change")]
    note = (
        f"{measure} on the queries as they are and on queries changed by rules, with the same judgements. The change "
        f"has a 95 % confidence interval; a star marks p < {ALPHA}, corrected by Holm's method for all changes."
    )
    return Table("Robustness", note, (*names, measure, *header), tuple(rows), len(names))

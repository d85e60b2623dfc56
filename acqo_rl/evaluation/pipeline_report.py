"""The report of a study of the pipeline: tables, pictures, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.data.beir import write_atomic
from acqo_rl.evaluation.pipeline_summary import MEASURES, Answers, Measured, SystemSummary, summarise_study
from acqo_rl.evaluation.pipeline_systems import PLAIN
from acqo_rl.evaluation.plots import COLOURS, Point, draw_costs, render
from acqo_rl.evaluation.report import Report, write_pages
from acqo_rl.evaluation.study import ALPHA
from acqo_rl.evaluation.study_files import write_csv
from acqo_rl.evaluation.tables import Table, interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_pipeline_study(
    folder: Path,
    systems: Mapping[str, Measured],
    settings: Mapping[str, Any],
    gold: Mapping[str, tuple[str, ...] | None],
) -> list[Table]:
    """Writes ``report.md``, ``report.html``, ``plots/``, ``pipeline.json``, ``systems.csv`` and ``queries.csv``.

    Args:
        folder: where they go; files of the same names are replaced.
        systems: name -> its outcomes, plain search among them; all of the same queries.
        settings: how it was measured; values that JSON can hold.
        gold: query id -> gold answers.

    Returns:
        The tables of the report.
    """
    summaries = summarise_study(systems)
    tables = study_tables(summaries)
    shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    title = f"The pipeline, step by step, on {summaries[0].queries} queries"
    draw = partial(_pictures, summaries)
    write_pages(folder, Report(title, shown, tables, lambda dark: draw(dark=dark), {}, MEASURES[0]))
    content = {"settings": settings, "systems": [asdict(summary) for summary in summaries]}
    write_atomic(folder / "pipeline.json", [json.dumps(content, indent=2, ensure_ascii=False)])
    write_csv(folder / "systems.csv", map(_system_row, summaries))
    write_csv(folder / "queries.csv", _query_rows(systems, gold))
    return tables


def study_tables(summaries: Sequence[SystemSummary]) -> list[Table]:
    """Every table of the report."""
    tables = [_quality(summaries)]
    if len(summaries) > 1:
        tables.append(_differences(summaries))
    tables.append(_costs(summaries))
    answering = {summary.system: summary.answers for summary in summaries if summary.answers}
    if answering:
        tables += [_answers(answering), *(_reliability(name, answers) for name, answers in answering.items())]
    return tables


def _quality(summaries: Sequence[SystemSummary]) -> Table:
    rows = tuple(
        (s.system, *(f"{s.measures[m]:.3f}" for m in MEASURES), f"{s.found:.3f}", f"{s.passages:.1f}")
        for s in summaries
    )
    note = (
        f"Means over {summaries[0].queries} queries; every system but the policy begins with the first search of "
        f"{PLAIN}. Found: share of the relevant documents among all passages that were gathered, whose mean number is "
        "beside it."
    )
    return Table("Retrieval quality", note, ("", *MEASURES, "found", "passages"), rows)


def _differences(summaries: Sequence[SystemSummary]) -> Table:
    others = [summary for summary in summaries if summary.differences]
    rows = tuple(
        (s.system, *(interval(s.differences[m], starred=s.corrected[m] < ALPHA) for m in MEASURES)) for s in others
    )
    note = (
        "Mean paired difference with its 95 % confidence interval (paired bootstrap over queries), starred where p, "
        f"corrected by Holm's method for the {len(others)} rows of a column, is below {ALPHA}."
    )
    return Table(f"Difference to {PLAIN}", note, ("", *MEASURES), rows)


def _costs(summaries: Sequence[SystemSummary]) -> Table:
    rows = tuple(
        (
            s.system,
            f"{s.calls:.2f}",
            f"{s.tokens:.0f}",
            f"{s.searches:.2f}",
            f"{s.ms_p50:.0f}",
            f"{s.ms_p95:.0f}",
            f"{s.skipped:.0%}",
            f"{s.fell_back:.0%}",
            f"{s.errors:.0%}",
        )
        for s in summaries
    )
    header = ("", "model calls", "tokens written", "searches", "ms p50", "ms p95", "skipped", "fell back", "errors")
    note = (
        "Means a query. Milliseconds are what a query waited, also for the others that were asked at the same time "
        "(concurrency, above). Skipped: queries of which a step was left out, for the budget or for want of passages. "
        "Fell back: queries of which a reply could not be used. Errors: queries of which a model call failed; the "
        "next run measures them again."
    )
    return Table("Cost", note, header, rows)


def _answers(answering: Mapping[str, Answers]) -> Table:
    rows = tuple(
        (
            name,
            str(a.questions),
            f"{a.answered:.0%}",
            f"{a.words:.0f}",
            f"{a.em:.3f}",
            f"{a.f1:.3f}",
            f"{a.holds:.3f}",
            f"{a.calibration_error:.3f}",
            "-" if a.auroc is None else f"{a.auroc:.3f}",
        )
        for name, a in answering.items()
    )
    unknown = next(iter(answering.values())).unknown
    left_out = f" Left out because no gold answer is told: {unknown} questions." if unknown else ""
    note = (
        f"EM and F1 as SQuAD has them, the best over the gold answers.{left_out} Holds: a gold answer stands in the "
        "answer, which may be a sentence that matches none exactly; a yes or no has to be its first word. "
        "Calibration error: mean distance of confidence and share of answers that hold the gold one. AUROC: chance "
        "that one of these has a higher confidence than one of the others; .5 is a coin."
    )
    header = ("", "questions", "answered", "words", "EM", "F1", "holds", "calibration error", "AUROC")
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
    note = "Answers by the label of their confidence; the interval is Wilson's of 95 %."
    return Table(f"Confidence of {name}", note, ("", "answers", "confidence", "holds", "F1"), rows)


def _pictures(summaries: Sequence[SystemSummary], *, dark: bool) -> dict[str, bytes]:
    def points(cost: str) -> list[Point]:
        return [Point(s.system, s.system, getattr(s, cost), s.measures[MEASURES[0]]) for s in summaries]

    pictures = {
        "quality_against_milliseconds.png": draw_costs(
            points("ms_p50"), "milliseconds a query, median", MEASURES[0], dark=dark
        ),
        "quality_against_model_calls.png": draw_costs(
            points("calls"), "model calls a query, mean", MEASURES[0], dark=dark
        ),
    }
    answering = {s.system: s.answers for s in summaries if s.answers}
    if answering:
        pictures["reliability.png"] = render(partial(_draw_reliability, answering), size=(6, 4.5), dark=dark)
    return pictures


def _draw_reliability(answering: Mapping[str, Answers], figure: Figure) -> None:
    """Share of right answers against confidence, one point a label, its area by the number of answers."""
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
    for colour, (name, answers) in zip(COLOURS, answering.items(), strict=False):
        rows = [row for row in answers.reliability if row.answers]
        x, y = [row.confidence or 0.0 for row in rows], [row.right or 0.0 for row in rows]
        errors = [[(r.right or 0) - (r.low or 0) for r in rows], [(r.high or 0) - (r.right or 0) for r in rows]]
        axes.errorbar(x, y, yerr=errors, fmt="none", ecolor=colour, elinewidth=1, capsize=3)
        axes.scatter(x, y, s=[30 + 200 * r.answers / answers.questions for r in rows], color=colour, label=name)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("confidence, mean of a label")
    axes.set_ylabel("share of answers that hold the gold one")
    axes.set_title("Is an answer right as often as it is sure?")
    axes.legend(frameon=False)


def _system_row(summary: SystemSummary) -> dict[str, Any]:
    row: dict[str, Any] = {"system": summary.system, "queries": summary.queries}
    for m in MEASURES:
        difference = summary.differences.get(m)
        row |= {
            m: summary.measures[m],
            f"{m} difference": difference and difference.mean,
            f"{m} low": difference and difference.low,
            f"{m} high": difference and difference.high,
            f"{m} p_holm": summary.corrected.get(m),
        }
    for key in (
        "found",
        "passages",
        "calls",
        "tokens",
        "searches",
        "ms_p50",
        "ms_p95",
        "skipped",
        "fell_back",
        "errors",
    ):
        row[key] = getattr(summary, key)
    for key in ("questions", "answered", "words", "em", "f1", "holds", "calibration_error", "auroc"):
        row[key] = summary.answers and getattr(summary.answers, key)
    return row


def _query_rows(
    systems: Mapping[str, Measured], gold: Mapping[str, tuple[str, ...] | None]
) -> Iterator[dict[str, Any]]:
    for name, system in systems.items():
        for position, outcome in enumerate(system.outcomes):
            score = system.answers[position]
            yield {
                "system": name,
                "query_id": outcome.query_id,
                **{m: values[position] for m, values in system.measures.items()},
                "found": system.found[position],
                "passages": len(outcome.doc_ids),
                "calls": outcome.calls,
                "tokens": outcome.tokens,
                "searched": " | ".join(outcome.searched),
                "ms": outcome.ms,
                "strategies": " ".join(outcome.strategies),
                "skipped": " | ".join(outcome.skipped),
                "failures": " | ".join(outcome.failures),
                "answer": outcome.answer,
                "gold": " | ".join(gold.get(outcome.query_id) or ()),
                "em": score and score.em,
                "f1": score and score.f1,
                "holds": score and score.holds,
                "confidence": outcome.confidence,
                "label": outcome.label,
            }

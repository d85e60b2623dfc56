"""The tables of a comparison of many systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acqo_rl.evaluation.claims import Finding
from acqo_rl.evaluation.classifier import Judged, classifier_tables
from acqo_rl.evaluation.compare import compare, summarise
from acqo_rl.evaluation.cost import commonest_problems, cost_of, pareto_front
from acqo_rl.evaluation.groups import difficulties, regroup
from acqo_rl.evaluation.routing import Routing, routing_of
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import holm
from acqo_rl.evaluation.study import ALPHA, Axis, Contrast, Study, beside, contrasts
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import Table, confusion_table, interval, kinds_table, routes_table

_LABELS = ("reformulator", "retriever", "fusion")


def study_tables(
    study: Study, gains: Sequence[Contrast], findings: Sequence[Finding], judged: Sequence[Judged]
) -> list[Table]:
    """Every table of the report.

    Args:
        study: what was measured.
        gains: of every system over the baseline with the same retriever and fusion.
        findings: claims beside what was measured.
        judged: the classifier on labelled questions.
    """
    tables = [_quality(study, gains)]
    if gains:
        tables.append(_contrasts(f"Against {study.baseline}", gains, study.measures[0]))
    for axis in ("retriever", "fusion"):
        tables += _other_axis(study, axis)
    tables.append(_costs(study))
    tables += _problems(study)
    tables += _by_group(study)
    if study.variants:
        tables.append(_robustness(study))
    tables += _routes(study)
    tables += classifier_tables(judged, beside(study.evaluations, study.reference), study.measures[0])
    if any(finding.measured is not None for finding in findings):
        tables.append(_claims(findings, study))
    return tables


def _quality(study: Study, gains: Sequence[Contrast]) -> Table:
    marks = {gain.system: gain for gain in gains}
    rows = tuple(
        (
            *_labels(system),
            *(
                f"{evaluation.scores(m).mean():.3f} {marks[system].mark(m) if system in marks else ''}".rstrip()
                for m in study.measures
            ),
        )
        for system, evaluation in study.evaluations.items()
    )
    first = study.evaluations[study.reference]
    left_out = f" Left out because they have no relevant document: {first.unmeasured}." if first.unmeasured else ""
    note = (
        f"Means over {len(first.results)} queries.{left_out} ▲ and ▼: above and below {study.baseline} with the same "
        f"retriever and fusion, p < {ALPHA} in a paired bootstrap over queries, corrected by Holm's method for all "
        "systems of a column."
    )
    return Table("Retrieval quality", note, (*_LABELS, *study.measures), rows, labels=3)


def _contrasts(title: str, gains: Sequence[Contrast], measure: str) -> Table:
    rows = []
    for gain in gains:
        difference = gain.comparison.differences[measure]
        helped, hurt = gain.comparison.helped, gain.comparison.hurt
        corrected = gain.corrected[measure]
        rows.append(
            (
                *_labels(gain.system),
                interval(difference, starred=corrected < ALPHA),
                f"{difference.p:.4f}",
                f"{corrected:.4f}",
                f"{helped:.1%}",
                f"{1 - helped - hurt:.1%}",
                f"{hurt:.1%}",
            )
        )
    note = (
        "All else alike. Mean paired difference with its 95 % confidence interval (paired bootstrap over queries); "
        f"starred where p, corrected by Holm's method for the {len(gains)} rows, is below {ALPHA}. Helped and hurt: "
        f"share of queries whose {measure} rises and falls."
    )
    return Table(title, note, (*_LABELS, measure, "p", "p (Holm)", "helped", "same", "hurt"), tuple(rows), labels=3)


def _other_axis(study: Study, axis: Axis) -> Iterator[Table]:
    first = getattr(study.reference, axis)
    found = contrasts(study.evaluations, axis, first, study.measures[:1])
    if found:
        yield _contrasts(f"{axis.capitalize()}s against {first}", found, study.measures[0])


def _costs(study: Study) -> Table:
    costs = {system: cost_of(evaluation) for system, evaluation in study.evaluations.items()}
    quality = [evaluation.scores(study.measures[0]).mean() for evaluation in study.evaluations.values()]
    front = pareto_front([(cost.ms, value) for cost, value in zip(costs.values(), quality, strict=True)])
    rows = tuple(
        (
            *_labels(system),
            f"{cost.calls:.2f}",
            f"{cost.tokens:.1f}",
            f"{cost.embedded:.2f}",
            f"{cost.searches:.2f}",
            f"{cost.reformulation_p50:.1f} / {cost.reformulation_p95:.1f}",
            f"{cost.retrieval_p50:.1f} / {cost.retrieval_p95:.1f}",
            f"{cost.problems:.1%}",
            "yes" if position in front else "",
        )
        for position, (system, cost) in enumerate(costs.items())
    )
    note = (
        "Means a query; milliseconds as p50 / p95. They were measured when the answer was first computed, as those of "
        "a batch divided by its queries or texts, so they are not what a single query waits; --batch_size 1 in a new "
        "folder measures that. The searches of a hybrid's parts add up; fusion is left out. Problems: completions "
        "that could not be used. Front: no system is both cheaper in mean milliseconds and better in "
        f"{study.measures[0]}."
    )
    header = ("calls", "tokens", "embedded", "searches", "reformulation ms", "retrieval ms", "problems", "front")
    return Table("Cost", note, (*_LABELS, *header), rows, labels=3)


def _problems(study: Study) -> Iterator[Table]:
    first: dict[str, Evaluation] = {}
    for system, evaluation in study.evaluations.items():
        first.setdefault(system.reformulator, evaluation)
    rows = tuple(
        (name, str(queries), problem)
        for name, evaluation in first.items()
        for problem, queries in commonest_problems(evaluation)
    )
    note = (
        "The three commonest reasons for which what a reformulator was to write is missing, wholly or in part, so that "
        "the rest or the raw query was searched; with the first retriever and fusion. queries.csv holds the problem "
        "of each query."
    )
    if rows:
        yield Table("Problems", note, ("", "queries", "problem"), rows)


def _by_group(study: Study) -> Iterator[Table]:
    group = beside(study.evaluations, study.reference)
    thirds = difficulties(group[0], study.measures[0])
    where = f"With {study.reference.retriever} and {study.reference.fusion}, against {study.baseline}; "
    stars = "starred where the interval excludes zero, not corrected."
    yield _grouped("By type of query", f"{where}{stars}", group, study.measures)
    if len(set(thirds.values())) > 1:
        note = (
            f"{where}{stars} Thirds of the queries by the {study.measures[0]} of {study.baseline}. What it happens to "
            "find badly counts as hard, so that any other system looks better there and worse on easy ones: compare "
            "systems with each other within a third."
        )
        yield _grouped("By difficulty", note, [regroup(evaluation, thirds) for evaluation in group], study.measures)


def _grouped(title: str, note: str, group: Sequence[Evaluation], measures: Sequence[str]) -> Table:
    comparisons = [compare(evaluation, group[0], measures[:1]) for evaluation in group[1:]]
    table = kinds_table([summarise(evaluation) for evaluation in group], comparisons, measures[:1])
    return replace(table, title=title, note=note, header=("", *table.header[1:]))


def _robustness(study: Study) -> Table:
    measure = study.measures[0]
    rows = []
    losses = {
        (name, system): compare(variant[system], evaluation, [measure]).differences[measure]
        for name, variant in study.variants.items()
        for system, evaluation in study.evaluations.items()
    }
    corrected = dict(zip(losses, holm([loss.p for loss in losses.values()]), strict=True))
    for system, evaluation in study.evaluations.items():
        cells = []
        for name, variant in study.variants.items():
            starred = corrected[name, system] < ALPHA
            cells += [f"{variant[system].scores(measure).mean():.3f}", interval(losses[name, system], starred=starred)]
        rows.append((*_labels(system), f"{evaluation.scores(measure).mean():.3f}", *cells))
    header = [cell for name in study.variants for cell in (name, f"{name}: change")]
    note = (
        f"{measure} on the queries as they are and on the same queries changed by rules, with the same judgements; the "
        "change is that of each system, with its 95 % confidence interval, starred where p, corrected by Holm's "
        f"method for all changes of this table, is below {ALPHA}."
    )
    return Table("Robustness", note, (*_LABELS, measure, *header), tuple(rows), labels=3)


def _routes(study: Study) -> Iterator[Table]:
    group = beside(study.evaluations, study.reference)
    summaries = [summarise(evaluation) for evaluation in group]
    yield routes_table(summaries, study.measures[:1])
    routings = {e.name: routing_of(e, group, study.measures[0]) for e in group}
    judged = {name: routing for name, routing in routings.items() if routing is not None}
    if judged:
        yield _accuracies(judged)
        yield _confusions(judged, study)
        yield from (confusion_table(summary) for summary in summaries)


def _accuracies(routings: Mapping[str, Routing]) -> Table:
    rows = tuple((name, str(r.queries), f"{r.accuracy:.1%}") for name, r in routings.items())
    note = (
        "Share of queries on the route that their kind needs: simple ones passed, ambiguous ones disambiguated, "
        "compound ones decomposed."
    )
    return Table("Accuracy of the route", note, ("", "queries", "accuracy"), rows)


def _confusions(routings: Mapping[str, Routing], study: Study) -> Table:
    rows = tuple(
        (
            name,
            confusion.kind,
            confusion.route,
            str(confusion.queries),
            str(confusion.compared),
            "-" if confusion.lost is None else f"{confusion.lost:+.3f}",
            "-" if confusion.wasted is None else f"{confusion.wasted:+.2f}",
        )
        for name, routing in routings.items()
        for confusion in routing.confusions
    )
    note = (
        f"With {study.reference.retriever} and {study.reference.fusion}. Lost: mean {study.measures[0]} of the other "
        "systems that sent the same query on the route that its kind needs, minus this one's; negative where the "
        "other route did better. Wasted: this one's searches minus theirs. Compared: queries that any of them did."
    )
    header = ("", "kind", "route", "queries", "compared", f"{study.measures[0]} lost", "searches wasted")
    return Table("What a wrong route costs", note, header, rows, labels=3)


def _claims(findings: Sequence[Finding], study: Study) -> Table:
    rows = tuple(
        (finding.claim.claim, finding.claim.reformulator, _value(finding), finding.verdict) for finding in findings
    )
    note = (
        f"With {study.reference.retriever} and, where the claim names no other, {study.reference.fusion}. Gains are "
        f"relative to {study.baseline} or to the other fusion; the interval is that of the difference, divided by "
        "its mean. A claim holds if the measured value is in the claimed range or better, and is undecided if besides "
        "the interval holds zero."
    )
    return Table("Claims", note, ("claim", "reformulator", "measured", "verdict"), rows, labels=2)


def _value(finding: Finding) -> str:
    if finding.measured is None:
        return "-"
    if finding.interval is not None:
        low, high = finding.interval
        return f"{finding.measured:+.1%} [{low:+.1%}, {high:+.1%}]"
    if finding.claim.quantity in ("route_accuracy", "challenges_found"):
        return f"{finding.measured:.1%}"
    return f"{finding.measured:.1f} ms" if "ms" in finding.claim.quantity else f"{finding.measured:.2f}"


def _labels(system: System) -> tuple[str, str, str]:
    return system.reformulator, system.retriever, system.fusion

"""The report of a study: one HTML file that needs no network.

It opens with the result in one sentence and the table of results. The settings come last.

Files for programs:

summary.json        settings, means, costs, comparisons: everything in the report, not rounded
queries.jsonl       one row per system and query: reformulation, ranking, measures, costs
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from acqo_rl.evaluation.run import QueryResult
from acqo_rl.evaluation.summary import EQUAL, TIMED, Study, compare, summarise
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import Table, aligned, escaped, interval, study_tables
from acqo_rl.files import write_atomic

_LONGEST = 300
"""Maximum length of a query or sub-query in the report, in characters."""
_STYLE = (
    "body{font:16px/1.55 system-ui,sans-serif;max-width:72rem;margin:2.5rem auto;padding:0 1.25rem;color:#1d2127;"
    "background:#fff;overflow-wrap:anywhere}h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.4rem}"
    "table{display:block;overflow-x:auto;border-collapse:collapse;font-size:.88rem}"
    "th,td{padding:.35rem .75rem;border-bottom:1px solid #d9dee5;vertical-align:top}"
)


def write_report(folder: Path, study: Study, settings: Mapping[str, Any]) -> tuple[str, list[Table]]:
    """Writes ``report.html``, ``summary.json`` and ``queries.jsonl``.

    Args:
        folder: the output folder; files of an earlier report are replaced.
        study: all evaluations.
        settings: of the study, JSON-serialisable; paths should be relative to the folder.

    Returns:
        The result in one sentence, and the tables of the report.
    """
    gains = study.comparisons()
    tables = list(study_tables(study, gains))
    answer = answer_of(study)
    content = {
        "answer": answer,
        "table": aligned(tables[0]),
        "settings": settings,
        "baseline": study.baseline,
        "systems": [
            {**asdict(s), "name": study.name(s), "unmeasured": e.unmeasured, **asdict(summarise(e))}
            for s, e in study.evaluations.items()
        ],
        "comparisons": [asdict(gain) for gain in gains.values()],
        "comparisons of fusions": [asdict(gain) for gain in study.comparisons("fusion").values()],
        "robustness": {
            name: [{"name": study.name(s), "measures": summarise(e).overall.measures} for s, e in evaluations.items()]
            for name, evaluations in study.variants.items()
        },
    }
    write_atomic(folder / "summary.json", [json.dumps(content, indent=2, ensure_ascii=False)])
    rows = ((study.name(system), result) for system, e in study.evaluations.items() for result in e.results)
    write_atomic(folder / "queries.jsonl", (json.dumps({"system": name, **asdict(result)}) for name, result in rows))
    title = f"Evaluation of {', '.join(dict.fromkeys(system.reformulator for system in study.evaluations))}"
    write_page(folder, title, answer, [*tables, *examples(study)], settings)
    return answer, tables


def write_page(folder: Path, title: str, answer: str, tables: Sequence[Table], settings: Mapping[str, Any]) -> None:
    """Writes ``report.html``: the answer, the tables, and at the end the settings."""
    used = tuple((key, value if isinstance(value, str) else json.dumps(value)) for key, value in settings.items())
    lines = [f"# {escaped(title)}", escaped(answer)]
    for table in [*tables, Table("Settings", "", ("", ""), used, labels=2)]:
        lines += [f"## {escaped(table.title)}", escaped(table.note), aligned(table)]
    write_atomic(folder / "report.html", [_html(title, "\n\n".join(lines))])


def results_in(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of ``queries.jsonl`` in the folder of a report, by the name of the system."""
    results: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        results.setdefault(row["system"], []).append(row)
    return results


def answer_of(study: Study) -> str:
    """The result in a sentence: the best system, its difference to the reference and its cost."""
    measure = study.measures[0]
    reference = study.reference
    others = (system for system in study.evaluations if system != reference)
    best = max(others, key=lambda system: study.evaluations[system].scores(measure).mean(), default=reference)
    overall = summarise(study.evaluations[best]).overall
    compared = ""
    if best != reference:
        difference = compare(study.evaluations[best], study.evaluations[reference], [measure]).differences[measure]
        before = summarise(study.evaluations[reference]).overall.measures[measure]
        chance = "" if difference.significant else "; the difference may be due to chance"
        compared = f" against {before:.3f} of {study.name(reference)}, {interval(difference, starred=False)}{chance}"
    results = study.evaluations[best].results
    own = sum(bool(result.reformulation.query.left_out) for result in results)
    left_out = f" As in BEIR, the document with the id of a query is no result of it ({own} queries)." if own else ""
    return (
        f"{study.name(best)} has {measure} {overall.measures[measure]:.3f}{compared}, over {overall.queries} queries, "
        f"with {overall.quantities['searches']:.1f} searches and {_seconds(study, best):.2g} s per query.{left_out}"
    )


def relative_to(folder: str | Path, place: str) -> str:
    """A path relative to a folder; names that are not existing paths, such as URLs, are returned unchanged."""
    return os.path.relpath(place, folder) if place and Path(place).exists() else place


def _seconds(study: Study, system: System) -> float:
    quantities = summarise(study.evaluations[system]).overall.quantities
    return sum(quantities[f"{step}_ms"] for step in TIMED) / 1000


def _ranks(before: QueryResult, after: QueryResult) -> str:
    return ", ".join(f"{d[:_LONGEST]} {_rank(before, d)} → {_rank(after, d)}" for d in after.gold_ranks)


Shown = Mapping[str, Callable[[QueryResult, QueryResult], str]]
"""Header of a column -> its cell, from the results of the baseline and of a system."""
_RANKS: Shown = {"rank of the relevant documents": _ranks}


def examples(study: Study, most: int = 5, shown: Shown = _RANKS) -> Iterator[Table]:
    """The biggest gains and losses of each system that shares retriever and fusion with the reference.

    Args:
        study: all evaluations.
        most: maximum number of gains, and of losses.
        shown: the last columns.
    """
    baseline, *others = study.with_same_retrieval()
    measure = study.measures[0]
    for system in others:
        gains = system.scores(measure) - baseline.scores(measure)
        order = np.argsort(-gains, kind="stable")
        chosen = dict.fromkeys([*order[:most], *order[-most:]])
        rows = tuple(
            (f"{gains[i]:+.3f}", *_searched(after), *(cell(baseline.results[i], after) for cell in shown.values()))
            for i in chosen
            if abs(gains[i]) > EQUAL and (after := system.results[i])
        )
        if rows:
            header = (measure, "query", "route", "searches", *shown)
            yield Table(f"{system.name}: biggest differences", f"Against {baseline.name}.", header, rows, labels=9)


def _searched(result: QueryResult) -> tuple[str, str, str]:
    made = result.reformulation
    query = " / ".join([*map(str, made.query.history), made.query.text])
    return query[-_LONGEST:], made.route, " · ".join(sub_query.text[:_LONGEST] for sub_query in made.sub_queries)


def _rank(result: QueryResult, doc_id: str) -> str:
    rank = result.gold_ranks.get(doc_id)
    return "not found" if rank is None else str(rank)


def _html(title: str, text: str) -> str:
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table").render(text)
    safe = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{safe}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>"
    )

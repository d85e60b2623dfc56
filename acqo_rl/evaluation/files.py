"""The files of a study: JSON for programs, and run files for trec_eval.

summary.json        settings, means, costs, comparisons: everything in the report, not rounded
queries.jsonl       one row per system and query: reformulation, ranking, measures, costs
runs/NAME.trec      one run file per system
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.study import Study
from acqo_rl.evaluation.summary import Comparison, summarise
from acqo_rl.files import write_atomic
from acqo_rl.measures import to_run

SUMMARY = "summary.json"
_NOT_IN_FILES = re.compile(r"[^\w.+-]+")


def write_files(folder: Path, study: Study, gains: Iterable[Comparison], further: Mapping[str, Any]) -> None:
    """Writes all files; those of an earlier report are replaced.

    Args:
        folder: the output folder.
        study: all evaluations.
        gains: the systems compared to the baseline with the same retriever and fusion.
        further: further entries of ``summary.json``, such as the settings; JSON-serialisable.
    """
    content = {
        **further,
        "baseline": study.baseline,
        "systems": [
            {**asdict(s), "name": study.name(s), "unmeasured": e.unmeasured, **asdict(summarise(e))}
            for s, e in study.evaluations.items()
        ],
        "comparisons": [asdict(gain) for gain in gains],
        "robustness": {
            name: [{"name": study.name(s), "measures": summarise(e).overall.measures} for s, e in evaluations.items()]
            for name, evaluations in study.variants.items()
        },
    }
    write_atomic(folder / SUMMARY, [json.dumps(content, indent=2, ensure_ascii=False)])
    rows = ((study.name(system), result) for system, e in study.evaluations.items() for result in e.results)
    write_atomic(folder / "queries.jsonl", (json.dumps({"system": name, **asdict(result)}) for name, result in rows))
    for old in (folder / "runs").glob("*.trec"):
        old.unlink()
    for system, evaluation in study.evaluations.items():
        name = _NOT_IN_FILES.sub("_", study.name(system))
        write_atomic(folder / "runs" / f"{name}.trec", trec_lines(evaluation, name))


def trec_lines(evaluation: Evaluation, name: str) -> Iterator[str]:
    """The lines of a run file for trec_eval: query id, Q0, document id, rank, score, name.

    Scores decrease strictly with the rank, so that trec_eval uses the order that was measured. White space in ids,
    which the format does not allow, becomes an underscore.
    """
    run = to_run({result.reformulation.query.id: result.ranking for result in evaluation.results})
    for query_id, scores in run.items():
        for rank, (doc_id, score) in enumerate(scores.items(), start=1):
            yield f"{'_'.join(query_id.split())} Q0 {'_'.join(doc_id.split())} {rank} {score:g} {name}"

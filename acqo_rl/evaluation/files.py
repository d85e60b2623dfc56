"""The files of a study, for programs.

summary.json        settings, means, costs, comparisons: everything in the report, not rounded
queries.jsonl       one row per system and query: reformulation, ranking, measures, costs
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.evaluation.study import Study
from acqo_rl.evaluation.summary import Comparison, summarise
from acqo_rl.files import write_atomic

SUMMARY = "summary.json"


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

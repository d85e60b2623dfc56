r"""Run the whole recipe: data, index, warm start, Stage I, difficulty, Stage II, export, evaluation.

    acqo train --config configs/train/embedded.yaml
    acqo train --config configs/train/beir.yaml --data BEIR_DIR --output_dir outputs/mine
    acqo train --config configs/train/hotpotqa.yaml --data HOTPOTQA_DIR --output_dir outputs/hotpotqa

Every stage is one command, printed before it runs, with its own folder in --output_dir. The same command resumes an
interrupted recipe: finished stages are skipped, and an interrupted stage is resumed. The settings of the stages are in
``warm_start``, ``stage1``, ``difficulty`` and ``stage2`` in the YAML file. They are checked before the first stage
begins, and may be changed until their stage has written results. To repeat a stage with other settings, delete its
folder and the folders of later stages.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.recipe import RecipeConfig, check, mapping_of, plan, unfinished
from acqo_rl.errors import AcqoError


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(RecipeConfig, description=__doc__)


def main(config: RecipeConfig) -> None:
    """Runs the stages in order."""
    from acqo_rl.training.run_folder import check_tracking, open_run

    stages = plan(config)
    for stage in stages:
        check(stage)
        check_tracking(stage.settings.get("trainer", stage.settings).get("report_to", "none"))
    open_run(config.output_dir, asdict(config), unfinished(Path(config.output_dir)))
    begin, measured = time.monotonic(), mapping_of(config, "minutes")
    expected = [float(measured.get(stage.name, 0.0)) for stage in stages]
    for number, stage in enumerate(stages):
        minutes = (time.monotonic() - begin) / 60
        print(f"\n== {number + 1}/{len(stages)} {stage.name}  {_clock(minutes, expected, number)}", flush=True)
        print(f"   {stage.shown()}", flush=True)
        ended = subprocess.run(stage.argv()).returncode
        if ended == 130:
            raise KeyboardInterrupt
        if ended != 0:
            raise AcqoError(
                f"The stage '{stage.name}' failed with status {ended}; see its message above. "
                f"Earlier stages are kept; fix the cause and run the same command again."
            )
    print(f"\nAll stages finished after {(time.monotonic() - begin) / 60:.1f} minutes: {config.output_dir}")


def _clock(minutes: float, expected: list[float], number: int) -> str:
    left = sum(expected[number:])
    if not left:
        return f"({minutes:.0f} min so far)"
    done = sum(expected[:number])
    pace = minutes / done if minutes > 1 and done > 1 else 1.0
    return f"({minutes:.0f} min so far, about {left * pace:.0f} min left)"

"""The recipe of the paper from index to model card, with a tiny model and two processes on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from acqo_rl.cli import command, module_of
from acqo_rl.reformulation.policy import Policy
from acqo_rl.training.curriculum import Difficulty
from acqo_rl.training.run_folder import open_run, read_rows

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
LAUNCH = "--num_processes 2 --mixed_precision no --dynamo_backend no --main_process_port 0"
SMALL = {
    "temperature": 1.0,
    "top_p": 1.0,
    "use_vllm": False,
    "report_to": "none",
    "max_steps": 1,
    "per_device_train_batch_size": 8,
}

pytestmark = pytest.mark.slow


@pytest.fixture
def recipe(data, passing, tmp_path):
    """The settings of hotpotqa.yaml, with a small model and data set, without GPU and network."""
    settings = yaml.safe_load((ROOT / "configs/train/hotpotqa.yaml").read_text(encoding="utf-8"))
    python = f"{sys.executable} -m accelerate.commands.launch"
    settings |= {
        "data": str(data),
        "output_dir": str(tmp_path / "run"),
        "model": passing,
        "index_settings": {**settings["index_settings"], "encoder": "embedded:minilm"},
        "launcher": f"{settings['launcher'].replace('accelerate launch', python)} {LAUNCH}",
        "prompt": {**settings["prompt"], "max_new_tokens": 4},
        "test_split": "dev",
        "prompted_baseline": False,
    }
    settings["warm_start"] |= {"examples": 8, "teacher": ["turns"]}
    for stage in ("stage1", "stage2"):
        settings[stage] |= {"eval_limit": 4, "rollouts": 4, "trainer": {**settings[stage]["trainer"], **SMALL}}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    script = module_of("train")
    return script, command.parse(script.main, ["--config", str(tmp_path / "recipe.yaml")])


def run(stage):
    """Runs the GRPO stages as subprocesses and the other stages in this process."""
    if stage.name.startswith("Stage"):
        done = subprocess.run(stage.argv(), cwd=ROOT, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
        return
    script = module_of(stage.command)
    script.main(command.parse(script.main, stage.arguments()))


def test_every_stage_of_the_recipe_runs(recipe, monkeypatch, tmp_path):
    script, config = recipe
    monkeypatch.chdir(ROOT)
    stages = script.plan(config)
    for stage in stages:
        script.check(stage)
    open_run(config.output_dir, asdict(config), [])
    for stage in stages:
        run(stage)
    out = tmp_path / "run"
    for name in ("stage1", "stage2"):
        [entry] = [entry for entry in json.loads((out / name / "log.json").read_text()) if "reward" in entry]
        assert (entry["step"], entry["reward"] > 0, entry["completions/valid_ratio"] > 0.5) == (1, True, True)
        assert sorted(path.name for path in (out / name).glob(".lock-*")) == [".lock-0", ".lock-1"]  # of each process
        assert len(read_rows(Difficulty, out / name / "difficulty.jsonl")) == 8
    assert Policy.from_pretrained(str(out / "policy")).settings.query_tokens == 256
    assert "nDCG@10" in (out / "policy" / "README.md").read_text(encoding="utf-8")

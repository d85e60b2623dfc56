"""acqo push."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from shared import ACQO
from tiny_policy import full_model

SCRIPT = "push"


def run(*arguments, home, status=0, **environment):
    done = subprocess.run(
        [*ACQO, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HOME": str(home), "HF_TOKEN": "", **environment},
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def model(tmp_path):
    """A finished run with a model of random weights."""
    folder = full_model(tmp_path / "run", max_new_tokens=4)
    config = {"data": "data/embedded", "split": "train", "model": "embedded:smollm2", "learning_rate": 1e-3}
    (folder.parent / "config.json").write_text(json.dumps(config))
    (folder.parent / "environment.json").write_text(json.dumps({"packages": {"trl": "1.16.0"}}))
    return folder


@pytest.mark.slow
def test_dry_run_writes_everything_and_prints_the_card(model, tmp_path):
    output = tmp_path / "out"
    arguments = ("--model", model, "--repo_id", "name/acqo-demo", "--dry_run", "--output", output)
    done = run(*arguments, home=tmp_path)
    assert done.stdout.startswith(f"Exported {model} to {output}.\n---\n")
    assert "base_model: HuggingFaceTB/SmolLM2-135M-Instruct" in done.stdout
    assert "learning_rate: 0.001" in done.stdout
    assert "trl 1.16.0" in done.stdout
    assert (output / "README.md").read_text() in done.stdout
    files = {path.name for path in output.iterdir()}
    assert files >= {"model.safetensors", "config.json", "tokenizer.json", "acqo.json", "generation_config.json"}

    before = (output / "model.safetensors").stat().st_mtime_ns
    assert "already contains this export" in run(*arguments, home=tmp_path).stdout
    assert (output / "model.safetensors").stat().st_mtime_ns == before

    (model / "config.json").write_text((model / "config.json").read_text() + "\n")
    assert str(output) in run(*arguments, home=tmp_path, status=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--repo_id", "name/acqo-demo"), "HF_TOKEN"),
        (("--repo_id", "acqo-demo", "--dry_run", "--output", "out"), "NAME/MODEL"),
        (("--repo_id", "name/acqo-demo", "--dry_run"), "give --output DIR"),
        (("--repo_id", "name/acqo-demo", "--dry_run", "--output", "out", "--model", "nowhere"), "acqo.json"),
    ],
)
def test_errors_name_the_setting(model, tmp_path, arguments, message):
    assert message in run("--model", model, *arguments, home=tmp_path, status=2).stderr

"""Output folders of runs: resuming, rejecting other settings, atomic writes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.training.curriculum import Difficulty
from acqo_rl.training.run_folder import continue_rows, last_checkpoint, open_run, read_rows, write_json, write_rows

CONFIG = {"cost": 0.1, "names": ("a", "b"), "trainer": {"learning_rate": 1e-6, "report_to": "none"}}


def test_a_folder_gets_settings_and_environment_and_is_resumed_until_it_has_a_model(tmp_path):
    folder = tmp_path / "deep" / "run"
    assert open_run(folder, CONFIG) is False
    assert json.loads((folder / "config.json").read_text()) == {**CONFIG, "names": ["a", "b"]}
    assert json.loads((folder / "environment.json").read_text())["packages"]["torch"]
    changed = {**CONFIG, "cost": 0.2}
    assert open_run(folder, changed) is False  # there are no results yet
    (folder / "model").mkdir()
    assert open_run(folder, changed) is True


def test_a_run_with_results_keeps_its_settings(tmp_path):
    open_run(tmp_path, CONFIG)
    (tmp_path / "examples.jsonl").touch()
    tracked = {**CONFIG, "trainer": {"learning_rate": 1e-6, "report_to": "wandb"}}
    assert open_run(tmp_path, tracked) is False
    for changed, named in (
        ({"trainer": {"learning_rate": 0.1}}, r"\(trainer\.learning_rate: 1e-06 -> 0\.1\)"),
        ({"extra": 1}, "extra: None -> 1"),
    ):
        with pytest.raises(ConfigError, match=named):
            open_run(tmp_path, tracked | changed)
    changed = {**tracked, "names": ["a", "b"], "trainer": {"learning_rate": 0.1}}
    open_run(tmp_path, changed, free_to_change=["trainer"])
    assert json.loads((tmp_path / "config.json").read_text()) == changed


def test_a_folder_of_other_content_is_rejected(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigError, match=r"\(thesis\.tex\)"):
        open_run(tmp_path, CONFIG)
    with pytest.raises(OSError, match=r"thesis\.tex"):
        open_run(tmp_path / "thesis.tex", CONFIG)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    (tmp_path / "config.json").write_text('{"learn')
    with pytest.raises(ConfigError, match=r"config\.json"):
        open_run(tmp_path, CONFIG)


def test_a_folder_is_locked_until_its_process_ends(tmp_path):
    code = "import sys; from acqo_rl.training.run_folder import open_run; print(open_run(sys.argv[1], {}), flush=True)"
    command = [sys.executable, "-c", code + "; sys.stdin.read()", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "False\n"
        with pytest.raises(ConfigError):
            open_run(tmp_path, {})
        first.kill()
    assert open_run(tmp_path, {}) is False


def test_the_last_checkpoint_is_the_newest_complete_one(tmp_path):
    assert last_checkpoint(tmp_path) is None
    for step in (2, 10, 9):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    (tmp_path / "checkpoint-12").mkdir()  # the process was killed while it was written
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"


def test_json_is_never_half_written(tmp_path):
    file = tmp_path / "log.json"
    write_json(file, {"a": 1})
    with pytest.raises(TypeError):
        write_json(file, {"a": object()})
    assert json.loads(file.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["log.json"]


ROWS = [Difficulty("a", 0.5, 0.1, 1.0), Difficulty("b", 1.0, 0.0, 1.0), Difficulty("\u00e7", 0.0, 0.0, 0.0)]


@pytest.mark.parametrize("there", [0, 1, 3])
def test_only_missing_rows_are_computed(tmp_path, there):
    file, computed = tmp_path / "rows.jsonl", []

    def rest(done):
        for row in ROWS[done:]:
            computed.append(row)
            yield [row]

    write_rows(ROWS[:there], file)
    assert continue_rows(Difficulty, file, 3, rest) == read_rows(Difficulty, file) == ROWS
    assert computed == ROWS[there:]


@pytest.mark.parametrize("content", ["3", '{"query', '{"other": 1}'])
def test_a_damaged_file_is_named(tmp_path, content):
    file = tmp_path / "rows.jsonl"
    file.write_text(content)
    with pytest.raises(ConfigError, match=r"rows\.jsonl"):
        continue_rows(Difficulty, file, 3, lambda done: [])

"""Output folders of runs: resuming, rejecting other settings, atomic writes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.training.curriculum import Difficulty
from acqo_rl.training.run_folder import (
    check_tracking,
    continue_rows,
    last_checkpoint,
    open_run,
    read_rows,
    write_json,
    write_rows,
)

CONFIG = {"learning_rate": 1e-6, "names": ("a", "b"), "report_to": "none"}


class TestOpenRun:
    def test_a_new_folder_gets_settings_and_environment(self, tmp_path):
        folder = tmp_path / "deep" / "run"
        assert open_run(folder, CONFIG) == "new"
        assert json.loads((folder / "config.json").read_text()) == {**CONFIG, "names": ["a", "b"]}
        environment = json.loads((folder / "environment.json").read_text())
        assert environment["packages"]["torch"]
        assert environment["python"].startswith("3.")

    def test_an_empty_folder_is_new(self, tmp_path):
        assert open_run(tmp_path, CONFIG) == "new"

    def test_the_same_settings_resume(self, tmp_path):
        open_run(tmp_path, CONFIG)
        assert open_run(tmp_path, CONFIG) == "resume"
        assert open_run(tmp_path, {**CONFIG, "report_to": "wandb"}) == "resume"

    def test_a_run_with_a_model_is_finished(self, tmp_path):
        open_run(tmp_path, CONFIG)
        (tmp_path / "model").mkdir()
        assert open_run(tmp_path, CONFIG) == "finished"

    def test_a_run_without_results_may_get_other_settings(self, tmp_path):
        open_run(tmp_path, CONFIG)
        assert open_run(tmp_path, {**CONFIG, "learning_rate": 0.1}) == "new"
        assert open_run(tmp_path, {**CONFIG, "learning_rate": 0.1}) == "resume"

    def test_other_settings_are_rejected(self, tmp_path):
        open_run(tmp_path, CONFIG)
        (tmp_path / "examples.jsonl").touch()
        with pytest.raises(ConfigError, match=r"learning_rate: 1e-06 -> 0\.1") as refused:
            open_run(tmp_path, {**CONFIG, "learning_rate": 0.1})
        assert "names" not in str(refused.value)
        with pytest.raises(ConfigError, match="extra: None -> 1"):
            open_run(tmp_path, {**CONFIG, "extra": 1})

    def test_settings_that_are_free_to_change_may_differ(self, tmp_path):
        open_run(tmp_path, CONFIG)
        (tmp_path / "examples.jsonl").touch()
        changed = {**CONFIG, "names": ["a", "b"], "learning_rate": 0.1}
        assert open_run(tmp_path, changed, free_to_change=["learning_rate"]) == "resume"
        assert json.loads((tmp_path / "config.json").read_text()) == changed

    def test_a_folder_with_other_files_is_rejected(self, tmp_path):
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(ConfigError, match=r"\(thesis\.tex\)"):
            open_run(tmp_path, CONFIG)
        with pytest.raises(OSError, match=r"thesis\.tex"):
            open_run(tmp_path / "thesis.tex", CONFIG)
        assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]

    def test_a_folder_is_locked_until_its_process_ends(self, tmp_path):
        code = (
            "import sys; from acqo_rl.training.run_folder import open_run; print(open_run(sys.argv[1], {}), flush=True)"
        )
        command = [sys.executable, "-c", code + "; sys.stdin.read()", str(tmp_path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
            assert first.stdout.readline() == "new\n"
            with pytest.raises(ConfigError):
                open_run(tmp_path, {})
            first.kill()
        assert open_run(tmp_path, {}) == "resume"

    def test_damaged_settings_are_rejected(self, tmp_path):
        (tmp_path / "config.json").write_text('{"learn')
        with pytest.raises(ConfigError, match=r"config\.json"):
            open_run(tmp_path, CONFIG)


def test_last_checkpoint_is_the_newest_complete_one(tmp_path):
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


@pytest.mark.parametrize("installed", [True, False])
def test_a_tracker_that_is_not_installed_is_rejected(monkeypatch, installed):
    monkeypatch.setitem(sys.modules, "wandb", sys if installed else None)
    check_tracking("none")
    if installed:
        check_tracking("wandb")
    else:
        with pytest.raises(ConfigError, match="report_to is wandb"):
            check_tracking("wandb")


class TestRows:
    ROWS = (Difficulty("a", 0.5, 0.1, 1.0), Difficulty("b", 1.0, 0.0, 1.0), Difficulty("\u00e7", 0.0, 0.0, 0.0))

    def rest(self, computed):
        def rest(done):
            for row in self.ROWS[done:]:
                computed.append(row)
                yield [row]

        return rest

    @pytest.mark.parametrize("there", [0, 1, 3])
    def test_only_missing_rows_are_computed(self, tmp_path, there):
        file, computed = tmp_path / "rows.jsonl", []
        write_rows(self.ROWS[:there], file)
        assert continue_rows(Difficulty, file, 3, self.rest(computed)) == list(self.ROWS)
        assert computed == list(self.ROWS[there:])
        assert read_rows(Difficulty, file) == list(self.ROWS)

    @pytest.mark.parametrize("content", ['{"query_id": "a"}', "3", '{"query', '{"other": 1}'])
    def test_a_damaged_file_is_named(self, tmp_path, content):
        file = tmp_path / "rows.jsonl"
        file.write_text(content)
        with pytest.raises(ConfigError, match=r"rows\.jsonl"):
            continue_rows(Difficulty, file, 3, self.rest([]))

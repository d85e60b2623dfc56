"""Output folders of runs: resuming, and rejecting other settings and other inputs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus
from acqo_rl.errors import AcqoError, ConfigError
from acqo_rl.reformulation.policy import WORDS_FILE
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.training import run_folder
from acqo_rl.training.curriculum import Difficulty
from acqo_rl.training.run_folder import continue_rows, last_checkpoint, open_run, read_rows, write_rows

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


ROWS = [Difficulty(name, 0.5, 1 / 3, 1.0, 0.0) for name in ("a", "b", "\u00e7")]


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


RUNS = {
    "warm-start": ("output_dir", {}),
    "grpo": ("output_dir", {}),
    "train-scorer": ("output_dir", {"task": "choice"}),
    "headroom": ("output", {"model": None}),
    "evaluate": ("output", {"model": None, "split": "dev"}),
    "label": ("output", {"model": "openai:judge@http://x/v1", "task": "judgements"}),
    "index": ("output", {"model": None, "index": None, "kind": "bm25"}),
}


class Stopped(Exception):
    """The run is interrupted."""


@pytest.fixture
def world(data, tmp_path):
    """Inputs that a test may change."""
    folder = shutil.copytree(data, tmp_path / "data")
    index = tmp_path / "bm25"
    build_bm25_index(index, list(read_corpus(folder).values()))
    model = full_model(tmp_path)
    (model / WORDS_FILE).write_text("river\n")
    return {"data": folder, "index": index, "model": model}


def change(world, name):
    if name == "index":
        shutil.rmtree(world["index"])
        build_bm25_index(world["index"], list(read_corpus(world["data"]).values()), k1=1.0)
        return
    of_model = {"model": "config.json", "words": WORDS_FILE}
    file = world["model"] / of_model[name] if name in of_model else world["data"] / name
    file.write_text(file.read_text().replace("Peru", "Chile") + "\n")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "queries.jsonl") for kind in RUNS if kind != "index"),
        ("index", "corpus.jsonl"),
        ("evaluate", "qrels/dev.tsv"),
        ("warm-start", "words"),
        *((kind, name) for kind in ("warm-start", "grpo", "train-scorer") for name in ("index", "model")),
    ],
)
def test_a_run_names_the_input_that_changed(world, tmp_path, monkeypatch, kind, name):
    output, settings = RUNS[kind]
    given = {**world, output: tmp_path / "out", **settings}
    main = module_of(kind).main
    words = [text for key, value in given.items() if value for text in (f"--{key}", str(value))]

    def interrupted(*args, **more):
        open_run(*args, **more)
        raise Stopped

    monkeypatch.setattr(run_folder, "open_run", interrupted)
    for _ in range(2):  # the second call resumes
        try:
            main(command.parse(main, words))
        except Stopped:
            (tmp_path / "out" / "model").mkdir(exist_ok=True)
    change(world, name)
    with pytest.raises(AcqoError) as error:
        main(command.parse(main, words))
    wanted = {
        "index": str(world["index"]),
        "model": str(world["model"]),
        "words": str(world["model"]),
        "corpus.jsonl": "corpus_hash",
    }
    assert wanted.get(name, name) in str(error.value)

"""Output folders of runs: resuming, and rejecting other settings and other inputs."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import WORDS_FILE
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.training import run_folder
from acqo_rl.training.curriculum import Difficulty
from acqo_rl.training.run_folder import continue_rows, inputs_of, last_checkpoint, open_run, read_rows, write_rows

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
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}\n")
    for step in (12, 13):  # the process was killed while they were written
        (tmp_path / f"checkpoint-{step}").mkdir()
    (tmp_path / "checkpoint-13" / "trainer_state.json").write_text('{"epoch":\n')
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"


ROWS = [Difficulty(name, 0.5, 1 / 3, 1.0, 0.0) for name in ("a", "b", "\u00e7")]


@pytest.mark.parametrize("there", [0, 1, 3])
def test_only_missing_rows_are_computed(tmp_path, there):
    file = tmp_path / "rows.jsonl"
    computed = []

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
    "warm-start": ("train dev index model", {}),
    "grpo": ("train dev index model", {}),
    "train-scorer": ("train index model", {"task": "choice"}),
    "headroom": ("train index", {}),
    "evaluate": ("train", {"split": "train"}),
    "label": ("index", {}),
}
"""Command -> what it reads beside the corpus and the queries, and its settings."""


class Opened(Exception):
    """The run would begin."""


@pytest.mark.parametrize("name", RUNS)
def test_a_run_keeps_hashes_of_what_it_reads(data, index, tiny, tmp_path, monkeypatch, name):
    def open_run(folder, config, inputs, *_):
        raise Opened(inputs)

    read, settings = RUNS[name]
    files = {split: str(data / "qrels" / f"{split}.tsv") for split in ("train", "dev")}
    files |= {"index": str(index), "model": tiny}
    out = "output_dir" if "train" in read and "model" in read else "output"
    given = {"data": data, "index": index, out: tmp_path / "out", **settings}
    given |= {"model": tiny} if "model" in read else {}
    main = module_of(name).main
    for module in (module_of(name), run_folder):
        monkeypatch.setattr(module, "open_run", open_run, raising=False)
    monkeypatch.setattr("acqo_rl.training.headroom.FEWEST", 1)  # the data has eight training queries
    with pytest.raises(Opened) as opened:
        main(command.parse(main, [text for key, value in given.items() for text in (f"--{key}", str(value))]))
    [kept] = opened.value.args
    wanted = {str(data / "corpus.jsonl"), str(data / "queries.jsonl"), *(files[one] for one in read.split())}
    assert kept.keys() - {"features"} == wanted
    assert all(kept.values())


@pytest.mark.parametrize("changed", ["data/queries.jsonl", "data/qrels/train.tsv", "model/words.txt", "index"])
def test_a_run_names_the_input_that_changed(data, tmp_path, changed):
    shutil.copytree(data, tmp_path / "data")
    documents = list(read_corpus(data).values())
    build_bm25_index(tmp_path / "index", documents)
    (full_model(tmp_path) / WORDS_FILE).write_text("river\n")

    def opened():
        read = inputs_of(str(tmp_path / "data"), ["train"], [str(tmp_path / "index")], [str(tmp_path / "model")])
        open_run(tmp_path / "run", CONFIG, read)
        (tmp_path / "run" / "examples.jsonl").touch()

    opened()
    if changed == "index":
        shutil.rmtree(tmp_path / "index")
        build_bm25_index(tmp_path / "index", documents, k1=1.0)
    else:
        file = tmp_path / changed
        file.write_text(file.read_text() + "\n")
    named = "model" if changed.startswith("model") else changed
    with pytest.raises(ConfigError, match=re.escape(str(tmp_path / named))):
        opened()

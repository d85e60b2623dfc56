"""The commands of docs/no_labels.md run, on a handbook of invented places and with a stand-in for the model."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from handbook import Judge, Writer, write_log, write_pages

from acqo_rl.cli import command, main, module_of
from acqo_rl.data.beir import read_beir
from acqo_rl.training.run_folder import read_rows
from acqo_rl.training.warm_start import ScoredQuery

PAGE = Path(__file__).parents[2] / "docs" / "no_labels.md"
FIRST, SECOND = re.findall(r"<!-- tested -->\n```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a handbook and a log; the stand-in for the model is set by the test."""
    monkeypatch.chdir(tmp_path)
    write_pages(tmp_path / "handbook")
    write_log(tmp_path / "log.jsonl")

    def use(model):
        monkeypatch.setattr("acqo_rl.language_models.load.load_language_model", lambda *_, **__: model)

    return use


def test_a_folder_of_documents_becomes_a_data_set_that_the_recipe_accepts(here):
    here(Writer())
    *lines, train = FIRST.splitlines()
    for line in lines:
        main(shlex.split(line)[1:])
    data = read_beir("data/handbook_questions", "train", "dev", "test")
    kinds = {entry["kind"] for entry in data.metadata.values()}
    assert kinds >= {"simple", "several", "bridge", "follow_up", "ambiguous"}
    relevant = {split: {d for judged in data.qrels[split].values() for d in judged} for split in data.qrels}
    assert relevant["train"] and not relevant["train"] & (relevant["dev"] | relevant["test"])
    lines = Path("data/handbook_questions/report.md").read_text().splitlines()
    rows = [line.split("|")[2:-1] for line in lines if line.startswith("|")][2:]
    assert all(int(asked) == sum(map(int, counts)) for asked, *counts in rows)
    config = command.parse(module_of("train").main, shlex.split(train)[2:])
    recipe = module_of("train")
    stages = recipe.plan(config)
    for stage in stages:
        recipe.check(stage)
    assert stages[0].settings["index"] == "indexes/handbook"

    main(shlex.split("headroom --data data/handbook_questions --index indexes/handbook --output outputs/headroom"))
    scored = read_rows(ScoredQuery, Path("outputs/headroom/scored.jsonl"))
    assert len(scored) == min(300, len(data.queries["train"])) > 30
    decision = json.loads(Path("outputs/headroom/headroom.json").read_text())["decision"]
    assert decision in ("train", "try", "use", "keep_raw")


def test_a_log_becomes_a_data_set(here, capsys):
    judge = Judge()
    here(judge)
    *lines, last = SECOND.splitlines()
    for line in lines:
        main(shlex.split(line)[1:])
    assert judge.asked == 0
    assert "pairs of 60 queries" in capsys.readouterr().out
    main(shlex.split(last)[1:])
    data = read_beir("data/log_judged", "train", "dev")
    assert judge.asked > 60
    assert all(len(judged) >= 1 for judged in data.qrels["train"].values())
    assert any(query.history for query in data.queries["train"])

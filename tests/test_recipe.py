"""The recipe runs existing commands with valid settings."""

import json
import re
import runpy
import signal
import subprocess
import sys
import time

import pytest
from test_entry_points import ROOT
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError


@pytest.fixture(scope="module")
def recipe():
    return module_of("train")


def config_of(recipe, name, *arguments):
    return command.parse(recipe.main, ["--config", str(ROOT / "configs/train" / name), *arguments])


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("embedded.yaml", "data"),
        ("demo.yaml", "data"),
        ("beir.yaml", "index"),
        ("hotpotqa.yaml", "index"),
        ("topiocqa.yaml", "index"),
    ],
)
def test_every_stage_is_a_valid_command(recipe, tmp_path, monkeypatch, name, first):
    monkeypatch.setattr("acqo_rl.training.settings._make_optional_parts", str)  # as if vLLM and wandb were installed
    arguments = ["--output_dir", str(tmp_path)]
    arguments += ["--data", str(tmp_path)] if first == "index" else []
    stages = recipe.plan(config_of(recipe, name, *arguments))
    assert stages[0].name == first
    for stage in stages:
        recipe.check(stage)


@pytest.mark.parametrize(
    ("stage", "settings", "message"),
    [
        ("stage2", '{"temperatur": 1}', r"'Stage II: converge' cannot run: .*temperatur"),
        ("stage1", '{"trainer": {"max_step": 3}}', r"'Stage I: explore' .*max_step\b.*max_steps"),
        ("stage2", '{"rollouts": -1}', "'Stage II: converge' cannot run: .*rollouts is '-1'"),
        ("stage2", '{"trainer": {"optim": "adamw_anyprecision"}}', "'Stage II: converge' .*torchdistx"),
        ("hop", '{"step": 3}', "'hops' cannot run: .*did you mean steps"),
        ("stage1", '"fast"', "stage1 is 'fast'"),
    ],
)
def test_settings_of_all_stages_are_checked_first(recipe, tmp_path, stage, settings, message):
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match=message):
        recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out), f"--{stage}", settings))
    assert not out.exists()


def test_the_demo_shows_the_rewards_of_the_stages_that_its_configs_train(recipe, tmp_path):
    configs = re.findall(r"--config (\S+)", (ROOT / "scripts" / "demo.sh").read_text())
    assert configs == ["configs/train/demo.yaml"]
    arguments = [text for name in configs for text in ("--config", str(ROOT / name))]
    given = {step.name: recipe.check(step) for step in recipe.plan(command.parse(recipe.main, arguments))}
    assert (given["index"].kind, given["Stage I: explore"].model) == ("bm25", "trained:demo")
    assert "warm start" not in given and "before=trained:demo" in given["evaluation"].reformulator
    stages = {"Stage I": given["Stage I: explore"], "Stage II": given["Stage II: converge"]}
    wanted = []
    for number, (name, stage) in enumerate(stages.items(), start=1):
        steps = range(0, stage.trainer["max_steps"] + 1, stage.trainer["eval_steps"])
        assert len(steps) > 2 and steps[-1] == stage.trainer["max_steps"]
        log = [{"step": n, "eval_gain": n / 8, "eval_gain_error": 0.01, "eval_greedy_reward": 1 + n / 8} for n in steps]
        (tmp_path / f"stage{number}").mkdir()
        (tmp_path / f"stage{number}" / "log.json").write_text(json.dumps([{"step": 1, "reward": 1.0}, *log]))
        wanted += [(name, str(n), f"{1 + n / 8:.3f}", f"+{n / 8:.3f} ± 0.010" if n else "") for n in steps]
    assert runpy.run_path(str(ROOT / "scripts" / "show_demo.py"))["curve"](tmp_path) == tuple(wanted)


@pytest.mark.parametrize(("gain", "advised"), [(0.2, False), (0.0, True), (-0.2, True)])
def test_the_end_says_whether_the_policy_is_better_than_auto_without_one(recipe, tmp_path, gain, advised):
    scores = dict(zip(recipe.AUTO, (0.5, 0.5 + gain), strict=True)) | {"raw": 0.1}
    rows = [{"system": name, "measures": {"nDCG@10": s, "R@10": 1}} for name, s in scores.items() for _ in range(50)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = recipe.verdict(tmp_path)
    assert f"0.500, and with this policy {0.5 + gain:.3f}" in said
    assert ("search without --model" in said) == advised


def test_missing_splits_of_a_folder_are_reported_before_the_first_step(recipe, tmp_path):
    """The settings of the demo name splits that only its data set has."""
    (tmp_path / "data" / "qrels").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (tmp_path / "data" / "qrels" / f"{split}.tsv").touch()
    out, arguments = tmp_path / "out", ["--data", str(tmp_path / "data"), "--output_dir", str(tmp_path / "out")]
    recipe.check_splits(config_of(recipe, "embedded.yaml", *arguments))
    for wrong in (["--test_split", "test-bridge"], ["--hop.split", "train-bridge"], ["--stage1.split", "small"]):
        with pytest.raises(ConfigError, match=f"{wrong[1]}.*dev, test, train"):
            recipe.main(config_of(recipe, "embedded.yaml", *arguments, *wrong))
    assert not out.exists()


STAGES = [("Stage I: explore", "256", "512"), ("Stage II: converge", "256", "768")]
ADAPTING = [("Stage I: explore", "768", "1,152"), ("Stage II: converge", "512", "1,280")]


@pytest.mark.parametrize(
    ("name", "wanted"), [("embedded.yaml", [("warm start", "1,050", "0"), *STAGES]), ("demo.yaml", ADAPTING)]
)
def test_a_plan_measures_the_model_and_runs_nothing(recipe, tmp_path, capsys, name, wanted):
    model = full_model(tmp_path / "base", max_new_tokens=4)
    out = tmp_path / "out"
    recipe.main(config_of(recipe, name, "--model", str(model), "--output_dir", str(out), "--plan", "True"))
    shown = capsys.readouterr().out
    assert re.findall(r"^(.*): about \d+\.\d min .*\(([\d,]+) rows, ([\d,]+) ", shown, re.M) == wanted
    assert not out.exists()


def test_settings_of_unfinished_stages_may_change(recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "plan", lambda config: [])
    monkeypatch.setattr(recipe, "verdict", str)
    out = tmp_path / "out"
    recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out)))
    (out / "warm_start" / "model").mkdir(parents=True)
    (out / "stage1" / "checkpoint-4").mkdir(parents=True)
    changed = config_of(recipe, "embedded.yaml", "--output_dir", str(out), "--stage1", '{"trainer": {"max_steps": 3}}')
    recipe.main(changed)
    assert json.loads((out / "config.json").read_text())["stage1"] == {"trainer": {"max_steps": 3}}
    (out / "stage1" / "model").mkdir()
    with pytest.raises(ConfigError, match=r"stage1\.trainer"):
        recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out)))


INTERRUPTED = """
import signal, sys
from acqo_rl.cli import command, train

class Slow(train.Step):
    def argv(self):
        begin = "import pathlib, time; pathlib.Path('begun').touch()"
        return [sys.executable, "-c", f"{begin}\\ntry: time.sleep(60)\\nfinally: pathlib.Path('ended').touch()"]

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have made its background jobs ignore it
train.plan = lambda config: [Slow("slow", "data", {"output": "x"})]
command.run(train.main, ["--output_dir", "out"])
"""


def test_an_interrupt_ends_the_stage_before_the_recipe(tmp_path):
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], cwd=tmp_path) as process:
        while process.poll() is None and not (tmp_path / "begun").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)  # to this process alone
        assert process.wait(30) == 130
    assert (tmp_path / "ended").exists()

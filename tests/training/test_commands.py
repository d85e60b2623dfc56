"""The training commands on a corpus of twelve passages."""

import json
import time

import pytest
from forked import CONTEXT, run_command, run_in_two_processes
from shared import ENVIRONMENT

from acqo_rl.cli import command, main, module_of
from acqo_rl.training.materials import open_materials
from acqo_rl.training.rewards import Reward
from acqo_rl.types import FeedbackSpec

GRPO = {
    "trainer.max_steps": 4,
    "trainer.per_device_train_batch_size": 8,
    "trainer.num_generations": 4,
    "trainer.learning_rate": 1e-3,
    "trainer.eval_steps": 2,
    "trainer.temperature": 1.0,
    "trainer.top_p": 1.0,
    "lora_rank": 0,
    "prompt.max_new_tokens": 4,
}

pytestmark = pytest.mark.slow


def arguments_of(settings):
    return [text for key, value in settings.items() for text in (f"--{key}", str(value))]


def run(name, settings, status=0):
    return run_command(name, *arguments_of(settings), status=status, env=ENVIRONMENT)


def log_of(folder):
    return json.loads((folder / "log.json").read_text())


def rewards_of(folder):
    return [entry["reward"] for entry in log_of(folder) if "reward" in entry]


@pytest.fixture(scope="module")
def shared(data, index, passing):
    return {"data": data, "index": index, "model": passing}


@pytest.fixture(scope="module")
def whole(shared, tmp_path_factory):
    """An uninterrupted GRPO run."""
    folder = tmp_path_factory.mktemp("grpo") / "whole"
    run("grpo", {**shared, **GRPO, "output_dir": folder})
    return folder


def test_grpo_writes_its_settings_log_and_model(whole):
    for name in ("config.json", "environment.json", "model/acqo.json", "model/model.safetensors"):
        assert (whole / name).stat().st_size > 0
    steps = [entry for entry in log_of(whole) if "reward" in entry]
    assert [entry["step"] for entry in steps] == [1, 2, 3, 4]
    assert any(entry["reward_std"] > 0 for entry in steps)
    assert steps[0].keys() >= {"entropy", "completions/valid_ratio", "completions/clipped_ratio", "retrieval/R@10"}
    measured = [entry for entry in log_of(whole) if "eval_nDCG@10" in entry]
    assert [entry["step"] for entry in measured] == [0, 2, 4]
    assert measured[0]["eval_pass"] == measured[0]["eval_searches"] == 1
    assert 0 < measured[0]["eval_nDCG@10"] < 1


def test_a_killed_grpo_run_resumes_with_the_same_rewards(whole, shared, tmp_path):
    """A third call reports that the run is finished, and other settings are rejected."""
    settings = {**shared, **GRPO, "output_dir": tmp_path / "run"}
    process = CONTEXT.Process(target=main, args=(["grpo", *arguments_of(settings)],))
    process.start()
    deadline = time.monotonic() + 240
    while not (tmp_path / "run" / "checkpoint-2" / "acqo.json").exists() and time.monotonic() < deadline:
        assert process.exitcode is None
        time.sleep(0.01)
    process.kill()
    process.join()
    assert not (tmp_path / "run" / "model").exists()
    run("grpo", settings)
    assert rewards_of(tmp_path / "run") == pytest.approx(rewards_of(whole))
    assert "is finished" in run("grpo", settings).stdout
    refused = run("grpo", {**settings, "trainer.learning_rate": 0.5}, status=2)
    assert "trainer.learning_rate: 0.001 -> 0.5" in refused.stderr


def test_two_processes_give_the_same_rewards_as_one(shared, tmp_path):
    """Decoding is almost greedy, so that completions do not depend on the seed of a process."""
    greedy = {**shared, **GRPO, "trainer.temperature": 0.01, "trainer.eval_steps": 4}
    run("grpo", {**greedy, "output_dir": tmp_path / "one"})
    halved = {**greedy, "trainer.per_device_train_batch_size": 4, "output_dir": tmp_path / "two"}
    printed = run_in_two_processes("grpo", *arguments_of(halved), env=ENVIRONMENT)
    assert printed.count("nDCG@10 on dev was") == 1
    assert len(set(rewards_of(tmp_path / "one"))) > 1
    for one, other in zip(log_of(tmp_path / "one"), log_of(tmp_path / "two"), strict=True):
        for name in one:
            if name.startswith(("reward", "completions/", "retrieval/", "eval_")):
                assert other[name] == pytest.approx(one[name])


@pytest.mark.parametrize("name", ["warm-start", "grpo"])
def test_scoring_resumes_after_the_rows_that_are_there(shared, tmp_path, monkeypatch, name):
    """Of the candidates of a warm start, and of the rollouts that measure difficulty."""
    settings = {**shared, "output_dir": tmp_path}
    script = module_of(name)
    config = command.parse(script.main, arguments_of(settings | ({"rollouts": 2} if name == "grpo" else {})))
    materials = open_materials(config, FeedbackSpec(0))
    asked = []
    reward_of = Reward.__call__
    file = tmp_path / ("difficulty.jsonl" if name == "grpo" else "scored.jsonl")

    def score():
        if name == "grpo":
            return script.difficulties(config, materials, *script.check(config))
        (tmp_path / "examples.jsonl").unlink(missing_ok=True)
        return script.collect(config, materials, tmp_path / "examples.jsonl")

    def counted(reward, **columns):
        asked.append({query.id for query in columns["prompts"]})
        return reward_of(reward, **columns)

    monkeypatch.setattr(Reward, "__call__", counted)
    whole = score()
    rows = file.read_text().splitlines(keepends=True)
    file.write_text("".join(rows[:3]))
    assert [one.query_id for one in score()] == [one.query_id for one in whole]
    assert file.read_text().splitlines(keepends=True)[:3] == rows[:3]
    assert [len(ids) for ids in asked] == [len(rows), len(rows) - 3]

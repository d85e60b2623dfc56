"""The training commands on a corpus of twelve passages."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from forked import run_command
from server_process import started

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.reformulation.policy import Policy
from acqo_rl.roles import Reformulator
from acqo_rl.text import each_word_once
from acqo_rl.training.curriculum import Difficulty
from acqo_rl.training.curves import FIGURES, draw_training, read_log
from acqo_rl.training.materials import open_materials
from acqo_rl.training.rewards import Reward
from acqo_rl.training.run_folder import read_rows
from acqo_rl.types import FeedbackSpec, Reformulation, SubQuery

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
GRPO = {
    "trainer.max_steps": 4,
    "trainer.per_device_train_batch_size": 8,
    "trainer.num_generations": 4,
    "trainer.learning_rate": 1e-3,
    "lora_rank": 0,
    "trainer.eval_steps": 2,
    "trainer.temperature": 1.0,
    "trainer.top_p": 1.0,
    "prompt.max_new_tokens": 4,
    "alarm_patience": 0,
}

pytestmark = pytest.mark.slow


def arguments_of(settings):
    return [text for key, value in settings.items() for text in (f"--{key}", str(value))]


def command_of(name, settings, launcher=(sys.executable,)):
    return [*launcher, "-m", "acqo_rl.cli", name, *arguments_of(settings)]


def run(name, settings, status=0):
    return run_command(name, *arguments_of(settings), status=status, env=ENVIRONMENT)


def train_here(monkeypatch, settings):
    """Runs acqo grpo in this process."""
    script = module_of("grpo")
    script.main(command.parse(script.main, arguments_of(settings)))


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
    done = run("grpo", {**shared, **GRPO, "output_dir": folder})
    assert "nDCG@10 on dev was" in done.stdout
    return folder


def test_grpo_writes_its_settings_log_and_model(whole):
    for name in ("config.json", "environment.json", "log.json", "model/acqo.json", "model/model.safetensors"):
        assert (whole / name).stat().st_size > 0
    log = log_of(whole)
    assert [e["step"] for e in log if "reward" in e] == [1, 2, 3, 4]
    assert any(e["reward_std"] > 0 for e in log if "reward" in e)
    assert 0 < log[1]["completions/valid_ratio"] <= 1
    measured = [e for e in log if "eval_nDCG@10" in e]
    assert [e["step"] for e in measured] == [0, 2, 4]
    assert measured[0]["eval_pass"] == measured[0]["eval_searches"] == 1
    assert 0 < measured[0]["eval_nDCG@10"] < 1


def test_the_log_contains_every_quantity_of_the_figures(whole):
    log = read_log(whole)
    keys = {panel.key for panels in FIGURES.values() for panel in panels} - {"cross_entropy"}
    assert {key for key in keys if log[key].count() != 4} == set()
    assert draw_training({"whole": log}).keys() == {"learning_curve", *FIGURES}


def test_a_killed_grpo_run_resumes_with_the_same_rewards(whole, shared, tmp_path):
    """A third call reports that the run is finished, and other settings are rejected."""
    settings = {**shared, **GRPO, "output_dir": tmp_path / "run"}
    process = subprocess.Popen(
        command_of("grpo", settings), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 240
    while not (tmp_path / "run" / "checkpoint-2" / "sampler.json").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "run" / "model").exists()

    run("grpo", settings)
    assert rewards_of(tmp_path / "run") == pytest.approx(rewards_of(whole))

    assert "is finished" in run("grpo", settings).stdout
    refused = run("grpo", {**settings, "trainer.learning_rate": 0.5}, status=2)
    assert "0.001" in refused.stderr and "0.5" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_two_processes_give_the_same_rewards_as_one(shared, tmp_path):
    """Decoding is almost greedy, so that completions do not depend on the seed of a process."""
    greedy = {**shared, **GRPO, "trainer.temperature": 0.01, "trainer.eval_steps": 4}
    run("grpo", {**greedy, "output_dir": tmp_path / "one"})
    two = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    half = GRPO["trainer.per_device_train_batch_size"] // 2
    halved = {**greedy, "trainer.per_device_train_batch_size": half, "output_dir": tmp_path / "two"}
    words = command_of("grpo", halved, launcher=two)
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, timeout=300, check=True)
    assert done.stdout.count("nDCG@10 on dev was") == 1
    assert len(set(rewards_of(tmp_path / "one"))) > 1
    assert rewards_of(tmp_path / "two") == pytest.approx(rewards_of(tmp_path / "one"))
    for one, other in zip(log_of(tmp_path / "one"), log_of(tmp_path / "two"), strict=True):
        shared_names = [name for name in one if name.startswith(("completions/", "retrieval/", "eval_"))]
        assert {n: other[n] for n in shared_names} == pytest.approx({n: one[n] for n in shared_names})


def test_an_index_behind_a_server_gives_the_same_rewards(shared, tmp_path, monkeypatch):
    """All numbers of the log are exactly equal."""
    settings = {**shared, **GRPO, "trainer.max_steps": 2, "trainer.eval_steps": 1}
    train_here(monkeypatch, {**settings, "output_dir": tmp_path / "folder"})
    with started("serve", "--retriever", shared["index"]) as server:
        train_here(monkeypatch, {**settings, "index": server.url, "output_dir": tmp_path / "server"})
    logs = [log_of(tmp_path / name) for name in ("folder", "server")]
    numbers = [
        [
            {
                k: v
                for k, v in entry.items()
                if k.startswith(("reward", "completions/", "retrieval/", "eval_nDCG", "loss"))
            }
            for entry in log
        ]
        for log in logs
    ]
    assert numbers[0] == numbers[1]
    assert len(set(rewards_of(tmp_path / "folder"))) == 2


class TestDifficulty:
    """``--rollouts`` scores the training queries before the training."""

    def test_only_queries_inside_the_band_are_trained_on(self, shared, tmp_path, monkeypatch):
        settings = {**shared, **GRPO, "output_dir": tmp_path / "run", "rollouts": 4}
        with pytest.raises(ConfigError, match="No query is kept"):
            train_here(monkeypatch, {**settings, "min_mean_reward": 5, "max_mean_reward": 6})
        scored = read_rows(Difficulty, tmp_path / "run" / "difficulty.jsonl")
        assert len(scored) == 8

    def test_scoring_resumes_after_the_last_batch(self, shared, tmp_path, monkeypatch):
        settings = {**shared, **GRPO, "output_dir": tmp_path / "run", "rollouts": 2, "min_mean_reward": 9,
            "max_mean_reward": 9}  # fmt: skip
        monkeypatch.setattr("acqo_rl.training.curriculum._BATCH", 3)
        asked = []
        score = Reward.__call__

        def interrupted_once(reward, **columns):
            asked.append(list(dict.fromkeys(query.id for query in columns["prompts"])))
            if len(asked) == 2:
                raise KeyboardInterrupt
            return score(reward, **columns)

        monkeypatch.setattr(Reward, "__call__", interrupted_once)
        with pytest.raises(KeyboardInterrupt):
            train_here(monkeypatch, settings)
        before = read_rows(Difficulty, tmp_path / "run" / "difficulty.jsonl")
        with pytest.raises(ConfigError, match="No query is kept"):
            train_here(monkeypatch, settings)
        assert [len(ids) for ids in asked] == [3, 3, 3, 2]
        assert asked[2] == asked[1]
        scored = read_rows(Difficulty, tmp_path / "run" / "difficulty.jsonl")
        assert scored[:3] == before
        assert [d.query_id for d in scored] == asked[0] + asked[1] + asked[3]


def test_warm_start(data, index, tiny, tmp_path):
    settings = {
        "data": data, "index": index, "model": tiny, "output_dir": tmp_path / "run", "examples": 8, "batch_size": 4,
        "micro_batch_size": 2, "lora_rank": 0, "prompt.max_new_tokens": 8,
    }  # fmt: skip
    done = run("warm-start", settings)
    assert "Selected training examples: " in done.stdout
    examples = [json.loads(line) for line in (tmp_path / "run" / "examples.jsonl").read_text().splitlines()]
    assert 1 <= len(examples) <= 8
    assert all(e["reward"] >= e["raw_reward"] for e in examples)
    policy = Policy.from_pretrained(str(tmp_path / "run" / "model"))
    assert policy.settings.max_new_tokens == 8
    assert "is finished" in run("warm-start", settings).stdout

    second = {
        **settings,
        "model": tmp_path / "run" / "model",
        "rollouts_per_query": 2,
        "output_dir": tmp_path / "second",
    }
    done = run("warm-start", second)
    assert "sample the policy" in done.stderr
    assert (tmp_path / "second" / "model" / "acqo.json").exists()


@pytest.fixture
def warm_start():
    """The module of the command."""
    return module_of("warm-start")


@pytest.fixture
def prepared(warm_start, data, index, passing, tmp_path):
    """A config of the command with some settings, and its materials."""

    def prepare(**settings):
        given = {"data": str(data), "index": str(index), "model": passing, "output_dir": str(tmp_path), **settings}
        config = warm_start.WarmStartConfig(**given)
        return config, open_materials(config, FeedbackSpec(0))

    return prepare


def test_scoring_resumes_after_the_last_batch(warm_start, prepared, tmp_path, monkeypatch):
    config, materials = prepared()
    whole = warm_start.collect(config, materials, tmp_path / "whole" / "examples.jsonl")
    monkeypatch.setattr("acqo_rl.training.warm_start._BATCH", 3)
    asked = []
    score = Reward.__call__

    def interrupted_once(reward, **columns):
        asked.append({q.id for q, *_ in columns["prompts"]})
        if len(asked) == 2:
            raise KeyboardInterrupt
        return score(reward, **columns)

    monkeypatch.setattr(Reward, "__call__", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        warm_start.collect(config, materials, tmp_path / "examples.jsonl")
    assert warm_start.collect(config, materials, tmp_path / "examples.jsonl") == whole
    assert [len(ids) for ids in asked[:3]] == [3, 3, 3]
    assert asked[2] == asked[1]


def test_rollouts_of_the_policy_are_candidates(warm_start, prepared, tmp_path, monkeypatch):
    """The scripted policy writes the texts of the gold passages; there are no other candidates."""
    config, materials = prepared(rollouts_per_query=2, examples=8)
    texts = {q.id: [materials.corpus[doc_id].text for doc_id in materials.qrels[q.id]] for q in materials.train}

    class Scripted(Reformulator):
        def reformulate(self, queries):
            raw = SubQuery("never a target", "original", min_margin=0.05)
            parts = [(*(SubQuery(text, "part") for text in texts[q.id]), raw) for q in queries]
            return [Reformulation(q, "decompose", p, "scripted") for q, p in zip(queries, parts, strict=True)]

    monkeypatch.setattr(Policy, "from_pretrained", lambda *_, **__: Scripted())
    monkeypatch.setattr("acqo_rl.training.candidates.candidates", lambda *_: [])
    asked = list(warm_start.rollouts(config, materials.train, 2, temperature=1.0))
    assert [a.query.id for a in asked[:4]] == [materials.train[0].id] * 2 + [materials.train[1].id] * 2
    examples = warm_start.collect(config, materials, tmp_path / "examples.jsonl")
    chosen = [e for e in examples if e.route != "pass"]
    assert len(chosen) == 4
    assert all(e.completion.split("\n")[1:] == [each_word_once(text) for text in texts[e.query_id]] for e in chosen)


def test_kinds_to_keep_get_the_policys_own_reformulations(warm_start, prepared, data, tmp_path, monkeypatch):
    """They become targets although they are worse than the raw query."""
    folder = shutil.copytree(data, tmp_path / "data")
    rows = [json.loads(line) for line in (data / "queries.jsonl").read_text().splitlines()]
    kinds = {"s": "simple", "c": "compound"}
    lines = [json.dumps({**row, "metadata": {"kind": kinds[row["_id"][0]]}}) for row in rows]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    asked = []

    class Scripted(Reformulator):
        def reformulate(self, queries):
            asked.extend(q.id for q in queries)
            nonsense = (SubQuery("bank", "part"),)
            unwritten = [Reformulation(q, "pass", nonsense, "scripted", "split", problem="empty") for q in queries[:1]]
            return unwritten + [Reformulation(q, "decompose", nonsense, "scripted", "split\nbank") for q in queries[1:]]

    monkeypatch.setattr(
        Policy, "from_pretrained", lambda *_, **generation: {0.0: Scripted()}[generation["temperature"]]
    )
    config, materials = prepared(data=str(folder), preserve_kinds=["simple"])
    examples = {e.query_id: e for e in warm_start.collect(config, materials, tmp_path / "examples.jsonl")}
    simple = [q.id for q in materials.train if q.id.startswith("s-")]
    assert asked == simple
    assert set(examples) == {q.id for q in materials.train} - {simple[0]}
    kept, learned = ([e for e in examples.values() if (e.query_id in simple) is inside] for inside in (True, False))
    assert all(e.completion == "split\nbank" and e.reward < e.raw_reward for e in kept)
    assert all(e.completion != "split\nbank" and e.reward >= e.raw_reward for e in learned)

    with pytest.raises(ConfigError, match=r"talk.* compound, simple"):
        warm_start.collect(replace(config, preserve_kinds=["talk"]), materials, tmp_path / "other.jsonl")


def test_keep_requires_a_policy_and_its_settings(data, index, passing, tmp_path):
    settings = {
        "data": data,
        "index": index,
        "output_dir": tmp_path / "run",
        "preserve_kinds": "pass",
        "prompt.max_new_tokens": 4,
    }
    done = run("warm-start", {**settings, "model": passing, "prompt.feedback_results": 2}, status=2)
    assert "feedback_results 0 -> 2" in done.stderr
    plain = shutil.copytree(passing, tmp_path / "plain")
    (plain / "acqo.json").unlink()
    done = run("warm-start", {**settings, "model": plain}, status=2)
    assert str(plain) in done.stderr
    assert not (tmp_path / "run").exists()


def test_rollouts_are_determined_by_the_seed(warm_start, prepared):
    def completions(seed):
        config, materials = prepared(rollouts_per_query=4, seed=seed)
        return [answer.completion for answer in warm_start.rollouts(config, materials.train, 4, temperature=1.0)]

    first = completions(1)
    assert completions(1) == first
    assert completions(2) != first


def test_an_index_of_another_corpus_is_rejected(shared, data, tmp_path, monkeypatch):
    other = tmp_path / "data"
    other.mkdir()
    for name in ("queries.jsonl", "qrels"):
        (other / name).symlink_to(data / name)
    (other / "corpus.jsonl").write_text((data / "corpus.jsonl").read_text().replace("Lima is", "Lima was"))
    with pytest.raises(IndexMismatchError):
        train_here(monkeypatch, {**shared, **GRPO, "data": other, "output_dir": tmp_path / "run"})

"""GRPO on a model with random weights; the reward is the number of distinct letters, so that it varies."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, LlamaForCausalLM, TrainerCallback

from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.training.callbacks import Alarms
from acqo_rl.training.curriculum import RewardHistory
from acqo_rl.training.data import grpo_dataset
from acqo_rl.training.grpo import (
    SAMPLER_FILE,
    HistorySampler,
    below_the_group,
    build_trainer,
    finish,
)
from acqo_rl.training.model import load_trainable
from acqo_rl.training.run_folder import last_checkpoint
from acqo_rl.training.settings import GrpoSettings
from acqo_rl.types import Query

POLICY = PolicySettings(max_new_tokens=8)
QUERIES = [Query(str(i), f"capital of country {i}") for i in range(6)]
QRELS = {q.id: {"g": 1} for q in QUERIES}


class DistinctLetters:
    """A reward that varies within a group; records the queries that it scores."""

    __name__ = "letters"
    invalid_reward = -0.1

    def __init__(self):
        self.asked = []
        self.qualities = []

    def __call__(self, prompts, completions, query, **_):
        self.asked.append(query)
        texts = [c[-1]["content"] for c in completions]
        self.qualities = [len(set(text)) / 8 for text in texts]
        return self.qualities


def dev_measures(*values):
    """A dev measure that returns these values in turn and repeats the last one."""
    left = list(values)

    def measure(policy, sampling):
        assert policy.reformulate(QUERIES[:1])
        assert sampling.reformulate(QUERIES[:1])
        return {"nDCG@10": left.pop(0) if len(left) > 1 else left[0]}

    return measure


def trainer_of(model, folder, *, dev=(0.0, 1.0), reward=None, callbacks=(), lora_rank=0, **changed):
    ours = {name: changed.pop(name) for name in changed.keys() & {f.name for f in fields(GrpoSettings)}}
    trainer = {
        "max_steps": 6,
        "per_device_train_batch_size": 4,
        "num_generations": 2,
        "learning_rate": 1e-2,
        "warmup_steps": 0,
        "eval_steps": 2,
        "temperature": 1.0,
        "top_p": 1.0,
        **changed,
    }
    settings = GrpoSettings(lora_rank=lora_rank, trainer=trainer, **ours)
    trainable, tokenizer = load_trainable(model, lora_rank, seed=0)
    return build_trainer(
        settings,
        model=trainable,
        tokenizer=tokenizer,
        policy=POLICY,
        reward=reward or DistinctLetters(),
        train_dataset=grpo_dataset(QUERIES, QRELS, prompt_of(POLICY, len)),
        dev_measures=dev_measures(*dev),
        output_dir=folder,
        seed=0,
        callbacks=callbacks,
    )


@pytest.mark.parametrize("shares", [True, False])
def test_completions_end_at_the_end_token_of_the_chat_template(tiny, tmp_path, shares):
    """The ``eos_token`` of a Qwen base model is not the token that ends its turns."""
    folder = tmp_path / "base"
    shutil.copytree(tiny, folder)
    other = AutoTokenizer.from_pretrained(folder)
    end = other.eos_token_id
    other.eos_token = "<|endoftext|>"
    other.save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder)
    model.config.eos_token_id = model.generation_config.eos_token_id = other.eos_token_id
    model.save_pretrained(folder)
    trainer = trainer_of(str(folder), tmp_path / "run", shared_prefix="always" if shares else "never")
    assert set(trainer.eos_token_ids) == {end, other.eos_token_id}
    prompt = trainer.processing_class("Peru", add_special_tokens=False)["input_ids"]
    written, *_ = trainer._generate_single_turn([prompt] * 256, None, {}, 1)
    pad = trainer.processing_class.pad_token_id
    ended = [row for row in written if end in row]
    assert ended
    assert all(set(row[row.index(end) + 1 :]) <= {pad} for row in ended)


def test_eval_measure_chooses_the_checkpoint(tiny, tmp_path):
    assert trainer_of(tiny, tmp_path, eval_measure="R@10").args.metric_for_best_model == "eval_R@10"


@pytest.mark.parametrize("prioritised", [True, False])
def test_prompts_are_drawn_by_reward_history_unless_this_is_off(tiny, tmp_path, prioritised):
    trainer = trainer_of(tiny, tmp_path, prioritised_sampling=prioritised)
    assert isinstance(trainer._get_train_sampler(), HistorySampler) == prioritised


class Stop(TrainerCallback):
    """Stops training after a checkpoint."""

    def __init__(self, step):
        self.step = step

    def on_save(self, args, state, control, **_):
        control.should_training_stop = state.global_step == self.step


def steps_of(trainer):
    """The logged metrics of each training step, without times."""
    kept = ("loss", "reward", "reward_std", "grad_norm", "entropy", "completions/mean_length")
    return {e["step"]: [e[name] for name in kept] for e in trainer.state.log_history if "reward" in e}


def weights_of(model):
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def measured_at(trainer):
    return [entry["step"] for entry in trainer.state.log_history if "eval_nDCG@10" in entry]


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory):
    """An uninterrupted run of six steps over two epochs, and its initial weights."""
    trainer = trainer_of(tiny, tmp_path_factory.mktemp("whole"))
    before = weights_of(trainer.model)
    trainer.resume(None)
    return trainer, before


def test_all_parameters_change(whole):
    trainer, before = whole
    moved = [name for name, value in trainer.model.named_parameters() if not torch.equal(value, before[name])]
    assert len(moved) == len(before)


def test_every_step_is_logged(whole):
    trainer, _ = whole
    assert list(steps_of(trainer)) == [1, 2, 3, 4, 5, 6]
    assert all(np.isfinite(values).all() for values in steps_of(trainer).values())
    assert any(values[2] > 0 for values in steps_of(trainer).values())
    assert measured_at(trainer) == [0, 2, 4, 6]


def test_every_checkpoint_can_be_loaded_as_a_policy(whole):
    trainer, _ = whole
    policy = Policy.from_pretrained(last_checkpoint(trainer.args.output_dir))
    assert policy.settings == POLICY
    [answer] = policy.reformulate([Query("q", "anything")])
    assert answer.sub_queries


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 4], ids=["within an epoch", "in the second epoch"])
def test_a_resumed_run_equals_an_uninterrupted_one(whole, tiny, tmp_path, step):
    """Prompts are drawn by reward history; prompts, completions, rewards and losses are the same."""
    trainer_of(tiny, tmp_path, callbacks=[Stop(step)]).resume(None)
    checkpoint = last_checkpoint(tmp_path)
    assert checkpoint.name == f"checkpoint-{step}"
    resumed = trainer_of(tiny, tmp_path)
    resumed.resume(checkpoint)
    wanted = steps_of(whole[0])
    assert steps_of(resumed) == {s: pytest.approx(values, rel=1e-4, abs=1e-6) for s, values in wanted.items()}
    assert measured_at(resumed) == measured_at(whole[0])
    for name, value in resumed.model.named_parameters():
        assert torch.allclose(value, dict(whole[0].model.named_parameters())[name], atol=1e-5)


@pytest.mark.slow
def test_a_run_resumed_at_the_end_of_an_epoch_draws_new_prompts(tiny, tmp_path):
    """An epoch has three batches; a checkpoint after the third must not repeat its draws."""
    alone, both = DistinctLetters(), DistinctLetters()
    trainer_of(tiny, tmp_path / "whole", reward=alone, eval_steps=3).resume(None)
    trainer_of(tiny, tmp_path / "cut", reward=both, eval_steps=3, callbacks=[Stop(3)]).resume(None)
    trainer_of(tiny, tmp_path / "cut", reward=both, eval_steps=3).resume(last_checkpoint(tmp_path / "cut"))
    assert len(alone.asked) == 6
    assert both.asked == alone.asked


def test_groups_may_have_any_size(tiny, tmp_path):
    """TRL requires its (unused) evaluation batch to contain whole groups, too."""
    trainer = trainer_of(tiny, tmp_path, num_generations=16, per_device_train_batch_size=16)
    assert trainer.num_generations == 16


def test_an_invalid_completion_does_not_outweigh_its_group():
    nan = float("nan")
    rewards = torch.tensor([[1.8, -0.1, 1.7, nan], [-0.1, -0.1, -0.1, nan], [0.5, 0.4, 0.3, 0.2]])
    wanted = torch.tensor([[1.8, 1.6, 1.7, nan], [-0.1, -0.1, -0.1, nan], [0.5, 0.4, 0.3, 0.2]])
    torch.testing.assert_close(below_the_group(rewards, -0.1), wanted, equal_nan=True)


@pytest.mark.slow
def test_rollouts_on_a_cpu_follow_the_grammar(tiny, tmp_path):
    """A random model writes only beginnings of completions in the grammar."""
    written = []

    class Reader(DistinctLetters):
        def __call__(self, prompts, completions, query, **others):
            written.extend(c[-1]["content"] for c in completions)
            return super().__call__(prompts, completions, query, **others)

    trainer_of(tiny, tmp_path, reward=Reader(), max_steps=1).resume(None)
    assert written
    routes = ("pass", "resolve", "split")
    first_lines = [text.split("\n")[0] for text in written]
    assert all(any(route.startswith(line) for route in routes) for line in first_lines)


class TestFinish:
    def test_the_best_checkpoint_is_kept(self, tiny, tmp_path):
        trainer = trainer_of(tiny, tmp_path, dev=(0.1, 0.9, 0.2), max_steps=4)
        trainer.resume(None)
        best = weights_of(load_trainable(str(tmp_path / "checkpoint-2"), 0, 0)[0])
        assert "rose from 0.1000 to 0.9000" in finish(trainer, POLICY, tiny, "nDCG@10", tmp_path)
        kept = weights_of(load_trainable(str(tmp_path / "model"), 0, 0)[0])
        assert all(torch.equal(kept[name], best[name]) for name in best)
        assert PolicySettings.load(tmp_path / "model" / "acqo.json") == POLICY
        log = json.loads((tmp_path / "log.json").read_text())
        assert [e["eval_nDCG@10"] for e in log if "eval_nDCG@10" in e] == [0.1, 0.9, 0.2]

    def test_the_starting_model_is_kept_if_no_checkpoint_is_better(self, tiny, tmp_path):
        trainer = trainer_of(tiny, tmp_path, dev=(0.9, 0.1), max_steps=2)
        trainer.resume(None)
        assert "the starting model was kept" in finish(trainer, POLICY, tiny, "nDCG@10", tmp_path)
        kept, start = (weights_of(load_trainable(p, 0, 0)[0]) for p in (str(tmp_path / "model"), tiny))
        assert all(torch.equal(kept[name], start[name]) for name in start)

    def test_a_run_that_stopped_before_the_second_evaluation_keeps_the_starting_model(self, tiny, tmp_path):
        trainer = trainer_of(tiny, tmp_path, max_steps=2)
        trainer.state.log_history = [{"eval_nDCG@10": 0.9}]
        sentence = finish(trainer, POLICY, tiny, "nDCG@10", tmp_path)
        assert "0.9000" in sentence
        assert "the starting model was kept" in sentence

    def test_an_adapter_is_saved_as_an_adapter(self, tiny, tmp_path):
        trainer = trainer_of(tiny, tmp_path, lora_rank=2, max_steps=2)
        trainer.resume(None)
        finish(trainer, POLICY, tiny, "nDCG@10", tmp_path)
        assert json.loads((tmp_path / "model" / "adapter_config.json").read_text())["base_model_name_or_path"] == tiny
        assert Policy.from_pretrained(str(tmp_path / "model")).reformulate(QUERIES[:1])[0].tokens > 0


def test_alarms_stop_training(tiny, tmp_path):
    """Every completion of a random model is truncated by the token limit."""
    trainer = trainer_of(tiny, tmp_path, callbacks=[Alarms(2, tmp_path)])
    trainer.resume(None)
    assert trainer.state.global_step == 2
    assert len((tmp_path / "alarms.jsonl").read_text().splitlines()) == 2


def test_an_exception_of_the_reward_stops_training(tiny, tmp_path):
    class Broken(DistinctLetters):
        def __call__(self, prompts, completions, query, **_):
            raise ConnectionError("the search server does not answer")

    with pytest.raises(ConnectionError):
        trainer_of(tiny, tmp_path, reward=Broken()).resume(None)


class TestHistorySampler:
    def sampler(self, history=None, **changed):
        arguments = {"groups_per_batch": 2, "group_size": 3, "repeats": 2, "seed": 0, **changed}
        return HistorySampler(history or RewardHistory(5), **arguments)

    def test_has_the_order_of_trl(self):
        """The prompts of a batch are distinct, the rollouts of a prompt are adjacent, and each batch is repeated."""
        rows = list(self.sampler())
        assert len(rows) == len(self.sampler()) == 2 * 2 * 3 * 2
        for batch in (rows[:12], rows[12:]):
            first, second = batch[:6], batch[6:]
            assert first == second
            assert first == [first[0]] * 3 + [first[3]] * 3
            assert first[0] != first[3]

    def test_prompts_with_different_rewards_are_drawn_more_often(self):
        history = RewardHistory(10)
        for _ in range(20):
            history.record([0, 0, 1, 1], [1.0, 1.0, 0.0, 1.0])
        drawn = [next(iter(self.sampler(history, groups_per_batch=1, seed=s, repeats=1))) for s in range(300)]
        assert drawn.count(1) > 15
        assert drawn.count(0) < 10

    def test_draws_are_equal_in_all_processes_and_differ_between_epochs(self):
        one, other = self.sampler(), self.sampler()
        epochs = [(list(one), list(other)) for _ in range(3)]
        assert all(a == b for a, b in epochs)
        assert epochs[0] != epochs[1]

    def test_state_survives_a_round_trip_through_json(self):
        sampler = self.sampler()
        epoch = iter(sampler)
        begun = [next(epoch) for _ in range(13)]  # the second batch is drawn
        state = json.loads(json.dumps(sampler.state(epoch_is_over=False)))
        rest = list(epoch)
        again = self.sampler()
        again.restore(state)
        assert list(again) == begun + rest
        assert list(again) == list(sampler)


def test_the_sampler_state_is_saved_with_the_checkpoint(whole):
    trainer, _ = whole
    state = json.loads((last_checkpoint(trainer.args.output_dir) / SAMPLER_FILE).read_text())
    assert sum(state["history"]["groups"]) == 12

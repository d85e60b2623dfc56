"""GRPO on a model with random weights; the reward is the number of distinct letters, so that it varies."""

import json
import shutil
from itertools import groupby

import pytest
import torch
from transformers import AutoTokenizer, LlamaForCausalLM, TrainerCallback

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.training import grpo
from acqo_rl.training.grpo import below_the_group, build_trainer, finish, grpo_arguments, grpo_dataset
from acqo_rl.training.model import load_trainable, resume
from acqo_rl.training.run_folder import last_checkpoint
from acqo_rl.training.settings import GrpoSettings
from acqo_rl.types import Query, Turn

POLICY = PolicySettings(max_new_tokens=8)
QUERIES = [Query(str(i), f"capital of country {i}") for i in range(6)]
TRAINER = {
    "max_steps": 6,
    "per_device_train_batch_size": 4,
    "num_generations": 2,
    "learning_rate": 1e-2,
    "warmup_steps": 0,
    "eval_steps": 1,
    "save_total_limit": 9,
    "temperature": 1.0,
    "top_p": 1.0,
}


class DistinctLetters:
    """A reward that varies within a group, and from prompt to prompt."""

    __name__ = "letters"
    invalid_reward = -0.1

    def __call__(self, completions, query, **_):
        letters = [len(set(completion[-1]["content"])) / 8 for completion in completions]
        return [number + int(text[-1]) for number, text in zip(letters, query, strict=True)]


def begins_a_route(completion):
    """Whether a completion follows the grammar; with few tokens, it may end within the name of the route."""
    return any(route.startswith(completion.split("\n")[0]) for route in ("pass", "resolve", "split"))


def trainer_of(model, folder, *, dev=(0.0, 1.0), callbacks=(), lora_rank=0, trainer=TRAINER, **settings):
    """A trainer; its dev measure has the values ``dev`` in turn, and repeats the last one."""
    left = list(dev)

    def measure(policy, sampling):
        for made in (*policy.reformulate(QUERIES[:2]), *sampling.reformulate(QUERIES[:2])):
            assert begins_a_route(made.completion)
        return {"nDCG@10": left.pop(0) if len(left) > 1 else left[0]}

    settings = GrpoSettings(trainer=trainer, **settings)
    trainable, tokenizer = load_trainable(model, lora_rank, seed=0)
    if lora_rank:
        assert trainable.peft_config["default"].lora_alpha == 2 * lora_rank
    made = build_trainer(
        settings,
        grpo_arguments(settings, POLICY, lora_rank=lora_rank, output_dir=str(folder), seed=0),
        model=trainable,
        tokenizer=tokenizer,
        policy=POLICY,
        reward=DistinctLetters(),
        train_dataset=grpo_dataset(QUERIES, {q.id: {"g": 1} for q in QUERIES}, prompt_of(POLICY, len)),
        dev_measures=measure,
    )
    for callback in callbacks:
        made.add_callback(callback)
    return made


@pytest.mark.parametrize("shares", [True, False])
def test_completions_end_at_the_end_token_of_the_chat_template(tiny, tmp_path, monkeypatch, shares):
    """The ``eos_token`` of a Qwen base model is not the token that ends its turns; on a CPU, a grammar is followed."""
    folder = shutil.copytree(tiny, tmp_path / "base")
    other = AutoTokenizer.from_pretrained(folder)
    end = other.eos_token_id
    other.eos_token = "<|endoftext|>"
    other.save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder)
    model.config.eos_token_id = model.generation_config.eos_token_id = other.eos_token_id
    model.save_pretrained(folder)
    monkeypatch.setattr(grpo, "keeps_every_token", lambda model: shares)
    trainer = trainer_of(str(folder), tmp_path / "run")
    tokenizer = trainer.processing_class
    assert set(trainer.eos_token_ids) == {end, other.eos_token_id}
    prompt = tokenizer("Peru", add_special_tokens=False)["input_ids"]
    written, *_ = trainer._generate_single_turn([prompt] * 256, None, {}, 1)
    if shares:
        assert all(map(begins_a_route, tokenizer.batch_decode(written, skip_special_tokens=True)))
    ended = [row for row in written if end in row]
    assert ended
    assert all(set(row[row.index(end) + 1 :]) <= {tokenizer.pad_token_id} for row in ended)


def test_a_query_becomes_a_row_with_the_columns_of_the_reward():
    query = Query("a", "one", (Turn("user", "Hi."),))
    read = {"query": "one", "visible_text": "one\nHi.", "gold": ["g"], "prompt": Prompt(len).render(query)}
    assert grpo_dataset([query], {"a": {"g": 1, "x": 0}}, Prompt(len)).to_list() == [read]


def test_settings_reach_the_trainer(tiny, tmp_path):
    groups = {"num_generations": 16, "per_device_train_batch_size": 16}
    trainer = trainer_of(tiny, tmp_path, trainer=groups, eval_measure="R@10")
    assert (trainer.num_generations, trainer.args.metric_for_best_model) == (16, "eval_R@10")
    assert trainer.args.bf16 is (not trainer.args.use_cpu) is torch.cuda.is_available()
    rates = [grpo_arguments(GrpoSettings(), POLICY, lora_rank=rank, output_dir="out", seed=0) for rank in (0, 8)]
    assert [arguments.learning_rate for arguments in rates] == [1e-6, 2e-5]
    ordered = trainer_of(tiny, tmp_path, trainer=TRAINER | {"shuffle_dataset": False})._get_train_sampler()
    assert [row for row, _ in groupby(ordered)] == [*range(len(QUERIES))]
    sampler = trainer_of(tiny, tmp_path)._get_train_sampler()
    orders = [list(sampler) for epoch in (0, 1, 0) if sampler.set_epoch(epoch)]
    assert orders[0] == orders[2] != orders[1]


@pytest.mark.parametrize(
    "trainer",
    [
        {"learnin_rate": 1.0},
        {"learning_rate": "much"},
        {"num_generations": 3},
        {"output_dir": "x"},
        {"eval_steps": 3, "num_iterations": 2},
    ],
)
def test_settings_of_the_trainer_are_checked(trainer):
    with pytest.raises(ConfigError, match=next(iter(trainer))):
        grpo_arguments(GrpoSettings(trainer=trainer), POLICY, lora_rank=0, output_dir="out", seed=0)


class Stop(TrainerCallback):
    """Stops training after a checkpoint."""

    def __init__(self, step):
        self.step = step

    def on_save(self, args, state, control, **_):
        control.should_training_stop |= state.global_step == self.step


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
    """An uninterrupted run of six steps over two epochs."""
    trainer = trainer_of(tiny, tmp_path_factory.mktemp("whole"))
    resume(trainer)
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 3], ids=["within an epoch", "at the end of an epoch"])
def test_a_resumed_run_equals_an_uninterrupted_one(whole, tiny, tmp_path, step):
    """Prompts, completions, rewards and losses are the same."""
    resume(trainer_of(tiny, tmp_path, callbacks=[Stop(step)]))
    kept = last_checkpoint(tmp_path)
    assert kept.name == f"checkpoint-{step}"
    assert len({oct(file.stat().st_mode) for file in kept.glob("*.*") if file.is_file()}) == 1  # as the umask allows
    resumed = trainer_of(tiny, tmp_path)
    resume(resumed)
    wanted = steps_of(whole)
    assert steps_of(resumed) == {s: pytest.approx(values, rel=1e-4, abs=1e-6) for s, values in wanted.items()}
    assert measured_at(resumed) == measured_at(whole) == [0, *wanted] == [0, 1, 2, 3, 4, 5, 6]
    trained, start = weights_of(whole.model), weights_of(load_trainable(tiny, 0, 0)[0])
    for name, value in resumed.model.named_parameters():
        assert torch.allclose(value, trained[name], atol=1e-5)
        assert not torch.equal(value, start[name])
    assert Policy.from_pretrained(last_checkpoint(tmp_path)).settings == POLICY


def test_an_invalid_completion_does_not_outweigh_its_group():
    nan = float("nan")
    rewards = torch.tensor([[1.8, -0.1, 1.7, nan], [-0.1, -0.1, -0.1, nan], [0.5, 0.4, 0.3, 0.2]])
    wanted = torch.tensor([[1.8, 1.6, 1.7, nan], [-0.1, -0.1, -0.1, nan], [0.5, 0.4, 0.3, 0.2]])
    torch.testing.assert_close(below_the_group(rewards, -0.1), wanted, equal_nan=True)


@pytest.mark.parametrize(("dev", "best"), [((0.1, 0.9, 0.2), 1), ((0.9, 0.1), None)])
def test_the_model_with_the_best_dev_measure_is_kept(tiny, tmp_path, dev, best):
    """The best checkpoint, or the starting model if none is better."""
    trainer = trainer_of(tiny, tmp_path, dev=dev, trainer=TRAINER | {"max_steps": 2})
    resume(trainer)
    finish(trainer, POLICY, tiny, 0, "nDCG@10")
    names = str(tmp_path / "model"), str(tmp_path / f"checkpoint-{best}") if best else tiny
    kept, wanted = (weights_of(load_trainable(name, 0, 0)[0]) for name in names)
    assert all(torch.equal(kept[name], wanted[name]) for name in wanted)
    assert PolicySettings.load(tmp_path / "model" / "acqo.json") == POLICY
    log = json.loads((tmp_path / "log.json").read_text())
    assert tuple(e["eval_nDCG@10"] for e in log if "eval_nDCG@10" in e)[: len(dev)] == dev


@pytest.mark.parametrize("stop", [9, 2], ids=["whole", "resumed"])
def test_evaluations_without_a_better_measure_stop_training_and_an_adapter_is_saved_as_one(tiny, tmp_path, stop):
    given = {"lora_rank": 2, "patience": 2, "dev": (0.9, 0.3, 0.2, 0.1)}
    trainer = trainer_of(tiny, tmp_path, callbacks=[Stop(stop)], **given)
    resume(trainer)
    if stop == 2:
        trainer = trainer_of(tiny, tmp_path, **given | {"dev": (0.1,)})
        resume(trainer)
    assert trainer.state.global_step == 3
    finish(trainer, POLICY, tiny, 2, "nDCG@10")
    assert json.loads((tmp_path / "model" / "adapter_config.json").read_text())["base_model_name_or_path"] == tiny
    assert Policy.from_pretrained(str(tmp_path / "model")).reformulate(QUERIES[:1])[0].tokens > 0

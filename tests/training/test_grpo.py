"""GRPO on a model with random weights; the reward is the number of distinct letters, so that it varies."""

import json
import os
import random
import shutil
import signal
from importlib.util import find_spec
from itertools import groupby

import pytest
import torch
from forked import CONTEXT, two_processes
from test_warm_start import Stop
from transformers import AutoTokenizer, LlamaForCausalLM, TrainerCallback
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from transformers.training_args import OptimizerNames

from acqo_rl.cli import module_of
from acqo_rl.cli.command import settings_of
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.training import grpo
from acqo_rl.training.grpo import below_the_group, build_trainer, finish, grpo_arguments, grpo_dataset
from acqo_rl.training.model import load_trainable, resume
from acqo_rl.training.run_folder import last_checkpoint
from acqo_rl.training.settings import GrpoSettings
from acqo_rl.types import Query, Turn

POLICY = PolicySettings(max_new_tokens=8, query_tokens=600)
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

ACCUMULATING = TRAINER | {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}


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


def trainer_of(
    model, folder, *, dev=(0.0, 1.0), callbacks=(), lora_rank=0, trainer=TRAINER, queries=QUERIES, **settings
):
    """A trainer; its dev measure has the values ``dev`` in turn, and repeats the last one."""
    left = list(dev)

    def measure(policy, sampling):
        for made in (*policy.reformulate(QUERIES[:2]), *sampling.reformulate(QUERIES[:2])):
            assert begins_a_route(made.completion)
        value = left.pop(0) if len(left) > 1 else left[0]
        return {"nDCG@10": value}, [value, 3 * value]

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
        train_dataset=grpo_dataset(queries, {q.id: {q.id: 1} for q in queries}, prompt_of(POLICY, len)),
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
    assert (ended := [row for row in written if end in row])
    assert all(set(row[row.index(end) + 1 :]) <= {tokenizer.pad_token_id} for row in ended)


def test_a_query_becomes_a_row_with_the_columns_of_the_reward():
    query = Query("a", "one", (Turn("user", "Hi."),))
    fields = {"id": "a", "text": "one", "history": [{"speaker": "user", "text": "Hi."}], "feedback": [], "left_out": []}
    read = {"query": "one", "asked": fields, "gold": ["g"]}
    rows = grpo_dataset([query], {"a": {"g": 1, "x": 0}}, Prompt(len)).to_list()
    assert rows == [read | {"prompt": Prompt(len).render(query)}]


def test_settings_reach_the_trainer(tiny, tmp_path):
    groups = {"num_generations": 16, "per_device_train_batch_size": 16}
    trainer = trainer_of(tiny, tmp_path, trainer=groups | {"beta": 0.1}, eval_measure="R@10")
    assert (trainer.num_generations, trainer.args.metric_for_best_model, trainer.beta) == (16, "eval_R@10", 0.1)
    assert trainer.args.bf16 is (not trainer.args.use_cpu) is torch.cuda.is_available()
    rates = [grpo_arguments(GrpoSettings(), POLICY, lora_rank=rank, output_dir="out", seed=0) for rank in (0, 8)]
    assert [arguments.learning_rate for arguments in rates] == [1e-6, 2e-5]
    ordered = trainer_of(tiny, tmp_path, order="gap")._get_train_sampler()
    assert [row for row, _ in groupby(ordered)] == [*range(len(QUERIES))]


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


OPTIONAL = [{"deepspeed": {"zero_optimization": {"stage": 2}}}, {"use_liger_kernel": True}, {"use_vllm": True}]
OPTIONAL += [{"report_to": tracker} for tracker in sorted(INTEGRATION_TO_CALLBACK)]
OPTIONAL += [{"optim": optimizer.value, "optim_target_modules": "all-linear"} for optimizer in OptimizerNames]
PACKAGES = ["deepspeed", "liger_kernel", "vllm", "wandb", "bitsandbytes", "schedulefree", "torchao", "galore_torch"]


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("command", ["warm-start", "grpo"])
def test_a_missing_package_is_named_before_data_is_read(command, tmp_path):
    """Whatever optional package of the libraries a setting needs."""
    said = ""
    script = module_of(command)
    for trainer in OPTIONAL if command == "grpo" else [one for one in OPTIONAL if "use_vllm" not in one]:
        config = settings_of(script.main)("no data", "no index", str(tmp_path), "no model", trainer=trainer)
        try:
            script.check(config)
        except ConfigError as error:
            said += f"{error}\n"
            with pytest.raises(type(error)):
                script.main(config)
    names = [name for name in PACKAGES if not find_spec(name) and (name, command) != ("vllm", "warm-start")]
    assert [name for name in names if name.replace("_", "-") not in said.replace("_", "-")] == []
    assert said.count("\n") < len(OPTIONAL)  # some need no package


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
    trainer = trainer_of(tiny, tmp_path_factory.mktemp("whole"), trainer=ACCUMULATING)
    resume(trainer)
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 3], ids=["within an epoch", "at the end of an epoch"])
def test_a_resumed_run_equals_an_uninterrupted_one(whole, tiny, tmp_path, step):
    """Prompts, completions, rewards and losses are the same."""
    resume(trainer_of(tiny, tmp_path, callbacks=[Stop(step)], trainer=ACCUMULATING))
    kept = last_checkpoint(tmp_path)
    assert kept.name == f"checkpoint-{step}"
    assert len({oct(file.stat().st_mode) for file in kept.glob("*.*") if file.is_file()}) == 1  # as the umask allows
    resumed = trainer_of(tiny, tmp_path, trainer=ACCUMULATING)
    resume(resumed)
    wanted = steps_of(whole)
    assert steps_of(resumed) == {s: pytest.approx(values, rel=1e-4, abs=1e-6) for s, values in wanted.items()}
    assert measured_at(resumed) == measured_at(whole) == [0, *wanted] == [0, 1, 2, 3, 4, 5, 6]
    trained = weights_of(whole.model)
    start = weights_of(load_trainable(tiny, 0, 0)[0])
    for name, value in resumed.model.named_parameters():
        assert torch.allclose(value, trained[name], atol=1e-5)
        assert not torch.equal(value, start[name])
    assert Policy.from_pretrained(last_checkpoint(tmp_path)).settings == POLICY


def test_an_invalid_completion_does_not_outweigh_its_group():
    nan = float("nan")
    rewards = torch.tensor([[1.8, -0.1, 1.7, nan], [-0.1, -0.1, -0.1, nan], [0.5, 0.4, 0.3, 0.2]])
    wanted = torch.tensor([[1.8, 1.6, 1.7, nan], [-0.1, -0.1, -0.1, nan], [0.5, 0.4, 0.3, 0.2]])
    torch.testing.assert_close(below_the_group(rewards, -0.1), wanted, equal_nan=True)


def test_accumulated_gradients_are_those_of_one_pass(tiny, tmp_path):
    """The rows that TRL shuffles and divides keep their advantages."""
    norms = []
    for passes in (1, 2):
        given = {"max_steps": 1, "per_device_train_batch_size": 8 // passes, "gradient_accumulation_steps": passes}
        trainer = trainer_of(tiny, tmp_path / str(passes), trainer=TRAINER | given | {"num_generations": 4})
        resume(trainer)
        norms.append(steps_of(trainer)[1][3])
    assert 0 < norms[0] == pytest.approx(norms[1], rel=1e-4)


def in_two_processes(function, *arguments, status=0):
    """Calls a function of this file in two processes that communicate, as those of a launcher do."""
    processes = [CONTEXT.Process(target=called, args=(one, function, *arguments)) for one in two_processes()]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=240)
        process.kill()
        process.join()
    assert [process.exitcode for process in processes] == [status, status]


def called(environment, function, *arguments):
    os.environ.update(environment)
    torch.set_num_threads(1)
    function(*arguments)
    torch.distributed.destroy_process_group()


UNEVEN = [Query(str(i), letter * (20, 500, 300)[i % 3] + f" {i}") for i, letter in enumerate("abcdefgh")]
"""Queries so different that processes need different numbers of forward passes."""


class Kill(TrainerCallback):
    """Kills its process after a step."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        if state.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def train_unevenly(model, folder, groups, killed_at=None):
    """Trains for 30 steps on ``groups`` groups per pass.

    Instead of the seed of a process, the prompt and the step decide on a completion, so that any number of processes
    trains on the same completions. The dev measures of the second process do not rise, and are not used.
    """
    given = {"max_steps": 30, "eval_steps": 10, "num_iterations": 2, "beta": 0.1, "learning_rate": 1e-3}
    sizes = {"per_device_train_batch_size": 2 * groups, "gradient_accumulation_steps": 2}
    kill = [Kill(killed_at)]
    trainer = trainer_of(model, folder, callbacks=kill, trainer=TRAINER | given | sizes, queries=UNEVEN, patience=1)
    is_first = trainer.accelerator.is_main_process
    trainer._dev_measures = lambda *_: ({"nDCG@10": trainer.state.global_step if is_first else 0}, [0.0])
    texts = trainer.processing_class(["pass<|im_end|>", "split\na<|im_end|>", "split\nab", "resolve\n"])["input_ids"]

    def written(prompts, *_):
        order = [random.Random(f"{prompt} {trainer.state.global_step}").sample(texts, 2) for prompt in prompts[::2]]
        return [ids for group in order for ids in group], None

    trainer._generate_single_turn = written
    resume(trainer)
    return trainer


@pytest.mark.slow
def test_two_processes_that_are_killed_and_resumed_learn_what_one_does(tiny, tmp_path):
    in_two_processes(train_unevenly, tiny, tmp_path / "two", 1, 17, status=-signal.SIGKILL)
    assert last_checkpoint(tmp_path / "two").name == "checkpoint-10"
    in_two_processes(train_unevenly, tiny, tmp_path / "two", 1)
    one = train_unevenly(tiny, tmp_path / "one", 2)
    two, start = (weights_of(load_trainable(str(name), 0, 0)[0]) for name in (tmp_path / "two" / "checkpoint-30", tiny))
    for name, value in one.model.named_parameters():
        torch.testing.assert_close(two[name], value.detach(), rtol=1e-4, atol=1e-5)
        assert not torch.equal(value, start[name])
    with pytest.raises(ConfigError, match="with 2 processes, and this run has 1"):
        train_unevenly(tiny, tmp_path / "two", 2)


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
    """A resumed run, too, logs the gains in reward since its first evaluation, with their error."""
    given = {"lora_rank": 2, "patience": 2, "dev": (0.9, 0.3, 0.2, 0.1)}
    trainer = trainer_of(tiny, tmp_path, callbacks=[Stop(stop)], **given)
    resume(trainer)
    if stop == 2:
        trainer = trainer_of(tiny, tmp_path, **given | {"dev": (0.1,)})
        resume(trainer)
    assert trainer.state.global_step == 3
    log = [entry for entry in trainer.state.log_history if "eval_gain" in entry]
    assert [entry["eval_gain"] for entry in log] == pytest.approx([0.0, -1.2, -1.4, -1.6][: len(log)])
    assert [entry["eval_gain_error"] for entry in log] == pytest.approx(
        [0.6 / 2**0.5 * n for n in (0.0, 1.0, 7 / 6, 4 / 3)][: len(log)]
    )
    finish(trainer, POLICY, tiny, 2, "nDCG@10")
    assert json.loads((tmp_path / "model" / "adapter_config.json").read_text())["base_model_name_or_path"] == tiny
    assert Policy.from_pretrained(str(tmp_path / "model")).reformulate(QUERIES[:1])[0].tokens > 0

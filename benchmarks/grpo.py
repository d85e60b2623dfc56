r"""Time and memory of a GRPO step: plain TRL versus processing each distinct prompt once.

    python benchmarks/grpo.py
    python benchmarks/grpo.py --model Qwen/Qwen2.5-0.5B-Instruct --prompt_tokens 250 1000 --completions 64

Each case runs in a separate process with the same random prompts, the same batch and a trivial reward. The time of a
step includes generation, log-probabilities, backward pass and update. The model is not trained for the task, so its
completions always reach the token limit. The first step is a warm-up and is not counted. On a GPU, generation is always
TRL's.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from multiprocessing import get_context
from typing import Any

from acqo_rl.cli import command

PARTS = {"generation": "_generate_single_turn", "log-probabilities": "_get_per_token_logps_and_entropies"}
CASES: dict[str, tuple[str, ...]] = {
    "plain TRL": (),
    "each prompt once in generation": ("generation",),
    "each prompt once in log-probabilities": ("log-probabilities",),
    "each prompt once in both": tuple(PARTS),
}
"""Case -> parts of a step that process each prompt once; the other parts are TRL's own."""


@dataclass
class BenchmarkConfig:
    """Settings of the benchmark."""

    model: str = field(default="embedded:smollm2", metadata={"help": "Folder, Hub id or embedded model."})
    prompt_tokens: list[int] = field(
        default_factory=lambda: [50, 250], metadata={"help": "Number of words per prompt, about one token each."}
    )
    completions: int = field(default=32, metadata={"help": "Completions per step, in groups of 8."})
    completion_tokens: int = field(default=40, metadata={"help": "Maximum tokens of a completion."})
    steps: int = field(default=4, metadata={"help": "Steps per case, including the warm-up step."})


def main(config: BenchmarkConfig) -> None:
    """Prints one line per case, with the ratios to plain TRL."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["acqo_rl.training.grpo"])  # otherwise every case imports torch and TRL again
    print("| prompt | case | seconds a step | GiB | time ratio | memory ratio |")
    print("| -----: | ---- | -------------: | --: | ---------: | -----------: |")
    for words in config.prompt_tokens:
        plain: tuple[float, float] | None = None
        for case, shared in CASES.items():
            with ProcessPoolExecutor(1, mp_context=context) as process:
                seconds, memory = process.submit(measure, config, words, shared).result()
            plain = plain or (seconds, memory)
            print(
                f"| {words} | {case} | {seconds:.2f} | {memory:.2f} "
                f"| {seconds / plain[0]:.2f} | {memory / plain[1]:.2f} |",
                flush=True,
            )


def measure(config: BenchmarkConfig, words: int, shared: tuple[str, ...]) -> tuple[float, float]:
    """Measures the median seconds per step, and the peak memory of the process (or of its GPU) in GiB.

    Args:
        config: settings.
        words: number of words per prompt.
        shared: keys of :data:`PARTS`; these parts of a step process each prompt once.
    """
    import torch
    from datasets import Dataset
    from trl import GRPOTrainer

    from acqo_rl.reformulation.policy import PolicySettings
    from acqo_rl.training.grpo import build_trainer, grpo_arguments
    from acqo_rl.training.model import load_trainable
    from acqo_rl.training.settings import GrpoSettings

    generator = random.Random(0)
    groups = config.completions // 8
    vocabulary = [" ".join(pair) for pair in product(("old", "green", "new"), ("river", "city", "hill", "bridge"))]
    prompts = [" ".join(generator.choices(vocabulary, k=words // 2)) for _ in range(groups * config.steps)]
    model, tokenizer = load_trainable(config.model, 16, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        settings = GrpoSettings(
            trainer={
                "per_device_train_batch_size": config.completions,
                "max_steps": config.steps,
                "eval_steps": 10 * config.steps,
                "temperature": 1.0,
                "top_p": 1.0,
            },
        )
        policy = PolicySettings(max_new_tokens=config.completion_tokens)
        trainer = build_trainer(
            settings,
            grpo_arguments(settings, policy, lora_rank=16, output_dir=folder, seed=0),
            model=model,
            tokenizer=tokenizer,
            policy=policy,
            reward=_Random(),
            train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": text}]} for text in prompts]),
            dev_measures=lambda policy, sampling: ({"nDCG@10": 0.0}, [0.0]),
        )
        for part in PARTS.keys() - set(shared):
            setattr(trainer, PARTS[part], getattr(GRPOTrainer, PARTS[part]).__get__(trainer))
        trainer.train()
    times = [entry["step_time"] for entry in trainer.state.log_history if "step_time" in entry]
    if torch.cuda.is_available():
        return statistics.median(times[1:]), torch.cuda.max_memory_allocated() / 2**30
    return statistics.median(times[1:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class _Random:
    """A random reward, which differs within a group, so that there is a gradient."""

    __name__ = "random"
    invalid_reward = -1.0

    def __init__(self) -> None:
        self.generator = random.Random(0)

    def __call__(self, completions: list[Any], **_: Any) -> list[float]:
        return [self.generator.random() for _ in completions]


if __name__ == "__main__":
    command.run(main, sys.argv[1:])

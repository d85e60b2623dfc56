r"""Run the whole recipe: data, index, warm start, Stage I, difficulty, Stage II, export, evaluation.

    acqo train --config configs/train/embedded.yaml
    acqo train --config configs/train/beir.yaml --data BEIR_DIR --output_dir outputs/mine
    acqo train --config configs/train/hotpotqa.yaml --data HOTPOTQA_DIR --output_dir outputs/hotpotqa
    acqo train --config configs/train/hotpotqa.yaml --plan True

--plan prints what the recipe needs (GPU memory, index, steps, tokens, hours), without running anything.
Every stage is one command, printed before it runs, with its own folder in --output_dir. The same command resumes an
interrupted recipe: finished stages are skipped, and an interrupted stage is resumed. The settings of the stages are in
``warm_start``, ``stage1``, ``difficulty`` and ``stage2`` in the YAML file. They are checked before the first stage
begins, and may be changed until their stage has written results. To repeat a stage with other settings, delete its
folder and the folders of later stages.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.recipe import RecipeConfig, check, launcher_of, mapping_of, plan, processes_of, unfinished
from acqo_rl.errors import AcqoError, ConfigError
from acqo_rl.training.settings import policy_settings, trainer_settings


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(RecipeConfig, description=__doc__)


def main(config: RecipeConfig) -> None:
    """Runs the stages in order."""
    from acqo_rl.training.run_folder import check_tracking, open_run

    if config.plan:
        show_plan(config)
        return
    stages = plan(config)
    for stage in stages:
        check(stage)
        check_tracking(stage.settings.get("trainer", stage.settings).get("report_to", "none"))
    open_run(config.output_dir, asdict(config), unfinished(Path(config.output_dir)))
    begin, measured = time.monotonic(), mapping_of(config, "minutes")
    expected = [float(measured.get(stage.name, 0.0)) for stage in stages]
    for number, stage in enumerate(stages):
        minutes = (time.monotonic() - begin) / 60
        print(f"\n== {number + 1}/{len(stages)} {stage.name}  {_clock(minutes, expected, number)}", flush=True)
        print(f"   {stage.shown()}", flush=True)
        ended = subprocess.run(stage.argv()).returncode
        if ended == 130:
            raise KeyboardInterrupt
        if ended != 0:
            raise AcqoError(
                f"The stage '{stage.name}' failed with status {ended}; see its message above. "
                f"Earlier stages are kept; fix the cause and run the same command again."
            )
    print(f"\nAll stages finished after {(time.monotonic() - begin) / 60:.1f} minutes: {config.output_dir}")


def show_plan(config: RecipeConfig) -> None:
    """Prints the memory and time that the GRPO stages need; see :mod:`acqo_rl.training.estimate` for the formulas.

    Raises:
        ConfigError: the data do not exist and their sizes are not given, or the size of the model is unknown.
    """
    from acqo_rl.training import estimate

    passages, queries = sizes_of(config)
    shape = estimate.shape_of(config.model)
    processes, sharding = processes_of(launcher_of(config))
    print(
        f"{config.model}: {shape.parameters / 1e9:.2f} billion parameters; "
        f"{processes} {'process' if processes == 1 else 'processes'} {sharding}".rstrip()
    )
    on_gpu = show_indexes(config, passages, processes)
    total = {card.name: 0.0 for card in (estimate.H100, estimate.H20)}
    policy = policy_settings(config, config.model)
    for stage in plan(config):
        if not stage.name.startswith("Stage"):
            continue
        given = check(stage)
        share = config.stage1_hardest_fraction if stage.name.startswith("Stage I:") else 1.0
        trainer = trainer_settings(given)
        per_process = trainer["per_device_train_batch_size"]
        per_step = per_process * trainer.get("gradient_accumulation_steps", 1) * processes
        wanted = estimate.Stage(
            queries=round(queries * share),
            epochs=trainer["num_train_epochs"],
            rollouts=trainer["num_generations"],
            per_process=per_process,
            per_step=per_step,
            steps=max(trainer.get("max_steps", -1), 0),
        )
        feedback = round(1.4 * policy.feedback_results * policy.feedback_words)
        longest = estimate.MEAN_PROMPT + policy.history_tokens + policy.query_tokens + feedback
        prompt = estimate.MEAN_PROMPT + policy.history_tokens / 2 + feedback
        checkpointing = trainer.get("gradient_checkpointing", True)
        memory = estimate.memory_of(
            shape, wanted, longest, policy.max_new_tokens, lora_rank=given.lora_rank, checkpointing=checkpointing,
            processes=processes, sharding=sharding,
        )  # fmt: skip
        print(f"\n{stage.name}")
        print(
            f"  {wanted.optimizer_steps:,} steps of {per_step} completions: {wanted.completions:,} completions,",
            end=" ",
        )
        print(f"{wanted.completions * estimate.MEAN_COMPLETION / 1e6:,.1f} million generated tokens")
        shares_card = trainer.get("use_vllm") and trainer.get("vllm_mode", "colocate") == "colocate"
        vllm = trainer.get("vllm_gpu_memory_utilization", 0.3) if shares_card else 0.0
        print(
            f"  GB per process: model, gradients, optimizer {memory.model:.1f}; activations {memory.activations:.1f}"
            + (f"; vLLM {vllm:.0%} of the card" if vllm else "")
        )
        completion = min(estimate.MEAN_COMPLETION, policy.max_new_tokens)
        for card, cards in ((estimate.H100, 1), (estimate.H20, 8)):
            copies = min(1, processes / cards) if config.index_device == "shards" else 1
            index = on_gpu * copies + (estimate.FAISS_RESERVES if on_gpu else 0)
            hours = estimate.hours_of(shape, wanted, prompt, completion, card, cards, checkpointing=checkpointing)
            total[card.name] += hours
            needed = replace(memory, index=index).on(card, vllm)
            fits = "" if needed <= card.gigabytes else f"; DOES NOT FIT: {needed:.0f} GB of {card.gigabytes:.0f}"
            print(f"  about {hours:.1f} hours on {cards} x {card.name}{fits}")
    print("\nBoth stages (with all queries in Stage II, although its band keeps fewer): about", end=" ")
    print(f"{total['H100']:.1f} hours on one H100, {total['H20']:.1f} on 8 x H20 ({8 * total['H20']:.0f} GPU-hours).")
    print(
        "Formulas: training takes 8 N operations per token (10 N with checkpointing) at 35 % of the peak; decoding"
        "\nreads 2 N bytes per step at 70 % of the bandwidth. Details: acqo_rl/training/estimate.py. For the paper's"
        f"\nrun on HotpotQA (12.1 GPU-hours on 8 x H20), the estimate is {estimate.gpu_hours_of_the_paper():.1f};"
        " expect errors up to a factor of 3."
    )


def show_indexes(config: RecipeConfig, passages: int, processes: int) -> float:
    """Prints the memory of the indexes that the recipe builds, and returns the GB of an index on the GPU.

    Each process loads its own copy of an index in main memory.

    Raises:
        ConfigError: the index cannot be on a GPU.
    """
    from acqo_rl.training import estimate

    on_gpu = 0.0
    if not config.index and config.index_kind != "bm25":
        shape = (passages, estimate.dimension_of(config.encoder), config.index_factory)
        named, size = f"dense index ({config.index_factory}) of {passages:,} passages", estimate.index_gigabytes(*shape)
        if config.index_device in ("gpu", "shards"):
            on_gpu = estimate.gpu_index_gigabytes(*shape, float16=config.index_float16)
            places = {"gpu": "on the GPU of each process", "shards": "divided over the GPUs, for each process"}
            print(f"{named}: {on_gpu:.1f} GB {places[config.index_device]}, and {estimate.FAISS_RESERVES} GB per GPU")
        else:
            print(f"{named}: {estimate.in_each_process(size, processes)}")
    if not config.index and config.index_kind != "dense":
        size = estimate.bm25_gigabytes(passages)
        print(f"BM25 index of {passages:,} passages: about {estimate.in_each_process(size, processes)}")
    return on_gpu


def sizes_of(config: RecipeConfig) -> tuple[int, int]:
    """The numbers of passages and training queries, from the data if they exist, otherwise from the settings."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.data.embedded import QUERIES, count_passages

    if config.data == "embedded" and not (config.passages or config.queries):
        return count_passages(config.seed), QUERIES["train"]
    if Path(config.data).is_dir():
        data = read_beir(config.data, "train")
        return len(data.corpus), len(data.queries["train"])
    if config.passages < 1 or config.queries < 1:
        raise ConfigError(
            f"{config.data} does not exist, passages is {config.passages} and queries is {config.queries}; to plan"
            " without the data, set both to at least 1."
        )
    return config.passages, config.queries


def _clock(minutes: float, expected: list[float], number: int) -> str:
    left = sum(expected[number:])
    if not left:
        return f"({minutes:.0f} min so far)"
    done = sum(expected[:number])
    pace = minutes / done if minutes > 1 and done > 1 else 1.0
    return f"({minutes:.0f} min so far, about {left * pace:.0f} min left)"

"""Loads models for training and saves trained policies."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.files import atomic_folder, follow_umask, writing
from acqo_rl.language_models.chat import end_tokens
from acqo_rl.language_models.local import (
    base_model_of,
    default_device,
    load_base,
    load_tokenizer,
    native_dtype,
    with_adapter,
)
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.training.run_folder import last_checkpoint, write_json


def load_trainable(path: str, lora_rank: int, seed: int) -> tuple[Any, Any]:
    """Loads a trainable model and its tokenizer.

    Args:
        path: Hub id, folder or embedded model. A LoRA adapter in the folder is trained further.
        lora_rank: rank of a new adapter on all linear layers, whose output is multiplied by 2; 0 trains all weights (in
            float32).
        seed: seed of the new adapter's weights.

    Raises:
        ConfigError: the model does not exist, or its folder has no weights or no tokenizer.
    """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed

    base, adapter = base_model_of(path)
    tokenizer = load_tokenizer(path)
    model = load_base(base, _frozen_dtype() if lora_rank else torch.float32)
    model.generation_config.eos_token_id = end_tokens(tokenizer, model.generation_config)
    set_seed(seed)
    if adapter is not None:
        model = with_adapter(model, adapter, is_trainable=True)
        if not lora_rank:
            model = model.merge_and_unload()
    elif lora_rank:
        layers = {"target_modules": "all-linear", "task_type": "CAUSAL_LM"}
        model = get_peft_model(model, LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, **layers))
    if lora_rank:
        model.peft_config["default"].base_model_name_or_path = base
    return model, tokenizer


def _frozen_dtype() -> Any:
    """The type of frozen weights: bfloat16 if the device is fast in it over whole sequences, else float32.

    With AVX-512 BF16, a forward and backward pass over 8 texts of 180 tokens took 0.7 of the CPU time of float32, and
    reading the prompts 0.6; decoding took as long. The adapter itself is trained in float32.
    """
    import torch

    if default_device() == "cpu" and torch.cpu._is_avx512_bf16_supported():
        return torch.bfloat16
    return native_dtype(default_device())


def draw_as_in_epoch(loader: Any, epoch: int, seed: int) -> None:
    """Makes the order of the examples depend on seed and epoch only, so that a resumed run draws the same ones.

    Args:
        loader: data loader of accelerate.
        epoch: number of the epoch that begins.
        seed: of the run.
    """
    import torch

    batches = loader.batch_sampler
    while hasattr(batches, "batch_sampler"):  # the shard of a process
        batches = batches.batch_sampler
    batches.sampler.generator = torch.Generator().manual_seed(seed + epoch)


def resume(trainer: Any) -> None:
    """Trains, from the last checkpoint in the trainer's folder if there is one.

    Raises:
        ConfigError: another number of processes wrote the checkpoint.
    """
    from transformers import TrainerCallback

    folder = Path(trainer.args.output_dir)
    checkpoint = last_checkpoint(folder)
    if checkpoint:
        before = len([*checkpoint.glob("rng_state*.pth")])
        now = trainer.accelerator.num_processes
        if before not in (0, now):  # 0: a checkpoint without random states (save_only_model)
            raise ConfigError(
                f"{checkpoint} is of a run with {before} processes, and this run has {now}, so it would learn from "
                f"other batches. Resume it with {before} processes, or give another output folder."
            )

    class Resumable(TrainerCallback):
        def on_epoch_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any, **_: Any) -> None:
            draw_as_in_epoch(train_dataloader, int(state.epoch or 0), args.seed)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                follow_umask(folder / f"checkpoint-{state.global_step}")

    save_random_state = trainer._save_rng_state

    def save_in_all_processes(checkpoint: str) -> None:
        save_random_state(checkpoint)
        trainer.accelerator.wait_for_everyone()  # the trainer state, which is written next, marks it as complete

    trainer._save_rng_state = save_in_all_processes
    trainer.add_callback(Resumable)
    with writing(folder):
        trainer.train(resume_from_checkpoint=checkpoint)


def save_run(trainer: Any, settings: PolicySettings, instead: Callable[[], Any] | None = None) -> Path:
    """Writes ``log.json``, and ``model/`` with weights (adapter or full), tokenizer and settings in one step.

    Args:
        trainer: a trainer of transformers that has trained.
        settings: settings of the policy.
        instead: loads a model that is saved instead of the trained one, in the main process.

    Returns:
        The folder of the model.
    """
    folder = Path(trainer.args.output_dir)
    weights = None if instead else trainer.accelerator.get_state_dict(trainer.model)  # gathers the shards
    if trainer.accelerator.is_main_process:
        write_json(folder / "log.json", trainer.state.log_history)
        model = instead() if instead else trainer.accelerator.unwrap_model(trainer.model)
        shutil.rmtree(folder / "model", ignore_errors=True)
        with atomic_folder(folder / "model") as half_done:
            model.save_pretrained(half_done, state_dict=weights)
            trainer.processing_class.save_pretrained(half_done)
            settings.save(half_done)
    trainer.accelerator.wait_for_everyone()
    return folder / "model"

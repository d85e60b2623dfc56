"""Loads models for training and saves trained policies."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.files import atomic_folder, writing
from acqo_rl.language_models.chat import end_tokens
from acqo_rl.language_models.local import (
    base_model_of,
    default_device,
    load_base,
    load_tokenizer,
    native_dtype,
    with_adapter,
)
from acqo_rl.reformulation.policy import PolicySettings, settings_of_policy
from acqo_rl.training.run_folder import last_checkpoint, write_json


def load_trainable(path: str, lora_rank: int, seed: int) -> tuple[Any, Any]:
    """Loads a trainable model and its tokenizer.

    Args:
        path: Hub id, folder or embedded model. A LoRA adapter in the folder is trained further.
        lora_rank: rank of a new adapter on all linear layers; 0 trains all weights (in float32).
        seed: seed of the new adapter's weights.

    Raises:
        ConfigError: the model does not exist, or its folder has no weights or no tokenizer.
    """
    import torch
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
        model = new_adapter(model, lora_rank)
    if lora_rank:
        model.peft_config["default"].base_model_name_or_path = base
    return model, tokenizer


def new_adapter(model: Any, rank: int) -> Any:
    """Adds a new LoRA adapter on all linear layers; its output is multiplied by 2."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def _frozen_dtype() -> Any:
    """The type of frozen weights: bfloat16 if the device is fast in it over whole sequences, else float32.

    With AVX-512 BF16, a forward and backward pass over 8 texts of 180 tokens took 0.7 of the CPU time of float32, and
    reading the prompts 0.6; decoding took as long. The adapter itself is trained in float32.
    """
    import torch

    if default_device() == "cpu" and torch.cpu._is_avx512_bf16_supported():
        return torch.bfloat16
    return native_dtype(default_device())


def changed_settings(path: str, settings: PolicySettings) -> str:
    """The settings of the starting policy that a run changes: ``name old -> new, ...``; empty if there are none."""
    before = settings_of_policy(path)
    if before is None:
        return ""
    new = asdict(settings)
    return ", ".join(f"{name} {old} -> {new[name]}" for name, old in asdict(before).items() if old != new[name])


def resume(trainer: Any) -> None:
    """Trains, from the last checkpoint in the trainer's folder if there is one."""
    folder = Path(trainer.args.output_dir)
    with writing(folder):
        trainer.train(resume_from_checkpoint=last_checkpoint(folder))


def save_run(
    trainer: Any, tokenizer: Any, settings: PolicySettings, finished: Callable[[Any], Any] | None = None
) -> Path:
    """Writes ``log.json``, and ``model/`` with weights (adapter or full), tokenizer and settings in one step.

    Args:
        trainer: a trainer of transformers that has trained.
        tokenizer: tokenizer of its model.
        settings: settings of the policy.
        finished: turns the trained model into the one to save, which has all weights in this process.

    Returns:
        The folder of the model.
    """
    folder = Path(trainer.args.output_dir)
    weights = None if finished else trainer.accelerator.get_state_dict(trainer.model)  # gathers the shards
    if trainer.accelerator.is_main_process:
        write_json(folder / "log.json", trainer.state.log_history)
        model = trainer.accelerator.unwrap_model(trainer.model)
        model = finished(model) if finished else model
        shutil.rmtree(folder / "model", ignore_errors=True)
        with atomic_folder(folder / "model") as half_done:
            model.save_pretrained(half_done, state_dict=weights)
            tokenizer.save_pretrained(half_done)
            settings.save(half_done)
    trainer.accelerator.wait_for_everyone()
    return folder / "model"

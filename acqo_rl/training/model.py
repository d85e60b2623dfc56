"""Loads models for training and saves trained policies."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.files import writing
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
from acqo_rl.training.run_folder import publish_model


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
        config = LoraConfig(
            r=lora_rank, lora_alpha=2 * lora_rank, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
        )
        model = get_peft_model(model, config)
    if lora_rank:
        model.peft_config["default"].base_model_name_or_path = base
    return model, tokenizer


def fine_tuning_arguments(
    output_dir: str | Path,
    *,
    learning_rate: float,
    epochs: float,
    batch_size: int,
    micro_batch_size: int,
    save_steps: int,
    seed: int,
    report_to: str,
) -> dict[str, Any]:
    """Arguments of the trainers that fine-tune on completions: warm start and distillation.

    Args:
        output_dir: folder of the run.
        learning_rate: peak learning rate; it follows a cosine.
        epochs: passes over the examples.
        batch_size: examples per device and optimizer step; a multiple of ``micro_batch_size``.
        micro_batch_size: examples per forward pass.
        save_steps: steps between checkpoints, of which two are kept.
        seed: seed of the order and of new weights.
        report_to: experiment tracker.
    """
    import torch

    on_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(output_dir),
        "learning_rate": learning_rate,
        "num_train_epochs": epochs,
        "per_device_train_batch_size": micro_batch_size,
        "gradient_accumulation_steps": batch_size // micro_batch_size,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 0.05,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "logging_steps": 5,
        "save_steps": save_steps,
        "save_total_limit": 2,
        "bf16": on_gpu,
        "dataloader_pin_memory": on_gpu,
        "use_cpu": not on_gpu,
        "report_to": report_to,
        "seed": seed,
    }


def _frozen_dtype() -> Any:
    """The type of frozen weights: bfloat16 if the device is fast in it over whole sequences, else float32.

    With AVX-512 BF16, a forward and backward pass over 8 texts of 180 tokens took 0.7 of the CPU time of float32, and
    reading the prompts 0.6; decoding took as long. The adapter itself is trained in float32.
    """
    import torch

    if default_device() == "cpu" and torch.cpu._is_avx512_bf16_supported():
        return torch.bfloat16
    return native_dtype(default_device())


def describe_changed_settings(path: str, settings: PolicySettings) -> str:
    """A sentence about the settings of the starting policy that the run changes; empty if there are none."""
    changed = _differences(path, settings)
    if not changed:
        return ""
    return f"The run changes settings of the policy that it starts from: {', '.join(changed)}."


def check_served_settings(path: str, settings: PolicySettings) -> None:
    """Checks that a run uses a policy with the settings that the policy is served with.

    Raises:
        ConfigError: ``path`` contains no policy, or the run has other settings than the policy.
    """
    changed = _differences(path, settings)
    if changed is None:
        raise ConfigError(
            f"preserve_kinds requires a trained policy, but {path} is not one; give a policy as the model, or "
            "omit preserve_kinds."
        )
    if changed:
        raise ConfigError(
            f"preserve_kinds requires the settings that the policy {path} is served with, but the run changes them: "
            f"{', '.join(changed)}. Use the settings of the policy."
        )


def _differences(path: str, settings: PolicySettings) -> list[str] | None:
    """One entry ``name old -> new`` per changed setting; ``None`` if ``path`` contains no policy."""
    before = settings_of_policy(path)
    if before is None:
        return None
    new = asdict(settings)
    return [f"{name} {old} -> {new[name]}" for name, old in asdict(before).items() if old != new[name]]


def save_policy(
    model: Any, tokenizer: Any, settings: PolicySettings, folder: str | Path, weights: dict[str, Any] | None = None
) -> Path:
    """Writes the weights (adapter or full), the tokenizer and the settings to ``folder/model`` in one step.

    Args:
        model: a model with or without an adapter.
        tokenizer: tokenizer of the model.
        settings: settings of the policy.
        folder: folder of the run.
        weights: the full state dict; required if this process holds only a shard of the model.
    """
    half_done = Path(tempfile.mkdtemp(dir=folder, prefix=".model-"))
    half_done.chmod(0o755)
    with writing(half_done):
        model.save_pretrained(half_done, state_dict=weights)
        tokenizer.save_pretrained(half_done)
        settings.save(half_done)
    return publish_model(half_done, folder)

"""Models that are trained: base, adapter or full, and how they are saved."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.chat import end_tokens
from acqo_rl.language_models.local import TransformersModel, base_model_of, default_device, load_base, native_dtype
from acqo_rl.reformulation.policy import PolicySettings, settings_of_policy
from acqo_rl.training.run_folder import publish_model


def load_trainable(path: str, lora_rank: int, seed: int) -> tuple[Any, Any]:
    """A model with gradients, and its tokenizer.

    Args:
        path: Hub id, folder or embedded model; a folder with a LoRA adapter goes on training that adapter.
        lora_rank: rank of a new adapter on all linear layers; 0 trains every weight (in float32).
        seed: of the new adapter's weights.

    Raises:
        ConfigError: there is no such model, or its folder lacks weights or tokenizer.
    """
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import set_seed

    base, adapter = base_model_of(path)
    tokenizer = TransformersModel.load_tokenizer(path)
    model = load_base(base, native_dtype(default_device()) if lora_rank else torch.float32)
    model.generation_config.eos_token_id = end_tokens(tokenizer, model.generation_config)
    set_seed(seed)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, adapter, is_trainable=True)
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


def told_differences(path: str, settings: PolicySettings) -> str:
    """What a policy that training starts from was served with and is no more; empty for a plain model."""
    changed = _differences(path, settings)
    if not changed:
        return ""
    return f"The policy to start from had other settings, which the run replaces: {', '.join(changed)}."


def check_answers_as_served(path: str, settings: PolicySettings) -> None:
    """Refuses to ask a policy for its own answers otherwise than it is served.

    Raises:
        ConfigError: there is no policy in ``path``, or it reads, writes or searches otherwise.
    """
    changed = _differences(path, settings)
    if changed is None:
        raise ConfigError(
            f"keep wants answers of a trained policy; {path} is none: name one as the model, or keep nothing."
        )
    if changed:
        raise ConfigError(
            f"keep wants the answers that {path} gives when it is served, and the run has other settings: "
            f"{', '.join(changed)}. Give the run those of the policy."
        )


def _differences(path: str, settings: PolicySettings) -> list[str] | None:
    """``name old -> new``; ``None`` for a plain model."""
    before = settings_of_policy(path)
    if before is None:
        return None
    new = asdict(settings)
    return [f"{name} {old} -> {new[name]}" for name, old in asdict(before).items() if old != new[name]]


def save_policy(
    model: Any, tokenizer: Any, settings: PolicySettings, folder: str | Path, weights: dict[str, Any] | None = None
) -> Path:
    """Writes weights (adapter or full), tokenizer and settings to ``folder/model`` in one step.

    Args:
        model: with or without an adapter.
        tokenizer: of the model.
        settings: of the policy.
        folder: of the run.
        weights: the whole state dict, where this process holds only a shard of the model.
    """
    half_done = Path(tempfile.mkdtemp(dir=folder, prefix=".model-"))
    half_done.chmod(0o755)
    model.save_pretrained(half_done, state_dict=weights)
    tokenizer.save_pretrained(half_done)
    settings.save(half_done)
    return publish_model(half_done, folder)

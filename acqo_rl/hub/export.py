"""Exports trained policies to self-contained folders.

An export contains:

model.safetensors config.json                            merged into the base model, bfloat16
adapter_model.safetensors adapter_config.json            or the LoRA adapter alone
tokenizer.json tokenizer_config.json chat_template.jinja
generation_config.json                                   greedy
acqo.json                                                settings that the policy must be served with
export.json                                              fingerprint and form of the exported model
README.md                                                the model card
"""

import json
import shutil
from pathlib import Path

from acqo_rl.errors import HubError
from acqo_rl.files import atomic_folder, hash_files, read_json, write_atomic
from acqo_rl.language_models.chat import end_tokens
from acqo_rl.language_models.embedded import resolve
from acqo_rl.language_models.local import TransformersModel, base_model_of, load_tokenizer
from acqo_rl.reformulation.policy import PolicySettings, read_settings

EXPORT_FILE = "export.json"
_CARD = "README.md"
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
SUFFIXES = (".safetensors", ".json", ".txt", ".md", ".jinja")


def export_policy(model: str | Path, output: str | Path, *, merge: bool = True, card: str = "") -> bool:
    """Writes a policy to a folder that ``Policy.from_pretrained`` can load.

    The folder appears only when it is complete.

    Args:
        model: the ``model/`` folder of a run.
        output: a new folder, or a folder with the same export. In that case only the card is written, again.
        merge: merge a LoRA adapter into its base model; otherwise export the adapter alone. Merged weights are rounded
            to bfloat16, so a near tie between two tokens may be resolved differently than in float32.
        card: text of ``README.md``.

    Returns:
        True if the export was written; False if ``output`` already contains this export.

    Raises:
        GrammarError: ``model`` is no policy, or it has another grammar or prompt version.
        ConfigError: the model cannot be loaded.
        HubError: ``output`` contains something else.
    """
    model = Path(model)
    output = Path(output)
    settings = read_settings(str(model))
    made_from = {"source": fingerprint(model), "form": "merged" if merge else "adapter"}
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        there = read_export(output)
        if not made_from.items() <= there.items():
            raise HubError(f"{output} contains {there or 'no export'}, not {made_from}; give another output folder.")
        check_export(output)
        write_atomic(output / _CARD, [card])
        return False
    with atomic_folder(output) as half_done:
        _write_model(model, half_done, settings, merge=merge)
        settings.save(half_done)
        write_atomic(half_done / _CARD, [card])
        write_atomic(half_done / EXPORT_FILE, [json.dumps(made_from, indent=2)])
        check_export(half_done)
    return True


def read_export(folder: str | Path) -> dict[str, str]:
    """The origin of an export: ``source`` (:func:`fingerprint`) and ``form``; empty if there is no export."""
    try:
        return dict(read_json(Path(folder, EXPORT_FILE)))
    except (OSError, ValueError):
        return {}


def fingerprint(folder: str | Path) -> str:
    """SHA-256 over the names and contents of a folder's files."""
    return hash_files(sorted(path for path in Path(folder).iterdir() if path.is_file()))


def check_export(folder: str | Path) -> None:
    """Checks that a folder contains a complete export that ``Policy.from_pretrained`` accepts, and nothing else.

    Raises:
        GrammarError: there is no policy, or it has another grammar or prompt version.
        HubError: the policy is incomplete, the folder contains other files (a pickle, code), or a JSON file refers to
            custom code.
    """
    folder = Path(folder)
    read_settings(str(folder))
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.suffix not in SUFFIXES:
            raise HubError(f"{path} is not allowed in an export; remove it. Allowed files: {', '.join(SUFFIXES)}.")
        if path.suffix == ".json" and "auto_map" in read_json(path):
            raise HubError(f"{path} refers to custom code (auto_map), which is never run; remove this entry.")
    merged = (folder / "config.json").is_file() and any(folder.glob("model*.safetensors"))
    if not merged and not all((folder / name).is_file() for name in ADAPTER_FILES):
        raise HubError(f"{folder} contains no safetensors weights of a model or an adapter; export it again.")
    if not (folder / "tokenizer_config.json").is_file():
        raise HubError(f"{folder} contains no tokenizer; export it again.")


def _write_model(model: Path, folder: Path, settings: PolicySettings, *, merge: bool) -> None:
    """Writes weights, tokenizer and generation config."""
    import torch
    from transformers import GenerationConfig

    tokenizer = load_tokenizer(str(model))
    if merge:
        TransformersModel.from_pretrained(str(model)).model.to(torch.bfloat16).save_pretrained(folder)
    else:
        for name in ADAPTER_FILES:
            if not (model / name).is_file():
                raise HubError(f"{model} is a full model, not an adapter ({name} is missing); omit --adapter.")
            shutil.copyfile(model / name, folder / name)
    tokenizer.save_pretrained(folder)
    try:
        configured = GenerationConfig.from_pretrained(resolve(base_model_of(str(model))[0]))
    except OSError:  # the base model has no generation config
        configured = None
    GenerationConfig(
        do_sample=False,
        max_new_tokens=settings.max_new_tokens,
        eos_token_id=end_tokens(tokenizer, configured),
        pad_token_id=tokenizer.pad_token_id,
    ).save_pretrained(folder)

"""Exports trained policies to self-contained folders and uploads them to the Hugging Face Hub.

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
from acqo_rl.files import atomic_folder, hash_files, write_atomic
from acqo_rl.reformulation.policy import PolicySettings, read_settings

EXPORT_FILE = "export.json"
_CARD = "README.md"
_ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
_SUFFIXES = (".safetensors", ".json", ".txt", ".md", ".jinja")


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
    model, output = Path(model), Path(output)
    settings = read_settings(str(model))
    made_from = {"source": fingerprint(model), "form": "merged" if merge else "adapter"}
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        there = read_export(output) or {}
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


def read_export(folder: str | Path) -> dict[str, str] | None:
    """Reads the origin of an export: ``source`` (:func:`fingerprint`) and ``form``.

    Returns:
        The entries; ``None`` if the folder contains no export.
    """
    try:
        return dict(json.loads(Path(folder, EXPORT_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


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
        if not path.is_file() or path.suffix not in _SUFFIXES:
            raise HubError(f"{path} is not allowed in an export; remove it. Allowed files: {', '.join(_SUFFIXES)}.")
        if path.suffix == ".json" and "auto_map" in json.loads(path.read_text(encoding="utf-8")):
            raise HubError(f"{path} refers to custom code (auto_map), which is never run; remove this entry.")
    merged = (folder / "config.json").is_file() and any(folder.glob("model*.safetensors"))
    if not merged and not all((folder / name).is_file() for name in _ADAPTER_FILES):
        raise HubError(f"{folder} contains no safetensors weights of a model or an adapter; export it again.")
    if not (folder / "tokenizer_config.json").is_file():
        raise HubError(f"{folder} contains no tokenizer; export it again.")


def check_repo_id(repo_id: str) -> None:
    """Checks the name of a Hub repository.

    Raises:
        HubError: the name does not have the form NAME/MODEL.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise HubError(f"{repo_id!r} is not a valid repository name: {error}") from error
    if repo_id.count("/") != 1:
        raise HubError(f"{repo_id!r} is not a repository; give NAME/MODEL, where NAME is your user or organisation.")


def token() -> str:
    """Returns the Hugging Face token stored on this machine.

    Raises:
        HubError: there is no token.
    """
    from huggingface_hub import get_token

    found = get_token()
    if not found:
        raise HubError(
            "No Hugging Face token was found. Run `hf auth login` or set HF_TOKEN to a token with write access"
            " (https://huggingface.co/settings/tokens), or only write the export to a folder: --dry_run --output DIR."
        )
    return found


def push(folder: str | Path, repo_id: str, *, private: bool = True) -> str:
    """Uploads an export and replaces an earlier export in the same repository.

    Args:
        folder: an export written by :func:`export_policy`.
        repo_id: NAME/MODEL; created if it does not exist.
        private: visibility of the repository; must match the visibility of an existing one.

    Returns:
        The URL of the repository.

    Raises:
        GrammarError: the export has another grammar or prompt version.
        HubError: the export is incomplete or needs a local model, there is no token, the Hub cannot be reached or
            rejects the upload, or the repository has another visibility.
    """
    import httpx
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    check_repo_id(repo_id)
    check_export(folder)
    _check_base(Path(folder))
    api = HfApi(token=token())
    try:
        url = api.create_repo(repo_id, private=private, exist_ok=True)
        if api.model_info(repo_id).private != private:
            seen, flag = ("public", "with --public") if private else ("private", "without --public")
            raise HubError(f"{repo_id} exists and is {seen}; push {flag}, or change its visibility on the Hub first.")
        api.upload_folder(
            repo_id=repo_id,
            folder_path=folder,
            allow_patterns=[f"*{suffix}" for suffix in _SUFFIXES],
            delete_patterns=["*.safetensors", "*.json"],
            commit_message="Policy exported by acqo_rl",
        )
    except HfHubHTTPError as error:
        raise HubError(
            f"The Hub rejected {repo_id}: {error} Check that the token has write access to {repo_id.split('/')[0]}."
        ) from error
    except (OSError, httpx.TransportError) as error:
        raise HubError(
            f"The Hub cannot be reached ({error}). Check the network, HTTPS_PROXY, HF_ENDPOINT and HF_HUB_OFFLINE;"
            f" the export can be pushed later."
        ) from error
    return str(url)


def _write_model(model: Path, folder: Path, settings: PolicySettings, *, merge: bool) -> None:
    """Writes weights, tokenizer and generation config."""
    import torch
    from transformers import GenerationConfig

    from acqo_rl.language_models.chat import end_tokens
    from acqo_rl.language_models.embedded import resolve
    from acqo_rl.language_models.local import TransformersModel, base_model_of, load_tokenizer

    tokenizer = load_tokenizer(str(model))
    if merge:
        TransformersModel.from_pretrained(str(model)).model.to(torch.bfloat16).save_pretrained(folder)
    else:
        for name in _ADAPTER_FILES:
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


def _check_base(folder: Path) -> None:
    """Checks that an adapter does not depend on a local folder.

    Raises:
        HubError: its base model is a folder on this machine.
    """
    from acqo_rl.language_models.local import is_missing_folder

    file = folder / "adapter_config.json"
    if not file.is_file():
        return
    base = json.loads(file.read_text(encoding="utf-8"))["base_model_name_or_path"]
    if Path(base).is_dir() or is_missing_folder(base):
        raise HubError(f"The adapter needs the local folder {base}, which other users do not have; omit --adapter.")

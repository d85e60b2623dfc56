"""Exports trained policies to self-contained folders, writes their model cards, and uploads them to the Hub.

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acqo_rl.errors import HubError
from acqo_rl.evaluation.tables import escaped
from acqo_rl.files import atomic_folder, hash_files, write_atomic
from acqo_rl.language_models.chat import end_tokens
from acqo_rl.language_models.embedded import resolve
from acqo_rl.language_models.local import TransformersModel, base_model_of, is_missing_folder, load_tokenizer
from acqo_rl.reformulation.policy import PolicySettings, read_settings
from acqo_rl.text import one_line

EXPORT_FILE = "export.json"
_CARD = "README.md"
_CARD_TEMPLATE = Path(__file__).parents[1] / "templates" / "model_card.md"
_SMOLLM2_ON_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"
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
        return dict(json.loads(Path(folder, EXPORT_FILE).read_text(encoding="utf-8")))
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
    adapter = Path(folder, "adapter_config.json")
    base = json.loads(adapter.read_text(encoding="utf-8"))["base_model_name_or_path"] if adapter.is_file() else ""
    if base and (Path(base).is_dir() or is_missing_folder(base)):
        raise HubError(f"The adapter needs the local folder {base}, which other users do not have; omit --adapter.")
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


def model_card(
    model: str | Path,
    repo_id: str,
    *,
    merged: bool = True,
    run: str | Path | None = None,
    evaluation: str | Path | None = None,
) -> str:
    """Returns the text of a policy's ``README.md``.

    Args:
        model: the ``model/`` folder of a run.
        repo_id: NAME/MODEL.
        merged: True for a merged model, False for an adapter.
        run: folder of the run (``config.json``, ``environment.json``).
        evaluation: output folder of ``acqo evaluate`` with results of this model (or of an export of it) and
            of the systems that it is compared to.

    Raises:
        GrammarError: the model has another grammar or prompt version.
        HubError: the run or the evaluation cannot be read, or the evaluation has no results of this model.
    """
    import yaml
    from huggingface_hub import ModelCard, ModelCardData

    model = Path(model)
    settings = read_settings(str(model))
    config = _read_json(Path(run) / "config.json") if run else {}
    public = {key: _public(value) for key, value in config.items() if key != "output_dir" and value is not None}
    settings_of_run = yaml.safe_dump(public, sort_keys=False, allow_unicode=True, width=10**9).rstrip()
    environment = _read_json(Path(run) / "environment.json") if run else {}
    base = _base_model(model)
    embedded = base in ("embedded:smollm2", "embedded:smollm2-20-layers")
    base_on_hub = _SMOLLM2_ON_HUB if embedded else base
    data = ModelCardData(
        language=list(settings.languages or ()) or None,
        base_model=base_on_hub,
        library_name="transformers",
        pipeline_tag="text-generation",
        license="apache-2.0" if embedded else None,
        tags=["acqo", "query-reformulation", "information-retrieval", "grpo", *(() if merged else ("peft", "lora"))],
    )
    card = ModelCard.from_template(
        data,
        template_str=_CARD_TEMPLATE.read_text(encoding="utf-8"),
        repo_id=repo_id,
        settings=settings,
        merged=merged,
        base=base_on_hub or "unknown",
        embedded=embedded,
        layers_removed=base == "embedded:smollm2-20-layers",
        trained_on={key: escaped(str(_public(value))) for key, value in config.items() if value},
        evaluated=_results(Path(evaluation), model) if evaluation else {},
        config=settings_of_run if public else "",
        versions=", ".join(f"{name} {version}" for name, version in environment.get("packages", {}).items()),
    )
    return str(card)


def _results(folder: Path, model: Path) -> dict[str, str]:
    """The data, the indexes and the table of an evaluation, with the name of this model in the table."""
    summary = _read_json(folder / "summary.json")
    if "table" not in summary:
        raise HubError(f"{folder} is of an earlier version; run its acqo evaluate again, which computes nothing again.")
    settings = summary["settings"]
    data = escaped((folder / settings["data"]).resolve().name)
    return {
        "name": _name_of(model, folder, settings["reformulators"]),
        "on": f"{data}, {settings['split']}, {settings['queries']} queries",
        "index": ", ".join("+".join(parts) for parts in settings["index fingerprint"].values()),
        "table": summary["table"],
    }


def _name_of(model: Path, evaluation: Path, reformulators: Mapping[str, str]) -> str:
    """The name of this model, or of an export of it, in the evaluation; paths are relative to the evaluation."""
    source = fingerprint(model)
    for name, path in reformulators.items():
        place = evaluation / path if path and (evaluation / path).exists() else path
        if path and (Path(place).resolve() == model.resolve() or read_export(place).get("source") == source):
            return name
    raise HubError(
        f"{evaluation} has no results of {model}; it has results of: {', '.join(reformulators)}. Evaluate the model or "
        "its export with acqo evaluate, or omit the evaluation."
    )


def _base_model(model: Path) -> str | None:
    """The original base model; follows adapters and earlier training runs back to the first model."""
    name = str(model)
    while Path(name).is_dir():
        base, adapter = base_model_of(name)
        config = Path(name).parent / "config.json"
        if adapter is not None:
            name = base
        elif config.is_file():
            name = _read_json(config).get("model", "")
            name = resolve(name) if name.startswith("trained:") else name
        else:
            return None
    return name if name and not is_missing_folder(name) else None


def _public(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = Path(value)
    if not path.exists() and not is_missing_folder(value):
        return one_line(value)
    return one_line(path.parent.name if path.name == "model" else path.name)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise HubError(f"{file} cannot be read ({error}); give the folder that the run or evaluation wrote.") from error

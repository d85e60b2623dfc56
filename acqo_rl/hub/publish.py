"""Model cards of exported policies, and their upload to the Hub."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acqo_rl.errors import HubError
from acqo_rl.evaluation.tables import escaped
from acqo_rl.files import read_json
from acqo_rl.hub.export import SUFFIXES, check_export, fingerprint, read_export
from acqo_rl.language_models.embedded import resolve
from acqo_rl.language_models.local import base_model_of, is_missing_folder
from acqo_rl.reformulation.policy import read_settings
from acqo_rl.text import one_line

_CARD_TEMPLATE = Path(__file__).parents[1] / "templates" / "model_card.md"
_SMOLLM2_ON_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"


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
        folder: an export written by :func:`acqo_rl.hub.export.export_policy`.
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
    base = read_json(adapter)["base_model_name_or_path"] if adapter.is_file() else ""
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
            allow_patterns=[f"*{suffix}" for suffix in SUFFIXES],
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
        return dict(read_json(file))
    except (OSError, ValueError) as error:
        raise HubError(f"{file} cannot be read ({error}); give the folder that the run or evaluation wrote.") from error

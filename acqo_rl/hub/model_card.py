"""Writes the model card of a policy from its training run and its evaluation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acqo_rl.errors import HubError
from acqo_rl.hub.export import fingerprint, read_export
from acqo_rl.reformulation.policy import read_settings
from acqo_rl.text import one_line

_MEASURES = ("nDCG@10", "R@10", "AllGold@10", "RR@10")
_TEMPLATE = Path(__file__).parent / "model_card.md"
_SMOLLM2_ON_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"


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
    from huggingface_hub import ModelCard, ModelCardData

    from acqo_rl.evaluation.tables import escaped

    model = Path(model)
    settings = read_settings(str(model))
    config = _read_json(Path(run) / "config.json") if run else {}
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
        template_str=_TEMPLATE.read_text(encoding="utf-8"),
        repo_id=repo_id,
        settings=settings,
        merged=merged,
        base=base_on_hub or "unknown",
        embedded=embedded,
        layers_removed=base == "embedded:smollm2-20-layers",
        trained_on={key: escaped(str(_public(value))) for key, value in config.items() if value},
        evaluated=_results(Path(evaluation), model) if evaluation else {},
        config=_yaml(config),
        versions=", ".join(f"{name} {version}" for name, version in environment.get("packages", {}).items()),
    )
    return str(card)


def _results(folder: Path, model: Path) -> dict[str, str]:
    """The data, the index and the table of an evaluation, in Markdown."""
    from acqo_rl.evaluation.significance import Difference
    from acqo_rl.evaluation.tables import Table, aligned, escaped, interval

    summary = _read_json(folder / "summary.json")
    settings = summary["settings"]
    index, fusion = next(iter(settings["index fingerprint"])), settings["fusion"][0]
    this = _name_of(model, folder, settings["reformulators"])
    names = [name for name in _MEASURES if name in settings["measures"]] or settings["measures"]
    gains = {c["system"]: Difference(**c["differences"][names[0]]) for c in summary["comparisons"]}
    rows = []
    for system in summary["systems"]:
        if (system["retriever"], system["fusion"]) == (index, fusion):
            name, overall = system["reformulator"], system["overall"]
            means = [f"{overall['measures'][measure]:.3f}" for measure in names]
            searches = f"{overall['quantities']['sub_queries']:.2f}"
            gain = interval(gains[system["name"]]) if system["name"] in gains else "-"
            rows.append((f"{name} (this model)" if name == this else name, *means, searches, gain))
    header = ("", *names, "sub-queries", f"{names[0]}: difference to {summary['baseline']}")
    data = escaped((folder / settings["data"]).resolve().name)
    return {
        "on": f"{data}, {settings['split']}, {settings['queries']} queries, fusion {fusion}",
        "index": "+".join(settings["index fingerprint"][index]),
        "table": aligned(Table("", "", header, tuple(rows))),
    }


def _name_of(model: Path, evaluation: Path, reformulators: Mapping[str, str]) -> str:
    """The name of this model, or of an export of it, in the evaluation; paths are relative to the evaluation."""
    source = fingerprint(model)
    for name, path in reformulators.items():
        place = evaluation / path if path and (evaluation / path).exists() else path
        if path and (Path(place).resolve() == model.resolve() or (read_export(place) or {}).get("source") == source):
            return name
    raise HubError(
        f"{evaluation} has no results of {model}; it has results of: {', '.join(reformulators)}. Evaluate the model or "
        "its export with acqo evaluate, or omit the evaluation."
    )


def _base_model(model: Path) -> str | None:
    """The original base model; follows adapters and earlier training runs back to the first model."""
    from acqo_rl.language_models.embedded import resolve
    from acqo_rl.language_models.local import base_model_of, is_missing_folder

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


def _yaml(config: Mapping[str, Any]) -> str:
    """The settings of the run as YAML, one per line; local paths are replaced by names."""
    import yaml

    public = {key: _public(value) for key, value in config.items() if key != "output_dir" and value is not None}
    return yaml.safe_dump(public, sort_keys=False, allow_unicode=True, width=10**9).rstrip() if public else ""


def _public(value: Any) -> Any:
    from acqo_rl.language_models.local import is_missing_folder

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

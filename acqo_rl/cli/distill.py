r"""Distill: make a copy of a policy with fewer layers, which takes less time for each query.

    acqo distill --model RUN/model --data BEIR_DIR --index INDEX_DIR --layers 20 --output_dir outputs/smaller
    acqo distill --model trained:four_sets --data BEIR_DIR --index INDEX_DIR --layers 16 --results 4 \
        --output_dir outputs/smaller

The policy completes one prompt for each training query; with --results, one for each of the first results. The layers
that these completions need least are removed. Then the copy is trained on the completions. Judgements are used only to
compare both on dev queries at the end. OUTPUT_DIR/model is a complete model, which all commands accept. On a CPU,
training takes long: use a GPU, or try it with a small --limit. The same command resumes an interrupted run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acqo_rl.cli.fields import setting
from acqo_rl.errors import ConfigError
from acqo_rl.training.settings import DISTILLATION, Count, PathSettings, Positive, trainer_help

if TYPE_CHECKING:
    from acqo_rl.reformulation.policy import PolicySettings
    from acqo_rl.training.materials import Materials
    from acqo_rl.types import Query


@dataclass
class DistillConfig(PathSettings):
    """Settings of a distillation."""

    layers: Count = setting("Number of layers that stay; by default two thirds of them.", 0)
    results: Positive = setting(
        "Prompts per query, each with another one of the first results, for policies that read one.", 1
    )
    lora_rank: Count = setting("Rank of the adapter that is trained and merged; 0 trains all weights.", 32)
    eval_limit: Positive = setting("Number of dev queries, a fixed sample.", 200)
    eval_measure: str = setting("Measure on the dev queries.", "nDCG@10")
    trainer: dict[str, Any] = setting(trainer_help("transformers' TrainingArguments", DISTILLATION), {})


def main(config: DistillConfig) -> None:
    """Writes the completions and chooses the layers, unless an earlier run has done so; then trains or resumes."""
    import json
    from pathlib import Path

    from transformers import AutoConfig

    from acqo_rl.language_models.embedded import resolve
    from acqo_rl.language_models.layers import layers_of
    from acqo_rl.language_models.local import TransformersModel, base_model_of
    from acqo_rl.reformulation.policy import Policy, prompt_of, read_settings
    from acqo_rl.training.distillation import distill, distillation_arguments, needed_layers, write_completions
    from acqo_rl.training.materials import start_run
    from acqo_rl.training.run_folder import write_json

    arguments = distillation_arguments(config.trainer, config.output_dir, config.seed)
    settings = read_settings(config.model)
    original = AutoConfig.from_pretrained(resolve(base_model_of(config.model)[0]))
    layers = number_of_layers(config, original.get_text_config().num_hidden_layers)
    folder = Path(config.output_dir)
    state, materials = start_run(config, settings.feedback)
    if materials is None:
        return
    model = TransformersModel.from_pretrained(config.model, max_new_tokens=settings.max_new_tokens)
    layers_of(model.model)  # refuses other architectures before the completions are written
    prompt = prompt_of(settings, model.count_tokens)
    with state.main_process_first():
        conversations = [prompt.render(query) for query in variants(config, settings, materials)]
        written = write_completions(model, conversations, folder / "completions.jsonl")
        chosen = folder / "layers.json"
        if not chosen.exists():
            write_json(
                chosen, needed_layers(model.model, written, layers, model.chat.tokenizer.pad_token_id, config.seed)
            )
    kept = json.loads(chosen.read_text(encoding="utf-8"))
    state.print(f"Layers that stay: {', '.join(map(str, kept))}.")
    distill(model, settings, written, arguments, kept=kept, lora_rank=config.lora_rank)
    if state.is_main_process:
        before, after = (
            materials.dev_measures(Policy.from_pretrained(name), limit=config.eval_limit, measure=config.eval_measure)
            for name in (config.model, str(folder / "model"))
        )
        write_json(folder / "dev.json", {"policy": before, "copy": after})
        measure = config.eval_measure
        print(f"Dev queries: {measure} {before[measure]:.3f} with the policy, {after[measure]:.3f} with the copy.")
        print(f"The copy with {layers} layers is in {folder / 'model'}.")


def number_of_layers(config: DistillConfig, available: int) -> int:
    """The number of layers that stay.

    Raises:
        ConfigError: the policy does not have more layers than that.
    """
    layers = config.layers or max(1, 2 * available // 3)
    if layers >= available:
        raise ConfigError(f"layers is {layers}, but {config.model} has {available}; give a smaller number.")
    return layers


def variants(config: DistillConfig, settings: PolicySettings, materials: Materials) -> list[Query]:
    """The training queries, if the policy reads results once for each of the first ``config.results`` results."""
    from dataclasses import replace

    from acqo_rl.reformulation.turns import first_searches
    from acqo_rl.searching.feedback import with_feedback
    from acqo_rl.searching.path import search

    queries = list(materials.train)
    more = config.results - 1
    if not settings.feedback_results or more < 1:
        return queries
    found = search(first_searches(queries), materials.retriever, materials.fusion, settings.feedback_results + more)
    for skipped in range(1, config.results):
        tops = [
            replace(result.fused, doc_ids=result.fused.doc_ids[skipped:], scores=result.fused.scores[skipped:])
            for result in found
        ]
        queries += with_feedback(materials.train, tops, materials.corpus, settings.feedback)
    return queries

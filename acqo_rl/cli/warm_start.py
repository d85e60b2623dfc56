r"""Warm start: fine-tune a model on reformulations that the reward has selected.

    acqo warm-start --config configs/warm_start/conversations.yaml --data BEIR_DIR --index INDEX_DIR \
        --output_dir outputs/warm_start
    accelerate launch train/warm_start.py --data BEIR_DIR --index INDEX_DIR --model Qwen/Qwen2.5-3B-Instruct \
        --examples 4000 --learning_rate 1e-4 --output_dir outputs/warm_start
    acqo warm-start --config configs/warm_start/conversations.yaml --data BEIR_DIR --index INDEX_DIR \
        --model outputs/warm_start/model --rollouts_per_query 8 --output_dir outputs/second_round

With --teacher, reformulations of a language model or of a strategy are additional candidates:

    acqo warm-start --config configs/warm_start/conversations.yaml --data BEIR_DIR --index INDEX_DIR \
        --teacher openai:qwen3@http://localhost:8000/v1 --output_dir outputs/taught

With --rollouts_per_query, the model's own rollouts are additional candidates (rejection sampling).
With --preserve_kinds, a policy learns a new kind of query without forgetting the kinds that it already handles.
The output folder contains examples.jsonl (the training examples), log.json and model/ (adapter, tokenizer, settings).
The same command resumes an interrupted run, both during scoring and during training.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from acqo_rl.cli import command
from acqo_rl.cli.fields import setting
from acqo_rl.cli.groups import WithPrompt, WithReward
from acqo_rl.errors import ConfigError
from acqo_rl.training.settings import (
    PathSettings,
    check_batch_sizes,
    policy_settings,
    warn_of_low_rate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from acqo_rl.reformulation.policy import PolicySettings
    from acqo_rl.training.candidates import Candidate
    from acqo_rl.training.materials import Materials
    from acqo_rl.training.warm_start import Example
    from acqo_rl.types import Query, Reformulation

_RATE = 5e-4


@dataclass
class WarmStartConfig(WithReward, WithPrompt, PathSettings):
    """Settings of a warm start."""

    examples: int = setting("Maximum number of training examples, balanced over the routes.", 1000)
    min_gain: float = setting("Minimum difference between the rewards of a candidate and of the raw query.", 0.05)
    tie_tolerance: float = setting(
        "Maximum difference to the best reward for a candidate to count as equally good. Of the equally "
        "good ones, the one with the most common form becomes the target.",
        0.05,
    )
    min_helped_share: float = setting(
        "Minimum share of the queries of a kind that a reformulation must help; otherwise the target of "
        "the whole kind is to pass. The kind is metadata.kind, or without it the route of the rules. With 0, each "
        "query is decided separately.",
        0.0,
    )
    teacher: list[str] = setting(
        "Sources of additional candidates: language models (openai:NAME@URL, anthropic:NAME), or "
        "reformulators of acqo evaluate as NAME or NAME=MODEL (hyde=openai:NAME@URL, turns). A strategy without "
        "MODEL uses --model.",
        [],
    )
    teacher_queries: int = setting("Number of training queries that each teacher reformulates; 0 means all.", 0)
    rollouts_per_query: int = setting(
        "Rollouts per query of the trained policy in --model, as additional candidates.", 0
    )
    preserve_kinds: list[str] = setting(
        "Kinds of queries (metadata.kind, or without it the route of the rules) whose targets are the "
        "greedy reformulations of the trained policy in --model, so that it does not forget them. They count "
        "towards --examples.",
        [],
    )
    preserve_min_gain: float | None = setting(
        "Minimum gain of a candidate over the policy's reformulation. The best such candidate replaces the "
        "target of a query of --preserve_kinds. Without this setting, these targets are never replaced.",
        None,
    )
    lora_rank: int = setting("Rank of the LoRA adapter; 0 trains all weights.", 16)
    learning_rate: float = setting("Peak learning rate.", _RATE)
    epochs: float = setting("Passes over the examples.", 1.0)
    batch_size: int = setting("Examples per device and optimizer step.", 16)
    micro_batch_size: int = setting("Examples per forward pass; batch_size must be a multiple of it.", 4)
    save_steps: int = setting("Steps between checkpoints.", 20)
    report_to: Literal["wandb", "tensorboard", "none"] = setting("Experiment tracker.", "none")

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: a setting is out of range, or batch_size is not a multiple of micro_batch_size.
        """
        super().__post_init__()
        check_batch_sizes(self.batch_size, self.micro_batch_size)


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(WarmStartConfig, description=__doc__)


def main(config: WarmStartConfig) -> None:
    """Collects the examples, unless an earlier run has done so; then trains or resumes training."""
    from pathlib import Path

    from accelerate import PartialState

    from acqo_rl.language_models.local import default_device, load_tokenizer
    from acqo_rl.training.curves import write_curves
    from acqo_rl.training.materials import open_materials
    from acqo_rl.training.model import check_served_settings, describe_changed_settings
    from acqo_rl.training.run_folder import check_tracking, open_run
    from acqo_rl.training.teachers import name_teachers
    from acqo_rl.training.warm_start import train

    check_tracking(config.report_to)
    settings = policy_settings(config.prompt, config.model)
    name_teachers(config.teacher, config.model)
    load_tokenizer(config.model)  # refuses a model that cannot be prompted before any work is done
    if config.preserve_kinds:
        check_served_settings(config.model, settings)
    folder = Path(config.output_dir)
    state = PartialState(cpu=default_device() == "cpu")
    if warning := warn_of_low_rate(config.learning_rate, config.lora_rank, _RATE):
        state.print(warning)
    with state.main_process_first():
        status = open_run(folder, asdict(config))
    if status == "finished":
        state.print(f"{folder} is finished: {folder / 'model'}")
        return
    if differences := describe_changed_settings(config.model, settings):
        state.print(differences)
    materials = open_materials(config, settings.feedback)
    with state.main_process_first():
        examples = collect(config, materials, folder / "examples.jsonl")
    train(
        materials.train,
        examples,
        settings,
        folder,
        model=config.model,
        lora_rank=config.lora_rank,
        learning_rate=config.learning_rate,
        epochs=config.epochs,
        batch_size=config.batch_size,
        micro_batch_size=config.micro_batch_size,
        save_steps=config.save_steps,
        seed=config.seed,
        report_to=config.report_to,
    )
    if state.is_main_process:
        write_curves(folder / "figures", [folder])
    state.print(f"The warm-started policy is in {folder / 'model'}.")


def collect(config: WarmStartConfig, materials: Materials, file: Path) -> Sequence[Example]:
    """Returns the training examples; reads them from ``file`` if it exists, otherwise selects and writes them."""
    from collections import Counter

    from acqo_rl.data.beir import read_query_metadata
    from acqo_rl.reformulation.heuristic import kinds_of
    from acqo_rl.training.warm_start import (
        balanced,
        decided_by_kind,
        improved_examples,
        own_examples,
        read_examples,
        read_scored,
        score_candidates,
        verified_examples,
        write_examples,
        write_scored,
    )

    if file.exists():
        return read_examples(file)
    kinds = kinds_of(materials.train, read_query_metadata(config.data))
    if unknown := set(config.preserve_kinds) - set(kinds.values()):
        raise ConfigError(
            f"preserve_kinds contains {', '.join(sorted(unknown))}, but the training queries of {config.data} have "
            f"the kinds {', '.join(sorted(set(kinds.values())))}; use these."
        )
    kept = [query for query in materials.train if kinds[query.id] in config.preserve_kinds]
    learned = [query for query in materials.train if kinds[query.id] not in config.preserve_kinds]
    asked = learned if config.preserve_min_gain is None else materials.train
    settings = policy_settings(config.prompt, config.model)
    reward = materials.reward("converge", config.reward, settings)
    scored_file = file.with_name("scored.jsonl")
    options = read_scored(scored_file) if scored_file.exists() else []
    left = asked[len(options) :]
    found = candidates_for(config, settings, asked, materials, file.with_name("teacher.sqlite")) if left else {}
    for batch in score_candidates(left, materials.qrels, found, reward):
        options += batch
        write_scored(options, scored_file)
    options_of_learned = [one for one in options if kinds[one.query_id] not in config.preserve_kinds]
    verified = verified_examples(options_of_learned, config.min_gain, config.tie_tolerance)
    scored = decided_by_kind(verified, kinds, config.min_helped_share)
    if kept:
        own = own_examples(list(rollouts(config, kept, 1, temperature=0.0)), materials.qrels, reward)
        worse = sum(e.reward < e.raw_reward for e in own)
        print(
            f"Targets from the policy (--preserve_kinds): {len(own)} of {len(kept)} queries; {worse} of them have a "
            f"lower reward than the raw query."
        )
        if config.preserve_min_gain is not None:
            improved = improved_examples(own, options, config.preserve_min_gain, config.tie_tolerance)
            changed = sum(new is not old for new, old in zip(improved, own, strict=True))
            print(f"Replaced by a candidate (--preserve_min_gain): {changed} of {len(own)} targets.")
            own = improved
        scored += own
    examples = balanced(scored, config.examples, config.seed)
    write_examples(examples, file)
    for name, some in (("Targets of the training queries", scored), ("Selected training examples", examples)):
        counts = Counter(e.route for e in some)
        print(f"{name}: " + ", ".join(f"{route} {n}" for route, n in sorted(counts.items())))
    return examples


def candidates_for(
    config: WarmStartConfig,
    settings: PolicySettings,
    queries: Sequence[Query],
    materials: Materials,
    cache: Path,
) -> dict[str, list[Candidate]]:
    """Returns query id -> candidates from rules and spans, from the teachers and from the policy."""
    from acqo_rl.reformulation.names import Lexicon
    from acqo_rl.training.candidates import Candidate, candidates_in
    from acqo_rl.training.teachers import candidates_of_teachers, name_teachers

    teachers = name_teachers(config.teacher, config.model)
    found = candidates_in(materials.corpus.values(), queries, settings.max_sub_queries)
    if teachers:
        asked = queries[: config.teacher_queries or None]
        lexicon = Lexicon.of(materials.corpus.values())
        taught = candidates_of_teachers(teachers, asked, settings.max_sub_queries, lexicon, cache)
        for query_id, some in taught.items():
            found[query_id] += some
    if config.rollouts_per_query:
        for answer in rollouts(config, queries, config.rollouts_per_query, temperature=1.0):
            if answer.route != "pass" and answer.problem is None:
                written = tuple(s for s in answer.sub_queries if s.min_margin is None)
                found[answer.query.id].insert(0, Candidate(answer.route, written, "policy"))
    return found


def rollouts(
    config: WarmStartConfig, queries: Sequence[Query], samples: int, temperature: float
) -> Iterator[Reformulation]:
    """Samples the policy in ``config.model``, ``samples`` times per query; temperature 0 decodes greedily."""
    from tqdm import tqdm
    from transformers import set_seed

    from acqo_rl.reformulation.policy import Policy

    set_seed(config.seed)
    policy = Policy.from_pretrained(config.model, temperature=temperature)
    for start in tqdm(range(0, len(queries), 32), desc="sample the policy", unit="batch"):
        yield from policy.reformulate([q for q in queries[start : start + 32] for _ in range(samples)])

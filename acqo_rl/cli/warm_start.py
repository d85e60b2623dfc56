r"""Warm start: supervised fine-tuning on reformulations that the reward has verified.

    acqo warm-start --config configs/warm_start/embedded.yaml
    accelerate launch train/warm_start.py --config configs/warm_start/beir.yaml --data BEIR_DIR --index INDEX_DIR \
        --output_dir outputs/warm_start
    acqo warm-start --config configs/warm_start/embedded.yaml --model outputs/warm_start/model --samples 8 \
        --output_dir outputs/second_round

With --teacher the reformulations of a language model or a strategy are candidates too; the reward decides as always:

    acqo warm-start --config configs/warm_start/embedded.yaml --teacher openai:qwen3@http://localhost:8000/v1 \
        --output_dir outputs/taught

With --samples the model's own rollouts are candidates too, before those of the rules: a round of rejection sampling.
With --keep a policy learns questions of a new kind beside what it does already.
The run's folder ends with examples.jsonl (the verified targets), log.json and model/ (adapter, tokenizer, settings).
The same command goes on with a run that was interrupted, in scoring or in training.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.training.settings import PathSettings, PromptSettings, RewardSettings, policy_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from acqo_rl.reformulation.policy import PolicySettings
    from acqo_rl.training.candidates import Candidate
    from acqo_rl.training.materials import Materials
    from acqo_rl.training.warm_start import Example, Scored
    from acqo_rl.types import Query, Reformulation


@dataclass
class WarmStartConfig(RewardSettings, PromptSettings, PathSettings):
    """Settings of a warm start."""

    examples: int = field(default=1000, metadata={"help": "Examples to train on, balanced over the routes."})
    margin: float = field(default=0.05, metadata={"help": "Reward by which a rewrite must beat the raw query."})
    tolerance: float = field(
        default=0.05,
        metadata={
            "help": "Candidates this close to the best reward count as equal; the target is the one whose form can be "
            "the target of most queries."
        },
    )
    least_share: float = field(
        default=0.0,
        metadata={
            "help": "Above 0, kinds of questions (metadata.kind, else the route of the rules) are decided as a whole: "
            "passed where searching helps less often than this share, searched elsewhere."
        },
    )
    teacher: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Whose reformulations are candidates too: a language model (openai:NAME@URL, anthropic:NAME), or "
            "a reformulator of acqo evaluate as NAME or NAME=MODEL (hyde=openai:NAME@URL, turns). A NAME without a "
            "MODEL prompts --model."
        },
    )
    teacher_queries: int = field(
        default=0, metadata={"help": "Number of training queries that each teacher reformulates; 0 means all."}
    )
    scored: str | None = field(
        default=None,
        metadata={
            "help": "scored.jsonl of an earlier run on the same data, index and settings of prompt and reward: scores "
            "nothing again, for another seed or other targets."
        },
    )
    samples: int = field(
        default=0,
        metadata={"help": "Rollouts a query of --model, where that is a trained policy: a rejection-sampling round."},
    )
    keep: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Kinds of questions (metadata.kind, else the route of the rules) that the trained policy of "
            "--model answers well: there its own greedy answers are the targets, so that it forgets less. They count "
            "among --examples."
        },
    )
    lora_rank: int = field(default=16, metadata={"help": "Rank of the LoRA adapter; 0 trains every weight."})
    learning_rate: float = field(default=5e-4, metadata={"help": "Peak learning rate."})
    epochs: float = field(default=1.0, metadata={"help": "Passes over the examples."})
    batch_size: int = field(default=16, metadata={"help": "Examples a device and optimizer step."})
    micro_batch_size: int = field(default=4, metadata={"help": "Examples a forward pass; divides batch_size."})
    save_steps: int = field(default=20, metadata={"help": "Steps between checkpoints."})
    report_to: Literal["wandb", "tensorboard", "none"] = field(default="none", metadata={"help": "Where to log."})

    def __post_init__(self) -> None:
        """Refuses what training cannot do with.

        Raises:
            ConfigError: a setting is out of range, or batch_size is no multiple of micro_batch_size.
        """
        super().__post_init__()
        if self.batch_size % self.micro_batch_size:
            raise ConfigError(
                f"batch_size is {self.batch_size}, no multiple of micro_batch_size {self.micro_batch_size}."
            )


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(WarmStartConfig, description=__doc__)


def main(config: WarmStartConfig) -> None:
    """Collects examples once, then trains or goes on training."""
    from pathlib import Path

    from accelerate import PartialState

    from acqo_rl.language_models.local import default_device
    from acqo_rl.training.materials import open_materials
    from acqo_rl.training.model import check_answers_as_served, told_differences
    from acqo_rl.training.run_folder import check_tracking, open_run
    from acqo_rl.training.teachers import name_teachers
    from acqo_rl.training.warm_start import train

    check_tracking(config.report_to)
    settings = policy_settings(config, config.model)
    name_teachers(config.teacher, config.model)
    if config.keep:
        check_answers_as_served(config.model, settings)
    folder = Path(config.output_dir)
    state = PartialState(cpu=default_device() == "cpu")
    with state.main_process_first():
        status = open_run(folder, asdict(config))
    if status == "finished":
        state.print(f"{folder} is finished: {folder / 'model'}")
        return
    if differences := told_differences(config.model, settings):
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
    state.print(f"The warm-started policy is in {folder / 'model'}.")


def collect(config: WarmStartConfig, materials: Materials, file: Path) -> Sequence[Example]:
    """The verified examples: read where they were written before, else searched for."""
    from collections import Counter

    from acqo_rl.data.beir import read_query_metadata
    from acqo_rl.training.warm_start import (
        balanced,
        decided_by_kind,
        kinds_of,
        own_examples,
        read_examples,
        read_scored,
        scored_options,
        verified_examples,
        write_examples,
        write_scored,
    )

    if file.exists():
        return read_examples(file)
    kinds = kinds_of(materials.train, read_query_metadata(config.data))
    if unknown := set(config.keep) - set(kinds.values()):
        raise ConfigError(
            f"keep names {', '.join(sorted(unknown))}; the questions drawn from {config.data} are of the kinds "
            f"{', '.join(sorted(set(kinds.values())))}."
        )
    kept = [query for query in materials.train if kinds[query.id] in config.keep]
    learned = [query for query in materials.train if kinds[query.id] not in config.keep]
    settings = policy_settings(config, config.model)
    reward = materials.reward("converge", config, settings)
    scored_file = file.with_name("scored.jsonl")
    if config.scored and not scored_file.exists():
        write_scored(scored_by(config.scored, learned), scored_file)
    options = read_scored(scored_file) if scored_file.exists() else []
    left = learned[len(options) :]
    found = candidates_for(config, settings, learned, materials, file.with_name("teacher.sqlite")) if left else {}
    for batch in scored_options(left, materials.qrels, found, reward):
        options += batch
        write_scored(options, scored_file)
    scored = decided_by_kind(verified_examples(options, config.margin, config.tolerance), kinds, config.least_share)
    if kept:
        own = own_examples(list(rollouts(config, kept, 1, temperature=0.0)), materials.qrels, reward)
        worse = sum(e.reward < e.raw_reward for e in own)
        print(f"Kept as the policy answers them: {len(own)} of {len(kept)} queries, {worse} worse than the raw query")
        scored += own
    examples = balanced(scored, config.examples, config.seed)
    write_examples(examples, file)
    for name, some in (("Best reformulation of the training queries", scored), ("Chosen to train on", examples)):
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
    """Query id -> what else might be searched: by spans and rules, by the teachers, by the policy itself."""
    from acqo_rl.reformulation.lexicon import Lexicon
    from acqo_rl.training.candidates import Candidate, candidates_in
    from acqo_rl.training.teachers import name_teachers, taught

    teachers = name_teachers(config.teacher, config.model)
    found = candidates_in(materials.corpus.values(), queries, settings.max_sub_queries)
    if teachers:
        asked = queries[: config.teacher_queries or None]
        lexicon = Lexicon.of(materials.corpus.values())
        for query_id, some in taught(teachers, asked, settings.max_sub_queries, lexicon, cache).items():
            found[query_id] += some
    if config.samples:
        for answer in rollouts(config, queries, config.samples, temperature=1.0):
            if answer.route != "pass" and answer.problem is None:
                written = tuple(s for s in answer.sub_queries if s.lead is None)
                found[answer.query.id].insert(0, Candidate(answer.route, written, "policy"))
    return found


def scored_by(place: str, queries: Sequence[Query]) -> list[Scored]:
    """What an earlier run scored.

    Raises:
        ConfigError: there is no such file, or it is of other queries.
    """
    from pathlib import Path

    from acqo_rl.training.warm_start import read_scored

    if not Path(place).is_file():
        raise ConfigError(f"scored is {place}, which is no file; give the scored.jsonl of an earlier run.")
    options = read_scored(Path(place))
    if [one.query_id for one in options] != [query.id for query in queries[: len(options)]]:
        raise ConfigError(
            f"{place} is of {len(options)} queries that are not the first of this run's {len(queries)}: of other data,"
            " another limit or other kinds to keep. Give that of a run like this one."
        )
    return options


def rollouts(
    config: WarmStartConfig, queries: Sequence[Query], samples: int, temperature: float
) -> Iterator[Reformulation]:
    """``samples`` answers a query of the policy in ``config.model``; at temperature 0 the likeliest one."""
    from tqdm import tqdm
    from transformers import set_seed

    from acqo_rl.reformulation.policy import Policy

    set_seed(config.seed)
    policy = Policy.from_pretrained(config.model, temperature=temperature)
    for start in tqdm(range(0, len(queries), 32), desc="ask the policy", unit="batch"):
        yield from policy.reformulate([q for q in queries[start : start + 32] for _ in range(samples)])

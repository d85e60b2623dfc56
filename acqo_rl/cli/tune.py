r"""Choose settings for a strategy or a policy on the dev queries of a BEIR folder.

    acqo tune --data BEIR_DIR --index INDEX_DIR --strategy multi_query \
        --model openai:qwen3@http://localhost:8000/v1 --output outputs/tuning
    acqo tune --data BEIR_DIR --index INDEX_DIR --strategy policy --model trained:four_sets --output outputs/tuning

For a prompted strategy, every combination of --variants and --original_weights is evaluated. For the best of them, and
for a policy, each of --cosines is then tried as reformulate_below: a query is reformulated only if the best cosine that
the raw query finds is below the value. This saves model calls, and a raw query that finds a similar document is often
best searched as it is. It requires a dense index, alone or in a hybrid.

Only the judgements of --split are read. The first line (the default settings) is the baseline. The command prints a
table, the best line as settings for a file, its gain on the queries that selected it, and its gain in a 5-fold
cross-validation. Only the cross-validated gain shows whether tuning is worth it.

The model is called once per query and number of variants; other settings need no calls. The output folder stores all
reformulations and rankings, as with acqo evaluate.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import hash_queries, reformulator_key
from acqo_rl.fusion import fusion_named
from acqo_rl.measures import check_measures
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.reformulation.load import STRATEGIES, WITH_RULES, StrategySettings, check_strategy
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.searching.concurrent import dense_parts
from acqo_rl.searching.sub_queries import DEPTH, split_retrievers
from acqo_rl.types import FusionName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from acqo_rl.evaluation.cache import Cache, CachedReformulator
    from acqo_rl.evaluation.tuning import Candidate
    from acqo_rl.reformulation.lexicon import Lexicon

POLICIES = ("policy", f"policy{WITH_RULES}")


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one candidate.

    Attributes:
        scores: float64[queries].
        reformulated: share of the queries that were reformulated, and not passed.
    """

    scores: NDArray[np.float64]
    reformulated: float


@dataclass
class TuneConfig(IndexSettings):
    """Settings of the command."""

    data: str = field(metadata={"help": "BEIR folder with queries and qrels/SPLIT.tsv."})
    index: Address = field(metadata={"help": INDEX_HELP})
    output: str = field(metadata={"help": "Output folder: new, or with earlier results for the same data and split."})
    split: str = field(default="dev", metadata={"help": "Judgements to use: qrels/SPLIT.tsv."})
    strategy: str = field(
        default="multi_query",
        metadata={
            "help": f"One of {', '.join(STRATEGIES)}, several joined by '+', or {' or '.join(POLICIES)}: the trained "
            "policy in --model."
        },
    )
    model: str = field(
        default="embedded:smollm2", metadata={"help": "Language model of the strategy, or folder of the policy."}
    )
    variants: list[int] = field(
        default_factory=lambda: [3, 1, 2, 4, 5],
        metadata={"help": "Values of num_variants to try: numbers of paraphrases per query, for multi_query."},
    )
    original_weights: list[float] = field(
        default_factory=lambda: [0.0, 0.5, 1.0, 2.0, 4.0],
        metadata={
            "help": "Values of original_weight to try: weights of the raw query in the fusion; with 0, it is not "
            "searched."
        },
    )
    cosines: list[float] = field(
        default_factory=lambda: [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8],
        metadata={
            "help": "Values of reformulate_below to try: cosines below which a query is reformulated. Without a dense "
            "index, no value is tried."
        },
    )
    fusion: FusionName = field(default="rsf", metadata={"help": "Fusion of the rankings."})
    measure: str = field(default="nDCG@10", metadata={"help": "Measure to maximise, as ir_measures writes it."})
    limit: int | None = field(
        default=None, metadata={"help": "Use only the first dev queries, this many; by default all."}
    )
    batch_size: int = field(default=32, metadata={"help": "Number of queries per batch."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(TuneConfig, StrategySettings, description=__doc__)


def main(config: TuneConfig, strategies: StrategySettings) -> None:
    """Evaluates every combination and prints the choice."""
    from acqo_rl.evaluation.tuning import choose

    check(config, strategies)
    measured = measure_all(config, strategies)
    choice = choose({candidate: one.scores for candidate, one in measured.items()}, strategies.seed)
    count = len(next(iter(measured.values())).scores)
    print(f"\n{config.measure} of {config.strategy} on {count} queries of {config.split}\n")
    for candidate, one in measured.items():
        settings = "  ".join(f"{name} {value:g}" for name, value in given(candidate).items()) or "default settings"
        mark = "  <- chosen" if candidate == choice.candidate else ""
        print(f"{settings:60}  {one.scores.mean():.4f}  reformulated: {one.reformulated:4.0%}{mark}")
    print("\n# for a file of settings")
    for name, value in given(choice.candidate).items():
        print(f"{name}: {value}")
    for which, gain in (
        ("on the queries that chose it", choice.gain),
        ("on queries not used for the choice", choice.unseen),
    ):
        print(f"# gain over the first line, {which}: {gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]")


def given(candidate: Candidate) -> dict[str, float]:
    """The settings of a candidate that differ from the defaults."""
    return {name: value for name, value in asdict(candidate).items() if value is not None}


def check(config: TuneConfig, strategies: StrategySettings) -> None:
    """Checks settings that would otherwise fail late.

    Raises:
        ConfigError: a number is out of range, the strategy or a measure is unknown, or reformulate_below is set.
    """
    if strategies.reformulate_below is not None:
        raise ConfigError(
            f"reformulate_below is {strategies.reformulate_below}, but this command chooses it; give the values to try "
            "in --cosines."
        )
    check_ranges(config, dict.fromkeys(("limit", "batch_size"), (1, FINITE)))
    if config.strategy not in POLICIES and not set(config.strategy.split("+")) <= set(STRATEGIES):
        raise ConfigError(
            f"{config.strategy!r} cannot be tuned; choose {', '.join([*POLICIES, *STRATEGIES])}, or several of the "
            f"last {len(STRATEGIES)} joined by '+'."
        )
    check_strategy(config.strategy, config.model)
    if not config.variants or not all(1 <= number <= 5 for number in config.variants):
        raise ConfigError(f"variants is {config.variants}; give numbers from 1 to 5.")
    if not all(-1 <= cosine <= 1 for cosine in config.cosines):
        raise ConfigError(f"cosines is {config.cosines}; give numbers between -1 and 1.")
    if not all(0 <= weight < FINITE for weight in config.original_weights):
        raise ConfigError(f"original_weights is {config.original_weights}; give numbers of at least 0.")
    check_measures([config.measure], DEPTH)


def measure_all(config: TuneConfig, strategies: StrategySettings) -> dict[Candidate, Measured]:
    """Measures every candidate, the default settings first."""
    from acqo_rl.cli.open_systems import open_retrievers
    from acqo_rl.data.beir import read_beir
    from acqo_rl.evaluation.cache import Cache
    from acqo_rl.evaluation.run import evaluate
    from acqo_rl.evaluation.tuning import Candidate, Reweighted
    from acqo_rl.reformulation.load import lexicon_for
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.training.run_folder import open_run

    data = read_beir(config.data, config.split)
    queries, qrels = data.queries[config.split], data.qrels[config.split]
    hashed = hash_queries(queries, qrels, data.metadata)
    open_run(config.output, {"data": str(Path(config.data).resolve()), "split": config.split, "queries": hashed})
    with closing(Cache(Path(config.output, "cache.sqlite"))) as cache:
        opened = open_retrievers([config.index], config, cache, data.corpus)
        [retriever] = [parts.all(name) for name, parts in opened.items()]
        fusion = fusion_named(config.fusion)

        def measure(reformulator: Reformulator, reformulate_below: float | None = None) -> Measured:
            evaluation = evaluate(
                SearchPath(reformulator, retriever, fusion, data.corpus, reformulate_below=reformulate_below),
                queries[: config.limit],
                qrels,
                name=config.strategy,
                measures=[config.measure],
                batch_size=config.batch_size,
            )
            routes = [result.reformulation.route for result in evaluation.results]
            return Measured(evaluation.scores(config.measure), 1 - routes.count("pass") / len(routes))

        reformulators: dict[Candidate, Reformulator] = {}
        lexicon = lexicon_for([config.strategy], data.corpus.values())
        for number, opened_once in open_strategies(config, strategies, cache, lexicon).items():
            reformulators[Candidate(number)] = opened_once
            for weight in [] if number is None else config.original_weights:
                reformulators[Candidate(number, weight)] = Reweighted(opened_once, weight)
        found = {candidate: measure(reformulator) for candidate, reformulator in reformulators.items()}
        best = max(found, key=lambda candidate: found[candidate].scores.mean())
        if dense_parts(split_retrievers(retriever)[0]):
            for cosine in config.cosines:
                found[replace(best, reformulate_below=cosine)] = measure(reformulators[best], cosine)
    return found


def open_strategies(
    config: TuneConfig, strategies: StrategySettings, cache: Cache, lexicon: Lexicon | None
) -> dict[int | None, CachedReformulator]:
    """The strategy for each number of variants, with one model; ``None``: a policy, which has no variants."""
    from acqo_rl.evaluation.cache import CachedReformulator
    from acqo_rl.reformulation.load import load_reformulator, load_strategy_model

    def opened(settings: StrategySettings) -> CachedReformulator:
        key = reformulator_key(config.strategy, config.model, settings)
        return CachedReformulator(config.strategy, partial(load, settings), key, cache)

    def load(settings: StrategySettings) -> Reformulator:
        if config.strategy in POLICIES:
            return load_reformulator(config.strategy, config.model, settings, lexicon=lexicon)
        return load_reformulator(config.strategy, config.model, settings, language_model=language_model())

    @lru_cache
    def language_model() -> LanguageModel:
        return load_strategy_model(config.strategy, config.model, strategies)

    if config.strategy in POLICIES:
        return {None: opened(strategies)}
    numbers = config.variants if "multi_query" in config.strategy.split("+") else [strategies.num_variants]
    return {number: opened(replace(strategies, num_variants=number)) for number in dict.fromkeys(numbers)}

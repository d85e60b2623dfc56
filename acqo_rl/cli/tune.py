r"""Choose num_variants and the weight of the raw query for a strategy, on the dev queries of a BEIR folder.

    acqo tune --data BEIR_DIR --index INDEX_DIR --strategy multi_query \
        --model openai:qwen3@http://localhost:8000/v1 --output outputs/tuning

Every combination of --variants and --original_weights is evaluated on qrels/dev.tsv; no other split is read. The
first combination (the strategy's default settings) is the baseline. The command prints a table, the best combination as
lines for a settings file, its gain on the queries that selected it, and its gain in a 5-fold cross-validation. Only the
cross-validated gain shows whether tuning is worth it.

The model is called once per query and number of variants; other weights need no calls. The output folder stores all
reformulations and rankings, as with acqo evaluate.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import hash_queries, reformulator_key
from acqo_rl.fusion import fusion_named
from acqo_rl.measures import check_measures
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.reformulation.load import STRATEGIES, StrategySettings, check_strategy
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.types import FusionName, LanguageModel, Reformulator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from acqo_rl.evaluation.cache import Cache, CachedReformulator
    from acqo_rl.evaluation.tuning import Candidate

SPLIT = "dev"


@dataclass
class TuneConfig(IndexSettings):
    """Settings of the command."""

    data: str = field(metadata={"help": "BEIR folder with queries and qrels/dev.tsv."})
    index: str = field(metadata={"help": INDEX_HELP})
    output: str = field(metadata={"help": "Output folder: new, or with earlier results on the same queries."})
    strategy: str = field(
        default="multi_query", metadata={"help": f"One of {', '.join(STRATEGIES)}, or several joined by '+'."}
    )
    model: str = field(default="embedded:smollm2", metadata={"help": "Language model of the strategy."})
    variants: list[int] = field(
        default_factory=lambda: [3, 1, 2, 4, 5], metadata={"help": "Numbers of variants to try, for multi_query."}
    )
    original_weights: list[float] = field(
        default_factory=lambda: [0.0, 0.5, 1.0, 2.0, 4.0], metadata={"help": "Weights of the raw query to try."}
    )
    fusion: FusionName = field(default="rsf", metadata={"help": "Fusion of the rankings."})
    measure: str = field(default="nDCG@10", metadata={"help": "Measure to maximise, as ir_measures writes it."})
    limit: int | None = field(default=None, metadata={"help": "Use only this many dev queries, the first ones."})
    batch_size: int = field(default=32, metadata={"help": "Number of queries per batch."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(TuneConfig, StrategySettings, description=__doc__)


def main(config: TuneConfig, strategies: StrategySettings) -> None:
    """Evaluates every combination and prints the choice."""
    from acqo_rl.evaluation.tuning import choose

    check(config)
    scores = measure_all(config, strategies)
    choice = choose(scores, strategies.seed)
    print(f"\n{config.measure} of {config.strategy} on {len(next(iter(scores.values())))} dev queries\n")
    for candidate, values in scores.items():
        weight = "own" if candidate.original_weight is None else f"{candidate.original_weight:g}"
        mark = "  <- chosen" if candidate == choice.candidate else ""
        print(f"num_variants {candidate.num_variants}  original_weight {weight:>4}  {values.mean():.4f}{mark}")
    print("\n# for a file of settings")
    for name, value in asdict(choice.candidate).items():
        print(f"{name}: {'null' if value is None else value}")
    for which, gain in (
        ("on the queries that chose it", choice.gain),
        ("on queries not used for the choice", choice.unseen),
    ):
        print(f"# gain over the first line, {which}: {gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]")


def check(config: TuneConfig) -> None:
    """Checks settings that would otherwise fail late.

    Raises:
        ConfigError: a number is out of range, or the strategy or a measure is unknown.
    """
    check_ranges(config, dict.fromkeys(("limit", "batch_size"), (1, FINITE)))
    if not set(config.strategy.split("+")) <= set(STRATEGIES):
        raise ConfigError(
            f"{config.strategy!r} cannot be tuned; choose {', '.join(STRATEGIES)}, or several joined by '+'."
        )
    check_strategy(config.strategy, config.model)
    if not config.variants or not all(1 <= number <= 5 for number in config.variants):
        raise ConfigError(f"variants is {config.variants}; give numbers from 1 to 5.")
    if not all(0 <= weight < FINITE for weight in config.original_weights):
        raise ConfigError(f"original_weights is {config.original_weights}; give numbers of at least 0.")
    check_measures([config.measure], DEPTH)


def measure_all(config: TuneConfig, strategies: StrategySettings) -> dict[Candidate, NDArray[np.float64]]:
    """Returns the scores of every combination, float[queries]; the strategy's own weight first."""
    from acqo_rl.cli.open_systems import open_retrievers
    from acqo_rl.data.beir import read_beir
    from acqo_rl.evaluation.cache import Cache
    from acqo_rl.evaluation.run import evaluate
    from acqo_rl.evaluation.tuning import Candidate, Reweighted
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.training.run_folder import open_run

    data = read_beir(config.data, SPLIT)
    queries, qrels = data.queries[SPLIT], data.qrels[SPLIT]
    hashed = hash_queries(queries, qrels, data.metadata)
    open_run(config.output, {"data": str(Path(config.data).resolve()), "split": SPLIT, "queries": hashed})
    with closing(Cache(Path(config.output, "cache.sqlite"))) as cache:
        opened = open_retrievers([config.index], config, cache, data.corpus)
        [retriever] = [parts.all(name) for name, parts in opened.items()]
        fusion = fusion_named(config.fusion)

        def scores(reformulator: Reformulator) -> NDArray[np.float64]:
            evaluation = evaluate(
                SearchPath(reformulator, retriever, fusion),
                queries[: config.limit],
                qrels,
                name=config.strategy,
                measures=[config.measure],
                batch_size=config.batch_size,
            )
            return evaluation.scores(config.measure)

        found: dict[Candidate, NDArray[np.float64]] = {}
        for number, reformulator in open_strategies(config, strategies, cache).items():
            found[Candidate(number)] = scores(reformulator)
            for weight in config.original_weights:
                found[Candidate(number, weight)] = scores(Reweighted(reformulator, weight))
    return found


def open_strategies(config: TuneConfig, strategies: StrategySettings, cache: Cache) -> dict[int, CachedReformulator]:
    """The strategy for each number of variants, with one model; only one if it has no variants."""
    from acqo_rl.evaluation.cache import CachedReformulator
    from acqo_rl.reformulation.load import load_reformulator, load_strategy_model

    @lru_cache
    def language_model() -> LanguageModel:
        return load_strategy_model(config.strategy, config.model, strategies)

    def load(settings: StrategySettings) -> Reformulator:
        return load_reformulator(config.strategy, config.model, settings, language_model=language_model())

    numbers = config.variants if "multi_query" in config.strategy.split("+") else [strategies.num_variants]
    opened = {}
    for number in dict.fromkeys(numbers):
        settings = replace(strategies, num_variants=number)
        key = reformulator_key(config.strategy, config.model, settings)
        opened[number] = CachedReformulator(config.strategy, partial(load, settings), key, cache)
    return opened

r"""Evaluate reformulators, indexes and fusions on a data set.

    acqo evaluate --data data/embedded --split test --index indexes/embedded \
        --reformulator raw rules policy=runs/acqo/policy --output evaluations/embedded
    acqo evaluate --data data/embedded --split dev --index dense=indexes/dense bm25=indexes/bm25 hybrid=dense+bm25 \
        --reformulator raw rules policy=trained:demo --fusion rsf rrf --robustness typos --output evaluations/indexes
Every reformulator is combined with every index and every fusion. Each of them is compared to the first one of its kind.
--vary.SETTING adds the reformulators with other values of a setting of --strategy, which are compared in the same way:

    acqo evaluate --data data/embedded --split dev --index indexes/embedded --reformulator multi_query \
        --model embedded:smollm2 --vary.num_variants [1,5] --vary.original_weight [0,2] --output evaluations/variants
First look at dev queries; test queries are for the last evaluation.

A reformulator is NAME or NAME=MODEL:

    raw, rules         no model
    turns              the last two turns of the conversation before the query; no model
    prompted=MODEL     a prompted language model (embedded:smollm2, a folder, a Hub id, openai:NAME@URL, anthropic:NAME)
    hyde=MODEL         a prompted strategy: adaptive, multi_query, hyde, step_back, decomposition, expansion, rewrite,
                       several of the last six joined by "+", or rewrite_retrieve_read
    auto=MODEL         searches without a model first, reads the results and asks the policy only where it should
                       help; auto alone never asks a model
    policy=MODEL       a trained policy; any other name is a policy too: warm_start=runs/warm final=runs/final
    auto0=auto         another name for a reformulator, also with a model: a=hyde=MODEL. So one report compares
                       auto0=auto with auto=MODEL
    trained:demo       a MODEL alone, if it contains ":" or "/", is a policy; its name here is trained-demo

The report names the engine that ran a policy: with OpenVINO, its model has the prefix openvino: (see --engine).

An index is a folder, the URL of a retriever server or a collection of a search engine (see acqo index). Several indexes
need names: NAME=INDEX. NAME=ONE+OTHER is a hybrid of two indexes, given by their places or by names before it, and
merges the two rankings of each text by RSF. In NAME=ONE+OTHER@original, the second index is searched only with the raw
query, and its ranking is fused with the others. rewrite_retrieve_read needs a dense index, because it compares cosines.

A reranker reads the query and the documents of the fused list, and reorders them. To see what it adds, and whether
reformulations still help in front of it:

    acqo evaluate --data data/embedded --split dev --index indexes/embedded --reformulator raw policy=trained:demo \
        --fusion rsf rsf+reranker --reranker cross-encoder:cross-encoder/ms-marco-MiniLM-L6-v2 --output evaluations/x

The output folder stores all reformulations and rankings. A later run in it computes only what is missing, such as other
systems, measures or queries of the same data and split. An interrupted run thus continues. The next run repeats failed
model calls. If the code or a model on a server has changed, use a new folder. The report covers the systems of the last
command: report.html, one file. The data are in summary.json and queries.jsonl.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from acqo_rl.addresses import Address
from acqo_rl.data.beir import Beir, read_beir
from acqo_rl.data.draw import mistype
from acqo_rl.errors import ConfigError, check_settings
from acqo_rl.evaluation.cache import open_reranker
from acqo_rl.evaluation.indexes import fingerprints, open_retrievers
from acqo_rl.evaluation.report import relative_to, write_report
from acqo_rl.evaluation.summary import QUANTITIES, Study
from acqo_rl.evaluation.systems import Evaluations, check_systems, evaluate_systems, open_systems
from acqo_rl.evaluation.tables import aligned
from acqo_rl.measures import MEASURES
from acqo_rl.reformulation.heuristic import kinds_of
from acqo_rl.reformulation.settings import StrategySettings, WithStrategy
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.searching.description import PathSpec
from acqo_rl.searching.names import name_indexes
from acqo_rl.searching.settings import StepSettings
from acqo_rl.settings import setting
from acqo_rl.training.run_folder import inputs_of, open_run
from acqo_rl.types import Positive, Query, Seed


@dataclass
class EvaluateConfig(StepSettings, WithStrategy, IndexSettings):
    """Settings of an evaluation."""

    data: str = setting("BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.")
    split: str = setting("Judgements to use: qrels/SPLIT.tsv.")
    index: list[Address] = setting("INDEX, or one or several NAME=INDEX or NAME=ONE+OTHER; see above.")
    output: str = setting("Output folder: new, or with earlier results for the same data and split.")
    reformulator: list[str] = setting("NAME or NAME=MODEL, one or several; see above.", ["raw"])
    model: Address | None = setting("Model of the reformulators that are given without one.", None)
    fusion: list[str] = setting(
        "One or several of rsf, rrf, combsum; with the suffix +reranker, the reranker follows.", ["rsf"]
    )
    measures: list[str] = setting(
        "Names as in ir_measures, or AllGold@k. The first one is the primary measure.", list(MEASURES)
    )
    group_by: str = setting("Field of the queries by which figures are grouped, such as query_type.", "kind")
    limit: Positive | None = setting("Evaluate only the first queries, this many; by default all.", None)
    robustness: list[Literal["typos"]] = setting("Also evaluate changed queries: typos (drawn by --seed).", [])
    vary: dict[str, list[Any]] = setting(
        "Settings of strategies with several values: each reformulator that reads one is evaluated once more for each "
        "value, such as --vary.num_variants [1,5].",
        {},
    )
    seed: Seed = setting("Seed of the changes.", 0, of="typos")
    batch_size: Positive = setting("Number of queries per batch; an interruption loses one batch.", 32)


def main(config: EvaluateConfig) -> None:
    """Computes what is missing, then writes the report."""
    paths = paths_of(config)
    check_systems(paths, config.index, config.fusion, config.measures, config.reranker)
    file = Path(config.output, "cache.sqlite")
    reranker = open_reranker(config.reranker, file) if config.reranker else None
    baseline = next(name for name, spec in paths.items() if spec.retry_below is None)
    data = read_beir(config.data, config.split)
    data_folder = str(Path(config.data).resolve())
    open_run(config.output, {"data": data_folder, "split": config.split}, inputs_of(data_folder, [config.split]))
    queries = list(data.queries[config.split][: config.limit])
    kinds = kinds_of(queries, data.metadata, config.group_by)  # by the rules, where the data set has none
    retrievers = open_retrievers(config.index, config, data.corpus, file)
    systems = open_systems(paths, retrievers, config.fusion, data.corpus, file, reranker)

    def measure(asked: Sequence[Query]) -> Evaluations:
        return evaluate_systems(
            systems,
            asked,
            data.qrels[config.split],
            kinds=kinds,
            measures=config.measures,
            batch_size=config.batch_size,
        )

    evaluations = measure(queries)
    variants: dict[str, Any] = {name: measure(mistype(queries, config.seed)) for name in config.robustness}
    study = Study(evaluations, variants, baseline, config.measures)
    print("Comparing and writing the report ...", flush=True)
    settings = settings_of(config, paths, retrievers, data, len(queries))
    answer, tables = write_report(Path(config.output), study, settings)
    print("\n".join(["", aligned(tables[0]), "", answer]))
    for system, evaluation in study.evaluations.items():
        results = evaluation.results
        if failed := [r.reformulation.problem for r in results if r.reformulation.failed_calls]:
            print(
                f"{study.name(system)}: a model call failed for {len(failed)} of {len(results)} queries (the first: "
                f"{failed[0]}); the same command repeats them."
            )
        unusable = sum(QUANTITIES["problems"](result) for result in results) / len(results)
        if unusable > 0.5:
            print(f"Warning: {unusable:.0%} of the completions of {study.name(system)} could not be used.")
    print(f"\nReport: {Path(config.output, 'report.html')} (and summary.json, queries.jsonl)")


def paths_of(config: EvaluateConfig) -> dict[str, PathSpec]:
    """The search path of each reformulator, and one more for each value of a setting to vary that it reads.

    Raises:
        ConfigError: no reformulator reads a setting to vary, or a value is invalid.
    """
    readers = {item.name: item.metadata["of"] for item in fields(StrategySettings)}
    paths = config.paths(config.reformulator, config.strategy, config.model)
    varied: dict[str, PathSpec] = {}
    for key, values in config.vary.items():
        reads = {name for name, spec in paths.items() if {*spec.reformulator.split("+")} & {*readers.get(key, ())}}
        if not reads:
            raise ConfigError(f"vary.{key}: none of {', '.join(paths)} reads this setting of a strategy.")
        for value in values:
            strategy = replace(config.strategy, **{key: value})
            check_settings(strategy)
            described = config.paths(config.reformulator, strategy, config.model)
            varied |= {f"{name} {key}={value}": spec for name, spec in described.items() if name in reads}
    return paths | varied


def settings_of(
    config: EvaluateConfig, paths: Mapping[str, Any], retrievers: Mapping[str, Any], data: Beir, queries: int
) -> dict[str, Any]:
    """The settings of the report; paths are relative to the output folder."""
    place = partial(relative_to, config.output)
    settings: dict[str, Any] = {
        "data": place(config.data),
        "split": config.split,
        "queries": queries,
        "index": {name: [place(part) for part in parts] for name, parts in name_indexes(config.index).items()},
        "index fingerprint": {name: fingerprints(some) for name, some in retrievers.items()},
        "reformulators": {
            name: place(spec.model if spec.reformulator == name else f"{spec.reformulator}={spec.model}")
            for name, spec in paths.items()
        },
        "kinds": "data set" if any(config.group_by in metadata for metadata in data.metadata.values()) else "rules",
    }
    given = asdict(config)
    shown = ("fusion", "measures", "choice", "hops", "hop", "order", "limit", "robustness", "vary", "batch_size")
    settings |= {key: given[key] for key in shown if given[key]}
    if config.reranker:
        settings |= {"reranker": config.reranker, "rerank_depth": config.rerank_depth}
    if any(spec.prompts for spec in paths.values()):
        settings["strategies"] = asdict(config.strategy)
    return settings

r"""Compare reformulators x retrievers x fusions on a split of a BEIR folder.

    acqo compare --config configs/compare/embedded.yaml
    acqo compare --data data/embedded --split dev --reformulator raw rules policy=runs/acqo/policy \
        --retriever dense=indexes/dense bm25=indexes/bm25 hybrid=dense+bm25 --fusion rsf rrf combsum \
        --robustness typos paraphrases --output comparisons/embedded

A reformulator is NAME or NAME=MODEL: raw, rules and turns without a model; prompted, adaptive, multi_query, hyde,
step_back, decomposition, expansion, rewrite and several of these six joined by "+" ask a language model
(embedded:smollm2, a folder, a Hub id, openai:NAME@URL, anthropic:NAME); so does rewrite_retrieve_read, where the raw
query finds nothing that is similar enough; any other name is a trained policy, and with
_else_rules behind it (policy_else_rules=MODEL) that policy and, where it passes, the rules. A policy's MODEL with ":"
or "/" in it needs no name: trained:demo is named trained-demo.

A retriever is NAME=INDEX (a folder, or the URL of a retriever server) or a hybrid, NAME=ONE+OTHER of indexes or of
names given before. A hybrid searches with both and merges the two lists of each text by RSF, as a folder that was
built with --kind hybrid does. In NAME=ONE+OTHER@original, the second retriever searches the raw query only, and its
list takes part in the fusion: multi_query+hyde with dense+bm25@original fuses the lists of the raw query, the variants
and the hypothetical answer by meaning with that of the raw query by words. rewrite_retrieve_read requires a dense
retriever, because it compares cosines.

The reformulators are compared to --baseline with the same retriever and fusion, the retrievers and fusions to the
first one given.

The output folder keeps every reformulation by query and every ranking by text, so that another strategy, retriever,
fusion, measure or --limit costs only what is new, and an interrupted run goes on. The report is on what was last asked
for. report.html is the result, in one file;
report.md, comparison.json, systems.csv and queries.csv hold the same. After a change of code or of a model on a
server, choose another output folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.inputs import cache_key, hash_queries
from acqo_rl.fusion import fusion_named
from acqo_rl.measures import COMPARED, check_measures
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.reformulation.load import LOOKS_FIRST, StrategySettings, check_strategy
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.searching.lists import DEPTH
from acqo_rl.searching.names import ORIGINAL, name_indexes, name_reformulators
from acqo_rl.types import Document, Fusion, LanguageModel, Qrels, Reformulator, Retriever

if TYPE_CHECKING:
    from acqo_rl.evaluation.cache import Cache, CachedReformulator
    from acqo_rl.evaluation.study import Study
    from acqo_rl.evaluation.systems import Bench, Parts
    from acqo_rl.pipeline.rewrite_retrieve_read import RewriteRetrieveRead


@dataclass
class CompareConfig(IndexSettings):
    """Settings of a comparison."""

    data: str = field(metadata={"help": "BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."})
    split: str = field(metadata={"help": "Which qrels/SPLIT.tsv to compare on."})
    retriever: list[str] = field(metadata={"help": "NAME=INDEX or NAME=ONE+OTHER, one or several; see above."})
    output: str = field(metadata={"help": "Folder of the results: new, or one of the same queries to add to."})
    reformulator: list[str] = field(
        default_factory=lambda: ["raw", "rules"], metadata={"help": "NAME or NAME=MODEL, one or several."}
    )
    model: str | None = field(default=None, metadata={"help": "Model of those that are given without one."})
    fusion: list[str] = field(
        default_factory=lambda: ["rsf"], metadata={"help": "One or several of rsf, rrf, combsum, combmnz."}
    )
    baseline: str | None = field(
        default=None, metadata={"help": "Reformulator that the others are compared to; by default the first one."}
    )
    measures: list[str] = field(
        default_factory=lambda: list(COMPARED),
        metadata={"help": "As ir_measures writes them, or AllGold@k; the first one decides what helps and hurts."},
    )
    robustness: list[str] = field(
        default_factory=list,
        metadata={"help": "typos (drawn by --seed), paraphrases: the same queries changed by rules."},
    )
    claims: str | None = field(
        default=None, metadata={"help": "YAML file of claims to check; by default the one of the library."}
    )
    limit: int | None = field(default=None, metadata={"help": "Compare on the first so many queries only."})
    batch_size: int = field(
        default=32, metadata={"help": "Queries reformulated and searched together; an interruption loses one batch."}
    )


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(CompareConfig, StrategySettings, description=__doc__)


def main(config: CompareConfig, strategies: StrategySettings) -> None:
    """Compute what is not there yet, then report on all that was asked for."""
    from acqo_rl.evaluation.claims import CLAIMS, read_claims
    from acqo_rl.evaluation.study_files import write_study
    from acqo_rl.evaluation.tables import aligned

    check(config)
    claims = read_claims(config.claims or CLAIMS)
    study = compare(config, strategies)
    print("Comparing and writing the report ...", flush=True)
    for table in write_study(Path(config.output), study, claims, asdict(config) | asdict(strategies))[:2]:
        print(f"\n{table.title}. {table.note}\n\n{aligned(table)}")
    for name, share in failing(study).items():
        print(f"\nWarning: {share:.0%} of {name}'s completions could not be used; those queries were searched raw.")
    print(f"\nReport: {Path(config.output, 'report.html')} (and report.md, comparison.json, systems.csv, queries.csv)")


def failing(study: Study) -> dict[str, float]:
    """Reformulators most of whose completions could not be used, with their share."""
    from acqo_rl.evaluation.cost import cost_of

    shares = {system.reformulator: cost_of(evaluation).problems for system, evaluation in study.evaluations.items()}
    return {name: share for name, share in shares.items() if share > 0.5}


def check(config: CompareConfig) -> None:
    """Refuses settings that would fail late.

    Raises:
        ConfigError: a number is out of range, or a name is unknown, missing or taken twice.
    """
    from acqo_rl.evaluation.robustness import query_set_named

    check_ranges(config, dict.fromkeys(("limit", "batch_size"), (1, FINITE)))
    names = name_reformulators(config.reformulator, config.model)
    for name, model in names.items():
        if name != LOOKS_FIRST:
            check_strategy(name, model)
    name_indexes(config.retriever)
    baseline = config.baseline or next(iter(names))
    if baseline not in names or baseline == LOOKS_FIRST:
        possible = ", ".join(name for name in names if name != LOOKS_FIRST)
        raise ConfigError(f"The baseline {baseline!r} is none of the reformulators {possible}.")
    for what, given in (("fusion", config.fusion), ("measures", config.measures), ("robustness", config.robustness)):
        if twice := [name for name in given if given.count(name) > 1]:
            raise ConfigError(f"{what} holds {twice[0]!r} more than once; give it once.")
    for name in config.fusion:
        fusion_named(name)
    for name in config.robustness:
        query_set_named(name)
    check_measures(config.measures, DEPTH)


def compare(config: CompareConfig, strategies: StrategySettings) -> Study:
    """Every system on every set of queries."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.evaluation.cache import Cache
    from acqo_rl.evaluation.groups import query_types
    from acqo_rl.evaluation.robustness import query_set_named
    from acqo_rl.evaluation.study import Study
    from acqo_rl.evaluation.systems import evaluate_systems, reformulate_missing

    data = read_beir(config.data, config.split)
    queries, qrels = data.queries[config.split], data.qrels[config.split]
    claim_folder(config, hash_queries(queries, qrels, data.metadata))
    queries = queries[: config.limit]
    query_sets = {"": queries, **{name: query_set_named(name)(queries, strategies.seed) for name in config.robustness}}
    with closing(Cache(Path(config.output, "cache.sqlite"))) as cache:
        bench = open_bench(config, strategies, cache, data.corpus, qrels, query_types(queries, data.metadata))
        reformulate_missing(bench, query_sets)
        evaluations = evaluate_systems(bench, query_sets)
    baseline = config.baseline or next(iter(bench.reformulators))
    return Study(evaluations.pop(""), evaluations, baseline, config.measures)


def claim_folder(config: CompareConfig, queries: str) -> None:
    """Makes the output folder, or refuses one that holds other queries.

    Raises:
        ConfigError: the folder holds a comparison on other queries, or something else.
    """
    from acqo_rl.training.run_folder import open_run

    data = str(Path(config.data).resolve())
    open_run(config.output, {"data": data, "split": config.split, "queries": queries})


def open_bench(
    config: CompareConfig,
    strategies: StrategySettings,
    cache: Cache,
    corpus: Mapping[str, Document],
    qrels: Qrels,
    kinds: dict[str, str],
) -> Bench:
    """Everything that systems are made of; what a reformulator needs is loaded when it is asked something new."""
    from acqo_rl.data.beir import corpus_hash
    from acqo_rl.evaluation.systems import Bench
    from acqo_rl.pipeline.rewrite_retrieve_read import RewriteRetrieveRead
    from acqo_rl.reformulation.pass_through import PassThrough

    def look_first(reformulator: Reformulator, retriever: Retriever, fusion: Fusion) -> RewriteRetrieveRead:
        threshold = strategies.similarity_threshold
        return RewriteRetrieveRead(PassThrough(), reformulator, retriever, fusion, corpus, threshold=threshold)

    retrievers = open_retrievers(config, cache, corpus_hash(corpus.values()))
    reformulators = open_reformulators(config, strategies, cache, corpus)
    if LOOKS_FIRST in reformulators and not any(parts.is_dense for parts in retrievers.values()):
        raise ConfigError(f"{LOOKS_FIRST} looks at cosines; give a retriever that is a dense index and no hybrid.")
    return Bench(
        reformulators=reformulators,
        retrievers=retrievers,
        fusions={name: fusion_named(name) for name in config.fusion},
        corpus=corpus,
        qrels=qrels,
        metadata={query_id: {"kind": kind} for query_id, kind in kinds.items()},
        measures=config.measures,
        batch_size=config.batch_size,
        searchers={LOOKS_FIRST: look_first},
    )


def open_reformulators(
    config: CompareConfig, strategies: StrategySettings, cache: Cache, corpus: Mapping[str, Document]
) -> dict[str, CachedReformulator]:
    """Reformulators that answer from the cache what they can; strategies of one model share it."""
    from acqo_rl.evaluation.cache import CachedReformulator
    from acqo_rl.reformulation.load import asks_model, lexicon_for, load_reformulator, load_strategy_model

    @lru_cache
    def language_model(model: str, asked_as: str) -> LanguageModel:
        return load_strategy_model(asked_as, model, strategies)

    def load(name: str, model: str) -> Reformulator:
        if not asks_model(name):
            return load_reformulator(name, model, strategies, lexicon=lexicon)
        shared = language_model(model, name if name == "prompted" else "")  # which has settings of its own
        return load_reformulator(name, model, strategies, language_model=shared)

    models = name_reformulators(config.reformulator, config.model)
    lexicon = lexicon_for(models, corpus.values())
    opened = {}
    for given, model in models.items():
        name = "rewrite" if given == LOOKS_FIRST else given
        key = cache_key(name, model, strategies)
        opened[given] = CachedReformulator(given, partial(load, name, model), key, cache)
    return opened


def open_retrievers(config: CompareConfig, cache: Cache, corpus: str) -> dict[str, Parts]:
    """Retrievers by name; every index is opened once.

    Args:
        config: names them.
        cache: where their answers are kept.
        corpus: hash of the corpus that their indexes have to be of.
    """
    from acqo_rl.evaluation.cache import CachedRetriever
    from acqo_rl.evaluation.systems import Parts
    from acqo_rl.retrieval.remote import describe

    given = name_indexes(config.retriever)
    names = {parts[0]: name for name, parts in reversed(given.items()) if len(parts) == 1}

    @lru_cache
    def open_one(place: str) -> CachedRetriever:
        info = describe(place)
        retriever = config.open_index(place, expected_corpus_hash=corpus)
        retriever.search(["the first search of a process is slow"], 1)
        name = names.get(place, place)
        return CachedRetriever(name, retriever, info.fingerprint, cache, embeds=info.kind != "bm25")

    def open_part(part: str) -> CachedRetriever:
        one = part.removesuffix(ORIGINAL)
        return open_one(given[one][0] if one in given else one)

    opened = {}
    for name, parts in given.items():
        if len(parts) == 1:
            opened[name] = Parts((open_one(parts[0]),))
            continue
        original = tuple(open_part(part) for part in parts if part.endswith(ORIGINAL))
        opened[name] = Parts(tuple(open_part(part) for part in parts if not part.endswith(ORIGINAL)), original)
    return opened

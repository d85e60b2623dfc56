r"""Evaluate and compare reformulators on a split of a BEIR folder.

    acqo evaluate --data data/embedded --split test --index indexes/embedded \
        --reformulator raw rules policy --model runs/acqo/policy --output evaluations/embedded

Reformulators are compared to the first one; each is NAME or NAME=MODEL:

    raw, rules         no model
    turns              the last two turns of the conversation before the query; no model
    prompted=MODEL     a language model asked in words (embedded:smollm2, a folder or a Hub id); so are the strategies
                       of acqo compare, with their default settings
    policy=MODEL       a trained policy; any other name does as well: warm_start=runs/warm final=runs/final
    policy_else_rules=MODEL  the policy, and where it passes, the rules; any other name with _else_rules behind it
    trained:demo       a policy without a name: any MODEL with ":" or "/" in it is a policy, here named trained-demo

With openvino: before its name, a policy runs with OpenVINO, and with openvino-int8: it also has 8-bit weights. To test
whether it still finds as much:

    acqo evaluate --data data/embedded --split dev --index indexes/embedded --margin 0.005 \
        --reformulator float32=trained:demo int8=openvino-int8:trained:demo --output evaluations/int8

A policy that reads the first results of the raw query gets as many as it was trained with. What the output folder
already holds under the same settings is not computed again, so another reformulator can be added later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command
from acqo_rl.evaluation.inputs import fingerprint, hash_queries
from acqo_rl.fusion import fusion_named
from acqo_rl.measures import MEASURES, check_measures
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.reformulation.load import LOOKS_FIRST, StrategySettings, lexicon_for, load_reformulator
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.searching.lists import DEPTH
from acqo_rl.searching.names import name_reformulators
from acqo_rl.types import Reformulator, feedback_of

if TYPE_CHECKING:
    from acqo_rl.data.beir import Beir
    from acqo_rl.reformulation.lexicon import Lexicon


@dataclass
class EvaluateConfig(IndexSettings):
    """Settings of an evaluation."""

    data: str = field(metadata={"help": "BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."})
    split: str = field(metadata={"help": "Which qrels/SPLIT.tsv to evaluate."})
    index: str = field(metadata={"help": INDEX_HELP})
    output: str = field(metadata={"help": "Folder of the results: new, or one to add to."})
    reformulator: list[str] = field(
        default_factory=lambda: ["raw"], metadata={"help": "NAME or NAME=MODEL, one or several; see above."}
    )
    model: str | None = field(default=None, metadata={"help": "Model of those that are given without one."})
    fusion: str = field(default="rsf", metadata={"help": "rsf, rrf, combsum or combmnz."})
    measures: list[str] = field(
        default_factory=lambda: list(MEASURES),
        metadata={"help": "As ir_measures writes them, or AllGold@k; the first one decides what helps and hurts."},
    )
    limit: int | None = field(default=None, metadata={"help": "Evaluate the first so many queries only."})
    rounds: int = field(
        default=1, metadata={"help": "Looks of a policy that reads first results; 2: again at what its searches found."}
    )
    margin: float | None = field(
        default=None,
        metadata={
            "help": "Test whether the others lose at most this much of the first measure, such as 0.005, against the "
            "first reformulator."
        },
    )
    batch_size: int = field(default=64, metadata={"help": "Queries reformulated and searched together."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(EvaluateConfig, description=__doc__)


def main(config: EvaluateConfig) -> None:
    """Evaluate what is not there yet, then report on all that was asked for."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.evaluation.compare import stands_in
    from acqo_rl.evaluation.folder import EvaluationFolder, failures
    from acqo_rl.evaluation.tables import format_table

    check(config)
    models = name_reformulators(config.reformulator, config.model)
    data = read_beir(config.data, config.split)
    folder = EvaluationFolder(config.output, settings_of(config, data))
    made_with = {
        name: {"model": model, "files": fingerprint(model)}
        | ({"rounds": config.rounds} if model and config.rounds > 1 else {})
        for name, model in models.items()
    }
    evaluations = {name: folder.load(name, made_with[name]) for name in models}

    missing = [name for name, evaluation in evaluations.items() if evaluation is None]
    for name in evaluations.keys() - set(missing):
        print(f"{name} is evaluated already: {config.output} holds its results under these settings.")
    if missing:
        run = prepare(config, data, lexicon_for(missing, data.corpus.values()))
        for name in missing:
            evaluation = run(name, models[name])
            folder.save(evaluation, made_with[name])
            evaluations[name] = evaluation

    finished = [evaluation for evaluation in evaluations.values() if evaluation is not None]
    stand_ins = [
        stands_in(evaluation, finished[0], config.measures[0], config.margin)
        for evaluation in finished[1:]
        if config.margin is not None
    ]
    folder.report(finished, config.measures, stand_ins)
    print(f"\n{format_table(finished, finished[0], config.measures)}\n")
    print("".join(f"{one}\n" for one in stand_ins), end="")
    for evaluation in finished:
        if failed := failures(evaluation):
            print(
                f"{evaluation.name}: calls of its model failed for {failed} of {len(evaluation.results)} queries; "
                "the same command evaluates it again."
            )
    print(f"Report: {Path(config.output, 'report.html')} (and report.md, summary.json, a run file for trec_eval each)")


def check(config: EvaluateConfig) -> None:
    """Refuses settings that would fail late.

    Raises:
        ConfigError: a number is out of range, or the fusion or a measure is unknown.
    """
    check_ranges(config, {**dict.fromkeys(("limit", "batch_size", "rounds"), (1, FINITE)), "margin": (0, FINITE)})
    fusion_named(config.fusion)
    check_measures(config.measures, DEPTH)


def settings_of(config: EvaluateConfig, data: Beir) -> dict[str, Any]:
    """All that the results of every reformulator depend on."""
    from acqo_rl.retrieval.places import place_of
    from acqo_rl.retrieval.remote import describe

    queries = data.queries[config.split][: config.limit]
    return {
        "data": str(Path(config.data).resolve()),
        "split": config.split,
        "queries": len(queries),
        "queries and judgements": hash_queries(queries, data.qrels[config.split], data.metadata),
        "index": place_of(config.index),
        "index fingerprint": describe(config.index).fingerprint,
        "fusion": config.fusion,
        "measures": list(config.measures),
    }


def prepare(config: EvaluateConfig, data: Beir, lexicon: Lexicon | None) -> Callable[[str, str], Any]:
    """Opens the index once; the result evaluates one reformulator by name and model."""
    from acqo_rl.data.beir import corpus_hash
    from acqo_rl.evaluation.run import evaluate
    from acqo_rl.pipeline.rewrite_retrieve_read import look_first
    from acqo_rl.searching.path import SearchPath

    corpus = data.corpus
    retriever = config.open_index(config.index, expected_corpus_hash=corpus_hash(corpus.values()))
    fusion = fusion_named(config.fusion)

    def run(name: str, model: str) -> Any:
        reformulator: Reformulator = load_reformulator(name, model, lexicon=lexicon)
        if name == LOOKS_FIRST:
            threshold = StrategySettings().similarity_threshold
            reformulator = look_first(reformulator, retriever, fusion, corpus, threshold)
        rounds = config.rounds if feedback_of(reformulator).results else 1
        return evaluate(
            SearchPath(reformulator, retriever, fusion, corpus, rounds=rounds),
            data.queries[config.split][: config.limit],
            data.qrels[config.split],
            name=name,
            measures=config.measures,
            batch_size=config.batch_size,
            metadata=data.metadata,
        )

    return run

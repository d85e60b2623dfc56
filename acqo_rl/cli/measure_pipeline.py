r"""Measure the pipeline step by step: what each step finds, what it costs, and what the answers are worth.

    acqo measure-pipeline --data outputs/demo/data --split dev --index outputs/demo/index \
        --policy outputs/demo/policy --output outputs/pipeline
    acqo measure-pipeline --data BEIR_DIR --split dev --index INDEX_DIR --limit 100 \
        --model openai:qwen3@http://localhost:8000/v1 --systems plain multi_hop pipeline --output outputs/mine

The systems, each compared to the first one:

    plain          one search of the query as it stands
    policy         the trained policy of --policy, with its own feedback settings
    multi_hop      then searches for what is missing (at most two model calls and searches)
    self_query     the same with a list of gaps
    references     then follows what the passages refer to; no model
    decomposition  then searches and answers the parts of the question
    recursive      decomposition, then references
    plain_answer   plain search, then answer and confidence
    pipeline       all of it under the budget: analyzer, the steps that it calls for, answer, confidence

Queries run at the same time, and their model calls together: --concurrency 1 measures what a single query waits. Each
query is kept in outcomes.jsonl as it ends; the same command goes on where an earlier one was killed, and another
system costs only what is new. report.html is the result, in one file; report.md, pipeline.json, systems.csv and
queries.csv hold the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acqo_rl.cli import command
from acqo_rl.fusion import fusion_named
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import Query

WARM_UP = "The first call of a process is slow and no part of any measurement."

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acqo_rl.evaluation.pipeline_systems import Parts
    from acqo_rl.types import Document, LanguageModel, Qrels


@dataclass
class MeasureConfig(IndexSettings):
    """Settings of a study of the pipeline."""

    data: str = field(metadata={"help": "BEIR folder; answer or answers in the queries' metadata are the gold ones."})
    index: str = field(metadata={"help": INDEX_HELP})
    output: str = field(metadata={"help": "Folder of the results: new, or one of the same settings to go on with."})
    split: str = field(default="dev", metadata={"help": "Which qrels/SPLIT.tsv to measure on."})
    limit: int = field(default=100, metadata={"help": "Queries, drawn by --seed."})
    seed: int = field(default=0, metadata={"help": "Of the draw of queries."})
    systems: list[str] = field(
        default_factory=list, metadata={"help": "Several of those above; all by default, the policy where it is given."}
    )
    policy: str | None = field(default=None, metadata={"help": "Folder or Hub id of a trained policy."})
    model: str = field(
        default="embedded:smollm2",
        metadata={
            "help": "Writes and judges: embedded:smollm2, a folder, a Hub id, openai:NAME@URL or anthropic:NAME."
        },
    )
    max_new_tokens: int = field(default=256, metadata={"help": "Limit of each completion of the model."})
    answers: Literal["comprehensive", "brief"] = field(
        default="brief",
        metadata={"help": "A few words, as EM and F1 expect, or sentences, the pipeline's default."},
    )
    max_model_calls: int = field(default=20, metadata={"help": "Model calls of a query, at most."})
    fusion: str = field(default="rsf", metadata={"help": "Of the policy's lists: rsf, rrf, combsum or combmnz."})
    concurrency: int = field(default=16, metadata={"help": "Queries at once; more on a GPU, 1 for true latencies."})
    timeout: float = field(
        default=120.0, metadata={"help": "Seconds for a model server's answer; each retry has as many again."}
    )


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(MeasureConfig, description=__doc__)


def main(config: MeasureConfig) -> None:
    """Measure what is not there yet, then report on all that was asked for."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.evaluation.answers import gold_answers
    from acqo_rl.evaluation.pipeline_report import write_pipeline_study
    from acqo_rl.evaluation.pipeline_study import OutcomeFile, draw_queries, measure
    from acqo_rl.evaluation.pipeline_summary import measured
    from acqo_rl.evaluation.tables import aligned
    from acqo_rl.training.run_folder import open_run

    names = check(config)
    data = read_beir(config.data, config.split)
    qrels = data.qrels[config.split]
    queries = draw_queries(data.queries[config.split], qrels, config.limit, config.seed)
    settings = settings_of(config, queries, qrels, data.metadata)
    open_run(config.output, settings)
    kept = OutcomeFile(Path(config.output, "outcomes.jsonl"))
    if any((name, query.id) not in kept for name in names for query in queries):
        measure(names, queries, open_parts(config, names, data.corpus), kept, config.concurrency)

    gold = {query.id: gold_answers(data.metadata.get(query.id, {})) for query in queries}
    systems = {name: measured([kept[name, query.id] for query in queries], qrels, gold) for name in names}
    for table in write_pipeline_study(Path(config.output), systems, settings, gold):
        print(f"\n{table.title}. {table.note}\n\n{aligned(table)}")
    print(f"\nReport: {Path(config.output, 'report.html')} (and report.md, pipeline.json, systems.csv, queries.csv)")


def check(config: MeasureConfig) -> list[str]:
    """The systems in their order; settings that would fail late are refused.

    Raises:
        ConfigError: a number is out of range, or a system or the fusion is unknown.
    """
    from acqo_rl.evaluation.pipeline_systems import PLAIN, POLICY, SYSTEMS, check_systems
    from acqo_rl.pipeline.pipeline import ESSENTIAL

    least = {"limit": 1, "concurrency": 1, "max_new_tokens": 1, "max_model_calls": ESSENTIAL}
    check_ranges(config, {key: (value, FINITE) for key, value in least.items()})
    fusion_named(config.fusion)
    names = config.systems or [name for name in SYSTEMS if name != POLICY or config.policy]
    check_systems(names, bool(config.policy))
    return sorted(names, key=lambda name: name != PLAIN)


def settings_of(
    config: MeasureConfig, queries: Sequence[Query], qrels: Qrels, metadata: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """All that the outcomes depend on."""
    from acqo_rl.evaluation.inputs import fingerprint, hash_queries
    from acqo_rl.language_models.local import default_device
    from acqo_rl.retrieval.places import place_of
    from acqo_rl.retrieval.remote import describe

    return {
        "data": str(Path(config.data).resolve()),
        "split": config.split,
        "queries": len(queries),
        "seed": config.seed,
        "queries and judgements": hash_queries(queries, qrels, metadata),
        "index": place_of(config.index),
        "index fingerprint": describe(config.index).fingerprint,
        "model": config.model,
        "model files": fingerprint(config.model),
        "max_new_tokens": config.max_new_tokens,
        "max_model_calls": config.max_model_calls,
        "answers": config.answers,
        "policy": config.policy,
        "policy files": fingerprint(config.policy or ""),
        "fusion": config.fusion,
        "concurrency": config.concurrency,
        "device of models": default_device(),
        "device of the index": config.index_device,
        "index_float16": config.index_float16,
    }


def open_parts(config: MeasureConfig, names: Sequence[str], corpus: dict[str, Document]) -> Parts:
    """Opens index and models; concurrent calls of each become one."""
    from acqo_rl.batching import BatchedReformulator, BatchedRetriever, Batcher
    from acqo_rl.data.beir import corpus_hash
    from acqo_rl.evaluation.pipeline_systems import POLICY, WITHOUT_MODEL, Parts
    from acqo_rl.reformulation.load import load_reformulator

    batcher = partial(Batcher, size=config.concurrency, wait=0.01 if config.concurrency > 1 else 0.0)
    retriever = config.open_index(config.index, expected_corpus_hash=corpus_hash(corpus.values()))
    retriever.search([WARM_UP], 1)
    policy = None
    if POLICY in names:
        reformulator = load_reformulator(POLICY, config.policy or "")
        reformulator.reformulate([Query("warm up", WARM_UP)])
        policy = BatchedReformulator(reformulator, batcher)
    return Parts(
        retriever=BatchedRetriever(retriever, batcher),
        corpus=corpus,
        model=load_model(config, batcher) if set(names) - WITHOUT_MODEL else None,
        fusion=fusion_named(config.fusion),
        policy=policy,
        max_model_calls=config.max_model_calls,
        answer_style=config.answers,
    )


def load_model(config: MeasureConfig, batcher: Any) -> LanguageModel:
    """The language model; a server batches by itself."""
    from acqo_rl.batching import BatchedModel
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.language_models.local import TransformersModel

    model = load_language_model(config.model, max_new_tokens=config.max_new_tokens, timeout=config.timeout)
    if not isinstance(model, TransformersModel):
        return model
    model.batch_size = max(model.batch_size, config.concurrency)
    model.generate([[{"role": "user", "content": WARM_UP}]])
    return BatchedModel(model, batcher)

r"""Make training data from queries without judgements, such as a query log: a model judges the search results.

    acqo data --dataset files --documents handbook/ --queries log.jsonl --output data/log
    acqo index --data data/log --output indexes/log
    acqo judge --data data/log --index indexes/log --judge openai:qwen3@http://localhost:8000/v1 \
        --output data/log_judged
    acqo judge --data data/log --index indexes/log --judge openai:qwen3@http://localhost:8000/v1 \
        --output data/log_judged --plan True

The queries may have a history. The first results of several reformulations and of the warm start's candidates are
pooled. A judge grades each pair of query and document from 0 to 3; the grades 2 and 3 are relevant. The judge is a
language model (openai:NAME@URL, anthropic:NAME, embedded:smollm2, a folder) or a cross-encoder of
sentence-transformers (cross-encoder:NAME).

The number of pairs and the length of the prompts are printed first; with --plan, the command stops there. All grades
are stored in judgements.jsonl, so the same command continues an interrupted run. With other settings, the grades are
reused and the data set is written again.

OUTPUT is a BEIR folder with the queries that have a relevant document, divided into train, dev and test. With --gold,
the report also measures the agreement with the gold judgements in qrels/SPLIT.tsv of --data: Cohen's kappa on
documents, and the correlation between the candidates' rewards under both judgements.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import fusion_named
from acqo_rl.language_models.load import without_url
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.roles import Fusion, Retriever
from acqo_rl.searching.names import name_reformulators
from acqo_rl.types import FusionName, Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acqo_rl.labelling.agreement import Agreement, RewardAgreement
    from acqo_rl.labelling.judging import Judge
    from acqo_rl.training.candidates import Candidate
    from acqo_rl.types import Document, Qrels

CROSS_ENCODER = "cross-encoder:"
_RANGES = {
    **dict.fromkeys(("depth", "most", "timeout", "concurrency", "generation_batch", "max_new_tokens"), (1, FINITE)),
    "limit": (0, FINITE),
}


@dataclass
class JudgeConfig(IndexSettings):
    """Settings of the judgements."""

    data: str = field(metadata={"help": "BEIR folder with corpus.jsonl and queries.jsonl; acqo data writes one."})
    index: Address = field(metadata={"help": INDEX_HELP})
    output: str = field(
        metadata={"help": "BEIR folder to write: new, or that of the same command, which then continues."}
    )
    judge: Address = field(metadata={"help": "Language model, such as openai:NAME@URL, or cross-encoder:NAME."})
    reformulator: list[str] = field(
        default_factory=lambda: ["raw", "rules", "turns"],
        metadata={"help": "Reformulators whose results are pooled, NAME or NAME=MODEL as in acqo evaluate."},
    )
    depth: int = field(default=10, metadata={"help": "Number of results of each reformulator in the pool."})
    most: int = field(
        default=40, metadata={"help": "Maximum number of documents judged per query; the best ranks are kept."}
    )
    limit: int = field(default=0, metadata={"help": "Number of queries, drawn at random; 0 uses all."})
    gold: str = field(
        default="",
        metadata={
            "help": "Split of --data with gold judgements; the command reports how well the judge agrees with them."
        },
    )
    plan: bool = field(default=False, metadata={"help": "Print the number of pairs and tokens; judge nothing."})
    fusion: FusionName = field(default="rsf", metadata={"help": "Fusion of the rankings."})
    seed: int = field(default=0, metadata={"help": "Seed for the sample of queries."})
    max_new_tokens: int = field(
        default=16, metadata={"help": "Maximum number of tokens per reply; increase it for reasoning models."}
    )
    timeout: float = field(default=60.0, metadata={"help": "Time limit in seconds of a model server's response."})
    concurrency: int = field(default=8, metadata={"help": "Maximum number of concurrent calls to a model server."})
    generation_batch: int = field(default=16, metadata={"help": "Batch size of a model that runs in this process."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(JudgeConfig, description=__doc__)


def main(config: JudgeConfig) -> None:
    """Pools, judges what is not judged yet, and writes the data set."""
    from acqo_rl.data.beir import read_corpus
    from acqo_rl.labelling.judging import Judgements, Pair, cost_of
    from acqo_rl.labelling.log import Judged, write_judged
    from acqo_rl.training.candidates import candidates_in

    check(config)
    corpus, folder, fusion = read_corpus(config.data), Path(config.output), fusion_named(config.fusion)
    retriever = config.open_index_of(config.index, corpus)
    queries = drawn(config)
    candidates = candidates_in(corpus.values(), queries, 3)
    pooled = pool_of(config, queries, candidates, corpus, retriever, fusion)
    pairs = [Pair(query, corpus[doc_id]) for query in queries for doc_id in pooled[query.id] if doc_id in corpus]
    judgements = Judgements(config.judge, folder / "judgements.jsonl")
    missing = judgements.missing(pairs)
    name = without_url(config.judge)
    print(f"{len(pairs):,} pairs of {len(queries):,} queries; to be judged by {name}: {cost_of(missing)}.", flush=True)
    if config.plan:
        return
    failed = judgements.judge(pairs, open_judge(config)) if missing else Counter[str]()
    judged = Judged(queries, judgements.relevance(pairs), len(pairs), failed, name, command_of(config))
    agreed = compare(config, queries, judged.qrels, candidates, retriever, fusion) if config.gold else None
    numbers = write_judged(folder, corpus, judged, agreed)
    print(f"{folder} holds " + ", ".join(f"{n:,} {split}" for split, n in numbers.items()) + " queries.")
    print(f"Read {folder / 'report.md'} before you train.")


def check(config: JudgeConfig) -> None:
    """Checks settings that would otherwise fail late, and that the output folder has no other contents.

    Raises:
        ConfigError: a number is out of range, a reformulator is unknown, or the folder contains something else.
    """
    check_ranges(config, _RANGES)
    name_reformulators(config.reformulator, None)
    folder = Path(config.output)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "judgements.jsonl").exists():
        raise ConfigError(f"{folder} is not empty and holds no judgements; give another output folder.")
    if folder.resolve() == Path(config.data).resolve():
        raise ConfigError(f"output is the folder of the queries ({folder}); give another output folder.")


def drawn(config: JudgeConfig) -> list[Query]:
    """The queries to judge, in file order; with ``gold``, only queries with gold judgements."""
    from acqo_rl.data.beir import read_queries
    from acqo_rl.data.draw import draw

    queries = read_queries(config.data, config.gold or None)
    return draw(queries, config.limit or len(queries), config.seed)


def pool_of(
    config: JudgeConfig,
    queries: Sequence[Query],
    candidates: Mapping[str, Sequence[Candidate]],
    corpus: Mapping[str, Document],
    retriever: Retriever,
    fusion: Fusion,
) -> dict[str, list[str]]:
    """Query id -> ids of the documents to judge."""
    from acqo_rl.labelling.pooling import pool
    from acqo_rl.reformulation.load import lexicon_for, load_reformulator

    models = name_reformulators(config.reformulator, None)
    lexicon = lexicon_for(models, corpus.values())
    reformulators = [load_reformulator(name, model, lexicon=lexicon) for name, model in models.items()]
    return pool(
        queries, reformulators, candidates, retriever, fusion,
        depth=config.depth, most=config.most,
    )  # fmt: skip


def open_judge(config: JudgeConfig) -> Judge:
    """Loads the judge."""
    from acqo_rl.labelling.judging import CrossEncoderJudge, ModelJudge
    from acqo_rl.language_models.load import load_language_model

    if config.judge.startswith(CROSS_ENCODER):
        return CrossEncoderJudge(config.judge.removeprefix(CROSS_ENCODER))
    model = load_language_model(
        config.judge, max_new_tokens=config.max_new_tokens, timeout=config.timeout,
        concurrency=config.concurrency, batch_size=config.generation_batch,
    )  # fmt: skip
    return ModelJudge(config.judge, model)


def compare(
    config: JudgeConfig,
    queries: Sequence[Query],
    judged: Qrels,
    candidates: Mapping[str, Sequence[Candidate]],
    retriever: Retriever,
    fusion: Fusion,
) -> tuple[Agreement, RewardAgreement]:
    """Agreement with gold on documents and on the candidates' rewards; queries without gold or judged ones are skipped.

    Raises:
        ConfigError: no query has a relevant document both by gold and by the judgements.
    """
    from acqo_rl.data.beir import read_qrels
    from acqo_rl.labelling.agreement import agreement, reward_agreement
    from acqo_rl.measures import judged as with_relevant
    from acqo_rl.training.rewards import Reward
    from acqo_rl.training.warm_start import score_candidates

    gold, found = with_relevant(read_qrels(config.data, config.gold)), with_relevant(judged)
    both = [query for query in queries if query.id in gold and query.id in found]
    if not both:
        raise ConfigError(f"No query has a relevant document in qrels/{config.gold}.tsv and by {config.judge}.")
    reward = Reward("converge", retriever, fusion)
    by_judge, by_gold = (
        [one for batch in score_candidates(both, qrels, candidates, reward) for one in batch] for qrels in (found, gold)
    )
    return agreement(judged, gold), reward_agreement(by_judge, by_gold)


def command_of(config: JudgeConfig) -> str:
    """The command that makes the data set, without paths."""
    return (
        f"acqo judge --judge {config.judge.partition('@')[0]} --reformulator {' '.join(config.reformulator)} --depth"
        f" {config.depth} --most {config.most} --limit {config.limit}"
        f" --seed {config.seed}"
    )

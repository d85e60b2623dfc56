"""What every training stage opens: queries, judgements, the index, the fusion, the reward."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean as mean
from typing import Literal

from acqo_rl.data.beir import corpus_hash, read_beir
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.run import evaluate
from acqo_rl.fusion import fusion_named
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.rewards import Reward
from acqo_rl.searching.path import SearchPath, add_feedback
from acqo_rl.training.data import with_gold
from acqo_rl.training.settings import PathSettings, RewardSettings
from acqo_rl.types import Document, FeedbackSpec, Fusion, Qrels, Query, Reformulator, Retriever


@dataclass(frozen=True)
class Materials:
    """Opened once a stage.

    Attributes:
        train: queries to learn from, each with a gold document and with feedback where the prompt has it.
        dev: queries to measure on, likewise.
        qrels: judgements of both.
        corpus: document id -> document.
        retriever: of the index.
        fusion: as configured.
    """

    train: list[Query]
    dev: list[Query]
    qrels: Qrels
    corpus: Mapping[str, Document]
    retriever: Retriever
    fusion: Fusion

    def reward(
        self,
        stage: Literal["explore", "converge"],
        settings: RewardSettings,
        policy: PolicySettings,
        *,
        credit_searches: bool = False,
    ) -> Reward:
        """The reward of a stage over this index, for a policy of these settings."""
        return Reward(
            stage,
            self.retriever,
            self.fusion,
            grammar=Grammar(policy.max_sub_queries),
            cost=settings.cost,
            invalid=settings.invalid,
            decay=settings.decay,
            top_ranks=settings.top_ranks,
            top_bonus=settings.top_bonus,
            raw_query_margin=policy.raw_query_margin,
            credit_searches=credit_searches,
        )

    def dev_measures(self, policy: Reformulator, limit: int, measure: str) -> dict[str, float]:
        """The measure of a policy on a fixed sample of dev queries, its searches a query and its share of passes."""
        sample = self.dev if limit >= len(self.dev) else random.Random(0).sample(self.dev, limit)
        path = SearchPath(policy, self.retriever, self.fusion, feedback=FeedbackSpec(0))  # the queries have theirs
        results = evaluate(path, sample, self.qrels, name=policy.name, measures=[measure]).results
        return {
            measure: mean(result.measures[measure] for result in results),
            "searches": mean(result.searches for result in results),
            "pass": mean(result.reformulation.route == "pass" for result in results),
        }


def open_materials(paths: PathSettings, feedback: FeedbackSpec) -> Materials:
    """Reads data and index, and refuses an index of another corpus.

    Raises:
        DataError: the data cannot be read.
        IndexMismatchError: the index does not fit the data.
        ConfigError: no query of a split has a gold document, or a query is in both splits.
    """
    data = read_beir(paths.data, paths.split, paths.dev_split)
    corpus = data.corpus
    retriever = paths.open_index(paths.index, expected_corpus_hash=corpus_hash(corpus.values()))
    qrels: Qrels = {}
    parts: list[list[Query]] = []
    for split in (paths.split, paths.dev_split):
        judgements = data.qrels[split]
        if split != paths.split and (both := judgements.keys() & qrels.keys()):
            raise ConfigError(
                f"{len(both)} queries of {paths.data} are in {paths.split} and in {split} ({min(both)!r} is one):"
                f" what is learned from cannot be measured on; take them out of one of the two."
            )
        qrels |= judgements
        queries = with_gold(data.queries[split], judgements)
        if not queries:
            raise ConfigError(f"No query of {paths.data}/qrels/{split}.tsv has a relevant document; nothing to learn.")
        parts.append(queries)
    train, dev = parts
    if 0 < paths.limit < len(train):
        train = random.Random(paths.seed).sample(train, paths.limit)
    fusion = fusion_named(paths.fusion)
    look = retriever, fusion, corpus, feedback
    return Materials(
        train=add_feedback(train, *look),
        dev=add_feedback(dev, *look),
        qrels=qrels,
        corpus=corpus,
        retriever=retriever,
        fusion=fusion,
    )

"""The options that networks choose from, with their rewards: searched once, and kept in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from acqo_rl.data.beir import read_beir
from acqo_rl.errors import ConfigError
from acqo_rl.files import atomic
from acqo_rl.measures import gold_of
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.roles import Reformulator, Retriever, Vectors
from acqo_rl.searching.assemble import open_path
from acqo_rl.searching.concurrent import ConcurrentSearch
from acqo_rl.searching.description import PathSpec
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.materials import with_gold
from acqo_rl.training.rewards import Reward, gold_ranks
from acqo_rl.types import Corpus, Qrels, Query, Ranking, Reformulation

_BATCH = 32
_CHUNK = 128
"""Queries whose options are written together; an interruption loses one chunk."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class ScoredOptions:
    """The options of one query at one hop; option 0 stops.

    Attributes:
        query_id: id of the query.
        searched: texts of the searches before this hop.
        names: of the options after the first.
        features: float32[options, features].
        rewards: reward of the ranking after each option, without costs, float32[options].
    """

    query_id: str
    searched: tuple[str, ...]
    names: tuple[str, ...]
    features: Vectors
    rewards: Vectors

    def gains(self, cost: float) -> Vectors:
        """The rewards minus that of stopping, and minus ``cost`` for each option except stopping."""
        return self.rewards - self.rewards[0] - np.float32(cost) * (np.arange(len(self.rewards)) > 0)


@dataclass(frozen=True)
class TrainingSet:
    """A data set with the search path before the choice of a network.

    Attributes:
        corpus: document id -> document.
        queries: training queries; each has a gold document.
        qrels: judgements.
        path: makes the searches before the network chooses.
        words: of the corpus.
        folder: for the options.
    """

    corpus: Corpus
    queries: Sequence[Query]
    qrels: Qrels
    path: SearchPath
    words: CorpusWords
    folder: Path

    @classmethod
    def open(
        cls,
        data: str,
        split: str,
        limit: int,
        seed: int,
        open_index: Callable[[Corpus], Retriever],
        spec: PathSpec,
        reformulator: Reformulator,
        folder: Path,
    ) -> TrainingSet:
        """Reads the drawn queries of a BEIR folder, and opens the index and the search path."""
        read = read_beir(data, split)
        folder.mkdir(parents=True, exist_ok=True)
        queries, qrels = read.queries[split], read.qrels[split]
        words = CorpusWords.of(read.corpus)
        path = open_path(spec, read.corpus, open_index(read.corpus), reformulator=reformulator, words=lambda: words)
        return cls(read.corpus, with_gold(queries, qrels, limit, seed), qrels, path, words, folder)

    @cached_property
    def _reward(self) -> Reward:
        return Reward("converge", self.path.retrievers, self.path.fusion)

    def value(self, query: Query, ranking: Ranking) -> float:
        """The reward of a ranking of a query, without costs."""
        return self._reward.score(gold_ranks(ranking, gold_of(self.qrels, query.id)))

    def searches(self) -> ConcurrentSearch:
        """Searches each distinct text once."""
        return ConcurrentSearch(self.path.retrievers, DEPTH)

    def fused(self, made: Sequence[Reformulation]) -> list[Ranking]:
        """The fused rankings of some searches."""
        return self.path.fusion.fuse(self.searches().rankings(made), DEPTH)

    def kept(
        self, step: str, items: Sequence[Item], collect: Callable[[Sequence[Item]], Sequence[ScoredOptions]]
    ) -> list[ScoredOptions]:
        """The options of queries or states; those that an earlier run has written are read.

        Args:
            step: names the files.
            items: the queries or states.
            collect: searches the options of a batch of them.
        """
        from tqdm import tqdm

        options = []
        for start in tqdm(range(0, len(items), _CHUNK), desc=f"set {self.folder.name}: {step}", unit="chunk"):
            file = self.folder / f"{step}-{start:06}.npz"
            if not file.exists():
                chunk = items[start : start + _CHUNK]
                batches = [chunk[i : i + _BATCH] for i in range(0, len(chunk), _BATCH)]
                write_options([one for batch in batches for one in collect(batch)], file)
            options += read_options(file)
        return options


def write_options(options: Sequence[ScoredOptions], file: Path) -> None:
    """Writes options to one .npz file, atomically; its arrays are named ``NUMBER.FIELD``."""
    arrays = {f"{i}.{name}": np.array(value) for i, one in enumerate(options) for name, value in vars(one).items()}
    with atomic(file) as half_done, open(half_done, "wb") as out:
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]


def read_options(file: Path) -> list[ScoredOptions]:
    """Reads a file written by :func:`write_options`.

    Raises:
        ConfigError: the file is damaged.
    """
    names = [f.name for f in fields(ScoredOptions)]
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as there:
            rows = [[there[f"{i}.{name}"] for name in names] for i in range(len(there.files) // len(names))]
    except Exception as error:  # NumPy and zipfile raise all kinds
        raise ConfigError(f"{file} is damaged ({error}); delete it, and its options are searched again.") from error
    return [
        ScoredOptions(str(query_id), tuple(searched.tolist()), tuple(found.tolist()), features, rewards)
        for query_id, searched, found, features, rewards in rows
    ]

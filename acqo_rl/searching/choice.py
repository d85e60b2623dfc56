"""Chooses by their results which searches of a query are kept, with a small trained network.

A query is first searched in ways that cost no model call: as it is, with the last turn, with the last two turns, and as
the rules rewrite it. The network reads these results. It picks one of them, two of them fused, or asks the language
model. Then the model's searches are options too, and the network picks once more.
"""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.load import AUTO
from acqo_rl.reformulation.pass_through import PassThrough, RecentTurns
from acqo_rl.roles import Fusion, Reformulator
from acqo_rl.searching.corpus_words import CorpusWords, whole_and_lead
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.scorer import Scorer
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.text import distinct, stems
from acqo_rl.types import Document, Query, Ranking, Reformulation

KIND = "choice 1"
"""Kind of the scorer, with the version of its features."""
ARMS = ("query", "last turn", "last two turns", "rules", "model")
"""Ways to search; the last one is the reformulator of the path."""
MODEL = len(ARMS) - 1
OPTIONS = ((0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (2, 3), (4,), (0, 4), (2, 4), (3, 4))
"""The arms whose rankings are fused."""

_READ = 5
"""Number of results whose text is read."""
_PLACES = (1, 2, 4, 9, 19)
"""Places whose scores are compared with the first one."""
_COMPARED = (0, 2, 3)
"""Arms whose results are compared with those of an option."""

Search = Callable[[Sequence[Reformulation]], Sequence[Sequence[Ranking]]]
"""Returns the rankings of each reformulation."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one query; the first one is the query as it is.

    Attributes:
        arms: the arms of each option. If the model may be asked, this is the last option, and it has no arms.
        searched: what each option searches.
        fused: the fused ranking of each option.
        features: float32[options, features].
    """

    arms: tuple[tuple[int, ...], ...]
    searched: tuple[Reformulation, ...]
    fused: tuple[Ranking, ...]
    features: NDArray[np.float32]


class Choice:
    """Chooses what is searched first."""

    name = AUTO

    def __init__(
        self, scorer: Scorer | None, corpus: Mapping[str, Document], words: CorpusWords, *, asks: bool = True
    ) -> None:
        """Creates a choice.

        Args:
            scorer: scores the options; ``None`` to read options only.
            corpus: document id -> document.
            words: word weights of the corpus.
            asks: whether there is a model to ask.
        """
        self.asks = asks
        self.languages = scorer.languages if scorer else None
        self._scorer = scorer
        self._corpus = corpus
        self._words = words
        self._stems = lru_cache(4096)(whole_and_lead)
        lexicon = Lexicon.of(corpus.values()) if words.titles else None
        self.reformulators: tuple[Reformulator, ...] = (
            PassThrough(),
            RecentTurns(1),
            RecentTurns(2),
            Heuristic(lexicon=lexicon),
        )

    def choose(
        self, made: Sequence[Sequence[Reformulation]], search: Search, fusion: Fusion, *, may_ask: bool
    ) -> list[Reformulation | None]:
        """Returns what is searched for each query, or ``None`` to ask the model, in input order.

        Args:
            made: one sequence per query, with the reformulation of each arm; that of the model may be missing.
            search: returns the rankings of reformulations.
            fusion: merges them.
            may_ask: whether asking the model is an option.
        """
        if self._scorer is None:
            raise ValueError("This choice has no scorer; it only reads options.")
        chosen: list[Reformulation | None] = []
        options = self.read(made, search, fusion, may_ask=may_ask)
        for some, best in zip(options, self._scorer.best([one.features for one in options]), strict=True):
            if some.arms[best]:
                reason = f"Chosen after reading results: {' and '.join(ARMS[arm] for arm in some.arms[best])}."
                one = some.searched[best]
                chosen.append(replace(one, made_by=self.name, reasoning=f"{reason} {one.reasoning}".strip()))
            else:
                chosen.append(None)
        return chosen

    def read(
        self, made: Sequence[Sequence[Reformulation]], search: Search, fusion: Fusion, *, may_ask: bool
    ) -> list[Options]:
        """The options of each query; arguments as in :meth:`choose`."""
        arms = [_distinct_options(one) for one in made]
        flat = [_together([one[i] for i in some]) for one, of_one in zip(made, arms, strict=True) for some in of_one]
        lists = search(flat)
        fused = fusion.fuse(lists, DEPTH)
        documents = fetch(self._corpus, list(dict.fromkeys(d for ranking in fused for d in ranking.doc_ids[:_READ])))
        options, start = [], 0
        for some in arms:
            end = start + len(some)
            searched, rankings = flat[start:end], fused[start:end]
            features = self._features(some, searched, lists[start:end], rankings, documents, may_ask)
            of_all = (*some, ()) if may_ask else tuple(some)
            options.append(Options(of_all, tuple(searched), tuple(rankings), features))
            start = end
        return options

    def _features(
        self,
        arms: Sequence[tuple[int, ...]],
        searched: Sequence[Reformulation],
        lists: Sequence[Sequence[Ranking]],
        fused: Sequence[Ranking],
        documents: Mapping[str, Document],
        may_ask: bool,
    ) -> NDArray[np.float32]:
        reader = _Reader(searched[0].query, fused[0], self._words, lambda d: self._stems(documents[d])[0])
        by_arm = {some[0]: ranking for some, ranking in zip(arms, fused, strict=True) if len(some) == 1}
        compared = [by_arm.get(arm, fused[0]) for arm in _COMPARED]
        tops = {ranking.retriever: ranking.scores[0] for ranking in lists[0] if ranking.scores}
        whole = [*reader.of_query(), _overlap(compared[0], compared[1], 10), _overlap(compared[0], compared[1], 5)]
        own = np.array(
            [
                reader.of_option(*one, tops) + [_overlap(one[2], other, k) for other in compared for k in (1, 5, 10)]
                for one in zip(searched, lists, fused, strict=True)
            ]
        )
        kinds = np.array([[float(arm in some) for arm in range(len(ARMS))] + [0.0] for some in arms])
        if may_ask:
            own = np.concatenate([own, own[:1]])
            kinds = np.concatenate([kinds, [[0.0] * len(ARMS) + [1.0]]])
        rows = np.tile(np.array(whole), (len(own), 1))
        return np.concatenate([kinds, rows, own, own - own[:1]], axis=1).astype(np.float32)


class _Reader:
    """Features of one query and of its options; all are relative, so that they suit any index and corpus."""

    def __init__(
        self,
        query: Query,
        raw: Ranking,
        words: CorpusWords,
        words_of: Callable[[str], Collection[str]],
    ) -> None:
        self._weight, self._share, self._words_of, self._raw = words.weight, words.share, words_of, raw
        self._turns = len(query.history)
        self._asked = set(stems(query.text))
        turns = [set(stems(turn.text)) for turn in query.history]
        self._last, self._before = [*reversed(turns), set(), set()][:2]
        self._history = set().union(*turns)
        self._characters = sum(len(turn.text) for turn in query.history)
        self._raw_words = self._read(raw, _READ)

    def of_query(self) -> list[float]:
        """Features that all options share."""
        asked, weights = self._asked, [self._weight(word) for word in self._asked] or [0.0]
        return [
            math.log1p(len(asked)) / 4, sum(weights) / len(weights), max(weights), min(weights),
            math.log1p(self._turns) / 2, float(self._turns > 0), math.log1p(self._characters) / 8,
            self._share(asked, self._history), self._share(asked, self._last), self._share(asked, self._before),
            *_decline(self._raw), self._share(asked, self._read(self._raw, 1)), self._share(asked, self._raw_words),
            self._share(self._history, self._raw_words), self._share(self._last, self._raw_words),
            self._share(self._before, self._raw_words),
        ]  # fmt: skip

    def of_option(
        self, made: Reformulation, lists: Sequence[Ranking], fused: Ranking, tops: Mapping[str, float]
    ) -> list[float]:
        """Features of one option.

        Args:
            made: what it searches.
            lists: its rankings.
            fused: the fused ranking.
            tops: retriever -> first score of the raw query.
        """
        found = [ranking for ranking in lists if ranking.scores]
        said = {word for sub_query in made.sub_queries for word in stems(sub_query.text)}
        new, left = said - self._asked, self._asked - said
        first, best = self._read(fused, 1), self._read(fused, _READ)
        ratios = [ranking.scores[0] / (tops.get(ranking.retriever) or 1.0) for ranking in found] or [0.0]
        length = sum(map(self._weight, self._asked)) / (sum(map(self._weight, said)) or 1.0)
        weights = [self._weight(word) for word in new] or [0.0]
        pairs = [_overlap(one, other, 10) for i, one in enumerate(found) for other in found[i + 1 :]] or [1.0]
        return [
            len(made.sub_queries) / 4, max(ratios), min(ratios), max(ratios) * length, length,
            *_decline(max(found, key=lambda ranking: ranking.scores[0], default=fused)), *_decline(fused),
            *(self._share(words, texts) for words in (self._asked, self._last, self._before, said, new)
              for texts in (first, best)),
            self._share(new, self._raw_words), self._share(new, self._history),
            math.log1p(len(new)) / 3, math.log1p(len(left)) / 3, sum(weights) / len(weights), max(weights),
            sum(pairs) / len(pairs), min(pairs),
        ]  # fmt: skip

    def _read(self, ranking: Ranking, k: int) -> set[str]:
        return {word for doc_id in ranking.doc_ids[:k] for word in self._words_of(doc_id)}


def _decline(ranking: Ranking) -> list[float]:
    """Scores at some places, relative to the first one."""
    scores = ranking.scores
    first = scores[0] if scores and scores[0] > 0 else 1.0
    return [scores[place] / first if place < len(scores) else 0.0 for place in _PLACES]


def _overlap(one: Ranking, other: Ranking, k: int) -> float:
    return len(set(one.doc_ids[:k]) & set(other.doc_ids[:k])) / k


def _distinct_options(made: Sequence[Reformulation]) -> list[tuple[int, ...]]:
    """The options whose arms are there; of those that search the same texts, the first."""
    found: dict[Hashable, tuple[int, ...]] = {}
    for arms in OPTIONS:
        if arms[-1] < len(made):
            searched = _together([made[arm] for arm in arms]).sub_queries
            found.setdefault(tuple(sorted((s.text, s.min_margin is None) for s in searched)), arms)
    return list(found.values())


def _together(made: Sequence[Reformulation]) -> Reformulation:
    """The searches of one or two arms; route, costs and problem are those of the last one."""
    if len(made) == 1:
        return made[0]
    return replace(made[-1], sub_queries=distinct([s for one in made for s in one.sub_queries]))

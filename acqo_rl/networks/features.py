"""Tables of named features: what a network reads of a query and of each of its options.

All features are relative (shares, ranks, ratios to the best score), so that one network works for BM25 scores and
cosines, and for corpora on which it was not trained. A share of words is weighted by their idf.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.roles import Vectors
from acqo_rl.types import Reformulation

Feature = Callable[[Any], float]
Groups = Mapping[str, Mapping[str, Feature]]
"""Group -> name of a feature -> its function."""
Matrix = NDArray[Any]
PLACES = (2, 3, 5, 10, 20)
"""Ranks whose scores are compared with the first one."""


@dataclass(frozen=True)
class FeatureTable:
    """The features of a network.

    A new feature is one more line in a group; the network must then be trained again.

    Attributes:
        of_query: functions of a query and its results; all options of the query have the same value.
        of_option: functions of an option.
        compared: functions of an option; the network also reads how the options of a query differ in them.
        differences: end of the name -> differences of the options, from their compared features float[options,
            features].
        precision: of the differences.
    """

    of_query: Groups
    of_option: Groups
    compared: Groups
    differences: Mapping[str, Callable[[Matrix], Matrix]]
    precision: type[np.floating] = np.float32

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Group and name of each column of the features."""
        ends = [(self.of_query, ""), (self.of_option, ""), *((self.compared, end) for end in ("", *self.differences))]
        return tuple((group, name + end) for groups, end in ends for group, some in groups.items() for name in some)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each column."""
        return tuple(name for _, name in self.columns)

    def read(self, query: Any, options: Sequence[Any]) -> Vectors:
        """The features of each option, float32[options, features]."""
        shared = np.tile(_values(self.of_query, [query]), (len(options), 1))
        compared = _values(self.compared, options).astype(self.precision)
        differences = [difference(compared) for difference in self.differences.values()]
        table = [shared, _values(self.of_option, options), compared, *differences]
        return np.concatenate(table, axis=1).astype(np.float32)


def _values(groups: Groups, options: Sequence[Any]) -> Matrix:
    functions = [function for features in groups.values() for function in features.values()]
    values = [[function(option) for function in functions] for option in options]
    return np.array(values, np.float64).reshape(len(options), len(functions))


class View:
    """What the functions of features read of a query or of an option.

    Attributes:
        known: word weights of the corpus.
        words: name -> stemmed words.
    """

    def __init__(self, known: CorpusWords, **words: Collection[str]) -> None:
        self.known = known
        self.words = words

    def share(self, words: str, texts: str) -> float:
        """The share of some words that texts contain."""
        return self.known.share(self.words[words], self.words[texts])

    def idfs(self, words: str) -> list[float]:
        """The weight of each word."""
        return [self.known.weight(word) for word in self.words[words]] or [0.0]


def shares(*pairs: tuple[str, str]) -> dict[str, Feature]:
    """Features: the share of some words in a text, for each pair of their names."""
    return {
        f"share_of_{words}_words_in_{texts}": partial(View.share, words=words, texts=texts) for words, texts in pairs
    }


def score_ratio(scores: Sequence[float], rank: int) -> float:
    """The score at a rank, relative to the first one; 0 if there is none at this rank."""
    if not 0 < rank <= len(scores):
        return 0.0
    return scores[rank - 1] / scores[0] if scores[0] > 0 else scores[rank - 1]


def score_ratios(ranking: str, scores_of: Callable[[Any], Sequence[float]]) -> dict[str, Feature]:
    """Features: the scores of a ranking at some ranks, relative to the first one."""
    return {
        f"ratio_of_score_at_rank_{rank}_to_top_score_of_{ranking}": partial(
            lambda option, rank: score_ratio(scores_of(option), rank), rank=rank
        )
        for rank in PLACES
    }


def mean(values: Sequence[float]) -> float:
    """The mean of at least one value."""
    return sum(values) / len(values)


def question_of(made: Reformulation) -> str:
    """The text whose words hops and order look for: the query, or in a conversation the first sub-query."""
    return made.sub_queries[0].text if made.query.history else made.query.text

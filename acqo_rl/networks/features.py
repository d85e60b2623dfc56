"""Tables of named features: what a network reads of a query and of each of its options.

All features are relative (shares, ranks, ratios to the best score), so that one network works for BM25 scores and
cosines, and for corpora on which it was not trained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from acqo_rl.types import Reformulation

T = TypeVar("T")
Q = TypeVar("Q")
O = TypeVar("O")  # noqa: E741
Groups = Mapping[str, Mapping[str, Callable[[T], float]]]
"""Group -> name of a feature -> its function."""
PLACES = (2, 3, 5, 10, 20)
"""Ranks whose scores are compared with the first one."""


@dataclass(frozen=True)
class FeatureTable(Generic[Q, O]):
    """The features of a network.

    A new feature is one more line in a group; the network must then be trained again.

    Attributes:
        of_query: functions of a query and its results; all options of the query have the same value.
        of_option: functions of an option.
        compared: functions of an option; the network also reads how the options of a query differ in them.
        differences: end of the name -> differences of the options, from their compared features float64[options,
            features].
    """

    of_query: Groups[Q]
    of_option: Groups[O]
    compared: Groups[O]
    differences: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.floating]]]

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Group and name of each column of the features."""
        plain = [*_columns(self.of_query), *_columns(self.of_option), *_columns(self.compared)]
        differences = [(group, name + end) for end in self.differences for group, name in _columns(self.compared)]
        return (*plain, *differences)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each column."""
        return tuple(name for _, name in self.columns)

    def read(self, query: Q, options: Sequence[O]) -> NDArray[np.float32]:
        """The features of each option, float32[options, features]."""
        shared = np.tile(_values(self.of_query, [query]), (len(options), 1))
        compared = _values(self.compared, options)
        differences = [difference(compared) for difference in self.differences.values()]
        table = [shared, _values(self.of_option, options), compared, *differences]
        return np.concatenate(table, axis=1).astype(np.float32)


def _columns(groups: Groups[T]) -> list[tuple[str, str]]:
    return [(group, name) for group, features in groups.items() for name in features]


def _values(groups: Groups[T], options: Sequence[T]) -> NDArray[np.float64]:
    functions = [function for features in groups.values() for function in features.values()]
    values = [[function(option) for function in functions] for option in options]
    return np.array(values, np.float64).reshape(len(options), len(functions))


def score_ratio(scores: Sequence[float], rank: int) -> float:
    """The score at a rank, relative to the first one; 0 if there is none at this rank."""
    if not 0 < rank <= len(scores):
        return 0.0
    return scores[rank - 1] / scores[0] if scores[0] > 0 else scores[rank - 1]


def score_ratios(ranking: str, scores_of: Callable[[T], Sequence[float]]) -> dict[str, Callable[[T], float]]:
    """Features: the scores of a ranking at some ranks, relative to the first one."""

    def ratio(rank: int, option: T) -> float:
        return score_ratio(scores_of(option), rank)

    return {f"ratio_of_score_at_rank_{rank}_to_top_score_of_{ranking}": partial(ratio, rank) for rank in PLACES}


def question_of(made: Reformulation) -> str:
    """The text whose words hops and order look for: the query, or in a conversation the first sub-query."""
    return made.sub_queries[0].text if made.query.history else made.query.text

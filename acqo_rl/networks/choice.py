"""What the choice of the first search reads: the results of each option, and how they differ from the raw query's."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.features import FeatureTable, score_ratios
from acqo_rl.text import stems
from acqo_rl.types import Query, Ranking, Reformulation

ARMS = ("query", "last turn", "last two turns", "rules", "model")
"""Ways to search; the last one is the reformulator of the path."""
READ = 5
"""Number of results whose text is read."""
_COMPARED = (0, 2, 3)
"""Arms whose results are compared with those of an option."""

WordsOf = Callable[[str], Collection[str]]
"""Document id -> stemmed words."""


class _Asked:
    """A query, its conversation, and the results of its arms.

    Attributes:
        words: stemmed words of the query, of the turns, and of the first results of the raw query.
    """

    def __init__(self, query: Query, by_arm: Mapping[int, Ranking], known: CorpusWords, words_of: WordsOf) -> None:
        turns = [set(stems(turn.text)) for turn in query.history]
        last, before = [*reversed(turns), set(), set()][:2]
        self.known = known
        self.words_of = words_of
        self.raw = by_arm[0]
        self.compared = {ARMS[arm]: by_arm.get(arm, self.raw) for arm in _COMPARED}
        self.turns = len(turns)
        self.characters = sum(len(turn.text) for turn in query.history)
        self.words: dict[str, set[str]] = {
            "query": set(stems(query.text)),
            "last_turn": last,
            "turn_before_last": before,
            "conversation": set().union(*turns),
            "first_result": self.read(self.raw, 1),
            f"first_{READ}_results": self.read(self.raw, READ),
        }
        self.idfs = [known.weight(word) for word in self.words["query"]] or [0.0]

    def read(self, ranking: Ranking, k: int) -> set[str]:
        return {word for doc_id in ranking.doc_ids[:k] for word in self.words_of(doc_id)}

    def share(self, words: str, texts: str) -> float:
        return self.known.share(self.words[words], self.words[texts])


class _Option:
    """An option of a query: what it searches, and its results.

    Attributes:
        arms: the arms whose rankings are fused; none if the model is asked.
        words: as of the query, with those of the searches and those that the searches add to the query.
    """

    def __init__(
        self,
        asked: _Asked,
        tops: Mapping[str, float],
        arms: Collection[int],
        made: Reformulation,
        lists: Sequence[Ranking],
        fused: Ranking,
    ) -> None:
        weight = asked.known.weight
        query = asked.words["query"]
        searched = {word for sub_query in made.sub_queries for word in stems(sub_query.text)}
        new = searched - query
        self.asked = asked
        self.arms = arms
        self.fused = fused
        self.searches = len(made.sub_queries)
        self.left = query - searched
        self.words = {
            **asked.words,
            "first_result": asked.read(fused, 1),
            f"first_{READ}_results": asked.read(fused, READ),
            "searched": searched,
            "new": new,
        }
        self.idfs = [weight(word) for word in new] or [0.0]
        self.length = sum(map(weight, query)) / (sum(map(weight, searched)) or 1.0)
        full = [ranking for ranking in lists if ranking.scores]
        self.best = max(full, key=lambda ranking: ranking.scores[0], default=fused)
        self.tops = [ranking.scores[0] / (tops.get(ranking.retriever) or 1.0) for ranking in full] or [0.0]
        pairs = [_overlap(ranking, other, 10) for i, ranking in enumerate(full) for other in full[i + 1 :]]
        self.overlaps = pairs or [1.0]

    def share(self, words: str, texts: str) -> float:
        return self.asked.known.share(self.words[words], self.words[texts])

    def overlap(self, arm: str, k: int) -> float:
        return _overlap(self.fused, self.asked.compared[arm], k)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _overlap(ranking: Ranking, other: Ranking, k: int) -> float:
    return len(set(ranking.doc_ids[:k]) & set(other.doc_ids[:k])) / k


FEATURES = FeatureTable[_Asked, _Option](
    of_query={
        "query": {
            "log_number_of_query_words": lambda q: math.log1p(len(q.words["query"])) / 4,
            "mean_idf_of_query_words": lambda q: _mean(q.idfs),
            "max_idf_of_query_words": lambda q: max(q.idfs),
            "min_idf_of_query_words": lambda q: min(q.idfs),
        },
        "conversation": {
            "log_number_of_turns": lambda q: math.log1p(q.turns) / 2,
            "has_conversation": lambda q: float(q.turns > 0),
            "log_characters_of_conversation": lambda q: math.log1p(q.characters) / 8,
            "share_of_query_words_in_conversation": lambda q: q.share("query", "conversation"),
            "share_of_query_words_in_last_turn": lambda q: q.share("query", "last_turn"),
            "share_of_query_words_in_turn_before_last": lambda q: q.share("query", "turn_before_last"),
        },
        "scores": score_ratios("raw_query", lambda q: q.raw.scores),
        "words of results": {
            f"share_of_{words}_words_in_{texts}_of_raw_query": partial(_Asked.share, words=words, texts=texts)
            for words, texts in (
                ("query", "first_result"),
                ("query", f"first_{READ}_results"),
                ("conversation", f"first_{READ}_results"),
                ("last_turn", f"first_{READ}_results"),
                ("turn_before_last", f"first_{READ}_results"),
            )
        },
        "equal results": {
            "overlap_at_10_of_raw_query_and_last_two_turns": lambda q: _overlap(q.raw, q.compared[ARMS[2]], 10),
            "overlap_at_5_of_raw_query_and_last_two_turns": lambda q: _overlap(q.raw, q.compared[ARMS[2]], 5),
        },
    },
    of_option={
        "searches": {
            **{
                f"searches_{name.replace(' ', '_')}": partial(lambda o, arm: float(arm in o.arms), arm=arm)
                for arm, name in enumerate(ARMS)
            },
            "asks_model": lambda o: float(not o.arms),
        },
    },
    compared={
        "searches": {
            "number_of_searches": lambda o: o.searches / 4,
        },
        "scores": {
            "max_ratio_of_top_score_to_that_of_raw_query": lambda o: max(o.tops),
            "min_ratio_of_top_score_to_that_of_raw_query": lambda o: min(o.tops),
            "max_ratio_of_top_score_to_that_of_raw_query_times_length_ratio": lambda o: max(o.tops) * o.length,
            **score_ratios("best_list", lambda o: o.best.scores),
            **score_ratios("fused_list", lambda o: o.fused.scores),
        },
        "words of searches": {
            "ratio_of_summed_idf_of_query_words_to_that_of_searched_words": lambda o: o.length,
            "share_of_new_words_in_conversation": lambda o: o.share("new", "conversation"),
            "log_number_of_new_words": lambda o: math.log1p(len(o.words["new"])) / 3,
            "log_number_of_query_words_not_searched": lambda o: math.log1p(len(o.left)) / 3,
            "mean_idf_of_new_words": lambda o: _mean(o.idfs),
            "max_idf_of_new_words": lambda o: max(o.idfs),
        },
        "words of results": {
            **{
                f"share_of_{words}_words_in_{texts}": partial(_Option.share, words=words, texts=texts)
                for words in ("query", "last_turn", "turn_before_last", "searched", "new")
                for texts in ("first_result", f"first_{READ}_results")
            },
            f"share_of_new_words_in_first_{READ}_results_of_raw_query": lambda o: o.asked.known.share(
                o.words["new"], o.asked.words[f"first_{READ}_results"]
            ),
        },
        "equal results": {
            "mean_overlap_at_10_of_lists": lambda o: _mean(o.overlaps),
            "min_overlap_at_10_of_lists": lambda o: min(o.overlaps),
            **{
                f"overlap_at_{k}_with_{ARMS[arm].replace(' ', '_')}": partial(_Option.overlap, arm=ARMS[arm], k=k)
                for arm in _COMPARED
                for k in (1, 5, 10)
            },
        },
    },
    differences={"_minus_raw_query": lambda compared: compared - compared[:1]},
)


def features_of(
    options: Sequence[tuple[Sequence[int], Reformulation, Sequence[Ranking], Ranking]],
    known: CorpusWords,
    words_of: WordsOf,
    *,
    may_ask: bool,
) -> NDArray[np.float32]:
    """The features of each option, float32[options, features].

    Args:
        options: arms, searches, rankings and fused ranking of each option; the first one is the query as it is.
        known: word weights of the corpus.
        words_of: the words of a document by its id.
        may_ask: whether to ask the model is one more option, the last one.
    """
    by_arm = {arms[0]: fused for arms, _, _, fused in options if len(arms) == 1}
    tops = {ranking.retriever: ranking.scores[0] for ranking in options[0][2] if ranking.scores}
    asked = _Asked(options[0][1].query, by_arm, known, words_of)
    read = [_Option(asked, tops, *option) for option in options]
    if may_ask:
        read.append(_Option(asked, tops, (), *options[0][1:]))
    return FEATURES.read(asked, read)

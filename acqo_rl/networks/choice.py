"""What the choice of the first search reads: the results of each option, and how they differ from the raw query's."""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np

from acqo_rl.networks.corpus_words import CorpusWords, whole_and_lead
from acqo_rl.networks.features import FeatureTable, View, mean, score_ratios, shares
from acqo_rl.roles import Vectors
from acqo_rl.text import stems, words
from acqo_rl.types import Corpus, Query, Ranking, Reformulation

ARMS = ("query", "last turn", "last two turns", "first question", "rules", "model")
"""Ways to search; the last one is the reformulator of the path."""
READ = 5
"""Number of results whose text is read."""
_COMPARED = (0, 2, 3, 4)
"""Arms whose results are compared with those of an option."""
_FUNCTION_WORDS = words(
    "it its they them their he his she her him this that these those there one ones other another else more also and "
    "but or so then what which who whom whose where when why how about does do did is are was were can could would "
    "should the a an any some same both each of for to in on with from if not yes no ok thanks please i you we my your "
    "me us tell"
)
"""Words that say whether a question stands alone: a pronoun needs what was said before, "how do I" rarely does."""


class _Asked(View):
    """A query, its conversation, and the results of its arms; the words are of the raw query's results, and so on."""

    def __init__(self, query: Query, by_arm: Mapping[int, Ranking], known: CorpusWords, documents: Corpus) -> None:
        turns = [set(stems(turn.text)) for turn in query.history]
        last, before = [*reversed(turns), set(), set()][:2]
        self.query = set(stems(query.text))
        self.documents = documents
        self.raw = by_arm[0]
        self.compared = [by_arm.get(arm, self.raw) for arm in _COMPARED]
        self.spoken = words(query.text.lower())
        self.has_name = any(word[:1].isupper() for word in words(query.text)[1:])
        self.turns = len(turns)
        self.characters = sum(len(turn.text) for turn in query.history)
        super().__init__(
            known,
            query=self.query,
            last_turn=last,
            turn_before_last=before,
            conversation=set().union(*turns),
            first_result_of_raw_query=self.read(self.raw, 1),
            first_results_of_raw_query=self.read(self.raw, READ),
        )

    def read(self, ranking: Ranking, k: int) -> set[str]:
        return {word for doc_id in ranking.doc_ids[:k] for word in whole_and_lead(self.documents[doc_id])[0]}


class _Option(View):
    """An option of a query: what it searches, and its results; *new* words are not in the query.

    Attributes:
        arms: the arms whose rankings are fused; none if the model is asked.
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
        searched = {word for sub_query in made.sub_queries for word in stems(sub_query.text)}
        full = [ranking for ranking in lists if ranking.scores]
        pairs = [_overlap(ranking, other, 10) for i, ranking in enumerate(full) for other in full[i + 1 :]]
        self.arms = arms
        self.searches = len(made.sub_queries)
        self.left = asked.query - searched
        self.compared = asked.compared
        self.fused = fused
        self.best = max(full, key=lambda ranking: ranking.scores[0], default=fused)
        self.tops = [ranking.scores[0] / (tops.get(ranking.retriever) or 1.0) for ranking in full] or [0.0]
        self.length = sum(map(weight, asked.query)) / (sum(map(weight, searched)) or 1.0)
        self.overlaps = pairs or [1.0]
        super().__init__(
            asked.known,
            **asked.words,
            searched=searched,
            new=searched - asked.query,
            first_result=asked.read(fused, 1),
            first_results=asked.read(fused, READ),
        )


def _overlap(ranking: Ranking, other: Ranking, k: int) -> float:
    return len(set(ranking.doc_ids[:k]) & set(other.doc_ids[:k])) / k


FEATURES = FeatureTable(
    of_query={
        "query": {
            "log_number_of_query_words": lambda q: math.log1p(len(q.query)) / 4,
            "mean_idf_of_query_words": lambda q: mean(q.idfs("query")),
            "max_idf_of_query_words": lambda q: max(q.idfs("query")),
            "min_idf_of_query_words": lambda q: min(q.idfs("query")),
        },
        "question": {
            **{f"has_{word}": partial(lambda q, word: word in q.spoken, word=word) for word in _FUNCTION_WORDS},
            "log_number_of_words": lambda q: math.log1p(len(q.spoken)) / 3,
            "has_fewer_than_four_words": lambda q: len(q.spoken) < 4,
            "number_of_other_words": lambda q: len(set(q.spoken).difference(_FUNCTION_WORDS)) / 8,
            "has_name": lambda q: q.has_name,
            "begins_with_conjunction": lambda q: q.spoken[:1] in (["and"], ["but"], ["or"], ["so"]),
            "begins_with_what_or_how_about": lambda q: q.spoken[:2] in (["what", "about"], ["how", "about"]),
        },
        "conversation": {
            "log_number_of_turns": lambda q: math.log1p(q.turns) / 2,
            "has_conversation": lambda q: q.turns > 0,
            "log_characters_of_conversation": lambda q: math.log1p(q.characters) / 8,
            **shares(("query", "conversation"), ("query", "last_turn"), ("query", "turn_before_last")),
        },
        "scores": score_ratios("raw_query", lambda q: q.raw.scores),
        "words of results": shares(
            ("query", "first_result_of_raw_query"),
            *product(("query", "conversation", "last_turn", "turn_before_last"), ["first_results_of_raw_query"]),
        ),
        "equal results": {
            f"overlap_at_{k}_of_raw_query_and_last_two_turns": partial(
                lambda q, k: _overlap(q.raw, q.compared[1], k), k=k
            )
            for k in (10, 5)
        },
    },
    of_option={
        "searches": {
            **{
                f"searches_{name.replace(' ', '_')}": partial(lambda o, arm: arm in o.arms, arm=arm)
                for arm, name in enumerate(ARMS)
            },
            "asks_model": lambda o: not o.arms,
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
            **shares(("new", "conversation")),
            "log_number_of_new_words": lambda o: math.log1p(len(o.words["new"])) / 3,
            "log_number_of_query_words_not_searched": lambda o: math.log1p(len(o.left)) / 3,
            "mean_idf_of_new_words": lambda o: mean(o.idfs("new")),
            "max_idf_of_new_words": lambda o: max(o.idfs("new")),
        },
        "words of results": shares(
            *product(("query", "last_turn", "turn_before_last", "searched", "new"), ("first_result", "first_results")),
            ("new", "first_results_of_raw_query"),
        ),
        "equal results": {
            "mean_overlap_at_10_of_lists": lambda o: mean(o.overlaps),
            "min_overlap_at_10_of_lists": lambda o: min(o.overlaps),
            **{
                f"overlap_at_{k}_with_{ARMS[arm].replace(' ', '_')}": partial(
                    lambda o, i, k: _overlap(o.fused, o.compared[i], k), i=i, k=k
                )
                for i, arm in enumerate(_COMPARED)
                for k in (1, 5, 10)
            },
        },
    },
    differences={"_minus_raw_query": lambda rows: rows - rows[:1]},
    precision=np.float64,
)


def features_of(
    options: Sequence[tuple[Sequence[int], Reformulation, Sequence[Ranking], Ranking]],
    known: CorpusWords,
    documents: Corpus,
    *,
    may_ask: bool,
) -> Vectors:
    """The features of each option, float32[options, features].

    Args:
        options: arms, searches, rankings and fused ranking of each option; the first one is the query as it is.
        known: word weights of the corpus.
        documents: the first results by their ids.
        may_ask: whether to ask the model is one more option, the last one.
    """
    by_arm = {arms[0]: fused for arms, _, _, fused in options if len(arms) == 1}
    tops = {ranking.retriever: ranking.scores[0] for ranking in options[0][2] if ranking.scores}
    asked = _Asked(options[0][1].query, by_arm, known, documents)
    read = [_Option(asked, tops, *option) for option in options]
    if may_ask:
        read.append(_Option(asked, tops, (), *options[0][1:]))
    return FEATURES.read(asked, read)

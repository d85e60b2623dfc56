"""The reward of GRPO: how well the searches of a completion find the gold documents.

Implements arXiv 2601.21208, Eq. 3-6, with three additions. Each search after the first has a cost: without it, the
Stage I reward never falls when a sub-query is added, which encourages needless splits. Each new word can have a cost:
without it, a policy may learn to add words that change nothing. The measures that explain a reward are logged with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from acqo_rl.errors import ConfigError, GrammarError
from acqo_rl.measures import gold_of
from acqo_rl.reformulation.grammar import Grammar, repeats_words
from acqo_rl.reformulation.pass_through import Given, PassThrough
from acqo_rl.reformulation.policy import as_searched
from acqo_rl.roles import Fusion
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import DEPTH, Retrievers
from acqo_rl.text import word_key
from acqo_rl.types import Qrels, Query, Ranking, Reformulation

STEPS = ("choice", "hops", "order")
"""Steps of the search path that a reward may have."""
CUTOFF = 10
MOST_WORDS = 10
"""Maximum number of new words that have a cost, so that rewards have a lower bound."""

_QUERIES = TypeAdapter(list[Query])


def rank_map(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Phi(r): falls from 2 to 1 over ranks 1-10, from below 1 to 0 over ranks 11-100, and is 0 beyond.

    Args:
        ranks: float64[any shape], starting at 1; infinity for a document that was not found.
    """
    top = (19.0 - ranks) / 9.0
    middle = (100.0 - ranks) / 90.0
    return np.where(ranks <= 10, top, np.where(ranks <= 100, middle, 0.0))


def gold_ranks(ranking: Ranking, gold: Sequence[str]) -> NDArray[np.float64]:
    """Ranks of the gold documents, best first, float64[gold]; infinity for a document that was not found."""
    ranks = ranking.ranks
    return np.sort(np.array([ranks.get(doc_id, np.inf) for doc_id in gold], np.float64))


class Reward:
    """A picklable reward function with TRL's signature.

    Stage I (explore) takes the best score over all non-empty subsets of the sub-queries. Stage II (converge) scores
    the full set and adds ``top_rank_bonus`` / log2(r + 1) for each gold document among the first ``bonus_ranks``.

    The valid completions walk the search path of evaluation and serving, in one batch. In Stage II, the path may have
    choice, hops and order; the score is then that of the ranking after them. With an order, the reward is not
    picklable.

    Attributes:
        stage: ``explore`` or ``converge``.
        path: the search path: retriever, fusion, and the steps after them.
        grammar: a completion outside the grammar gets ``invalid_reward``, whatever it would find.
        cost: subtracted for each search after the first.
        word_cost: subtracted for each new word: a word of a sub-query that the raw query does not contain.
        invalid_reward: reward of a completion outside the grammar; below the reward of every valid completion.
        gold_decay: eta, if the query has several gold documents; with one gold document, eta is 1.
        bonus_ranks: k*.
        top_rank_bonus: lambda.
        qualities: S of each completion of the last call, before costs are subtracted; NaN outside the grammar.
        raw_query_margin: from the policy's settings. The additional search of the raw query has no cost, because the
            policy does not write it.

    Raises:
        ConfigError: the stage is unknown, or ``invalid_reward`` is not below the reward of every valid completion, or
            the path of Stage I has steps, because subsets of sub-queries are no search.
    """

    def __init__(
        self,
        stage: Literal["explore", "converge"],
        retriever: Retrievers,
        fusion: Fusion,
        *,
        grammar: Grammar | None = None,
        cost: float = 0.03,
        word_cost: float = 0.0,
        invalid_reward: float = -0.1,
        gold_decay: float = 0.6,
        bonus_ranks: int = 3,
        top_rank_bonus: float = 0.5,
        raw_query_margin: float | None = None,
        **steps: Any,
    ) -> None:
        if stage not in ("explore", "converge"):
            raise ConfigError(f"stage is {stage!r}; it must be explore or converge.")
        if stage == "explore" and any(steps.get(name) for name in STEPS):
            raise ConfigError("Stage I scores subsets of the sub-queries, so its path has no choice, hops or order.")
        self.stage = stage
        self.path = SearchPath(PassThrough(), retriever, fusion, **steps)
        self.grammar = grammar or Grammar()
        lowest_valid = -cost * (self.grammar.max_sub_queries - 1) - word_cost * MOST_WORDS
        if invalid_reward >= lowest_valid:
            raise ConfigError(
                f"invalid_reward is {invalid_reward}, but the reward of a valid completion can be as low as "
                f"{lowest_valid:g} (cost {cost} per search, word_cost {word_cost}); set invalid_reward below that, or "
                f"lower the costs."
            )
        self.cost = cost
        self.word_cost = word_cost
        self.invalid_reward = invalid_reward
        self.gold_decay = gold_decay
        self.bonus_ranks = bonus_ranks
        self.top_rank_bonus = top_rank_bonus
        self.raw_query_margin = raw_query_margin
        self.qualities: list[float] = []
        self.__name__ = f"acqo_{stage}"

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        query: Sequence[str],
        gold: Sequence[Sequence[str]],
        asked: Sequence[Query | Mapping[str, Any]] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **_: Any,
    ) -> list[float]:
        """Returns one reward per completion, in input order.

        Args:
            prompts: not used.
            completions: texts, or TRL's conversations of one assistant message.
            query: raw query of each completion (a column of the data set).
            gold: ids of the gold documents of each completion's query (a column of the data set).
            asked: the :class:`~acqo_rl.types.Query` of each completion, or its fields, with the conversation and the
                feedback that the policy read (a column of the data set); by default only the raw query.
            log_metric: TRL's hook for numbers.
            log_extra: TRL's hook for columns of the completions table.

        Raises:
            Exception: any error of the retriever; a failed search never becomes a reward.
        """
        texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
        queries = _QUERIES.validate_python(asked) if asked else [Query("", text) for text in query]
        numbered = [replace(one, id=str(i)) for i, one in enumerate(queries)]
        parsed = [self._parse(text, one) for text, one in zip(texts, numbered, strict=True)]
        written = {i: reformulation for i, reformulation in enumerate(parsed) if reformulation is not None}
        valid = list(written)
        most = self.grammar.max_sub_queries
        given = Given(as_searched(made, self.raw_query_margin, most) for made in written.values())
        found = replace(self.path, reformulator=given).search([numbered[i] for i in valid], DEPTH)
        fused_full = [result.fused for result in found]
        rewards = [self.invalid_reward] * len(texts)
        self.qualities = [float("nan")] * len(texts)
        scores = self._scores([result.rankings for result in found], fused_full, [gold[i] for i in valid])
        for i, score in zip(valid, scores, strict=True):
            searches = len(written[i].sub_queries)
            self.qualities[i] = score
            rewards[i] = score - self.cost * (searches - 1) - self.word_cost * _new_words(written[i])
        if log_metric is not None:
            ranks = [gold_ranks(ranking, gold[i]) for i, ranking in zip(valid, fused_full, strict=True)]
            for name, value in _completion_metrics(parsed, ranks).items():
                log_metric(name, value)
        if log_extra is not None:
            log_extra("query", list(query))
            log_extra("route", [r.route if r else "invalid" for r in parsed])
        return rewards

    def of(self, queries: Sequence[Query], completions: Sequence[str], qrels: Qrels) -> list[float]:
        """Returns the reward of one completion per query, in input order."""
        return self(
            prompts=queries,
            completions=completions,
            query=[query.text for query in queries],
            gold=[gold_of(qrels, query.id) for query in queries],
            asked=queries,
        )

    def _parse(self, completion: str, query: Query) -> Reformulation | None:
        try:
            parsed = self.grammar.parse(completion, query)
        except GrammarError:
            return None
        return Reformulation(query, parsed.route, parsed.sub_queries, "policy", completion)

    def _scores(
        self, rankings: Sequence[Sequence[Ranking]], fused_full: Sequence[Ranking], gold: Sequence[Sequence[str]]
    ) -> list[float]:
        if self.stage == "converge":
            return [self.score(gold_ranks(r, g)) for r, g in zip(fused_full, gold, strict=True)]
        subsets = [
            (i, subset)
            for i, lists in enumerate(rankings)
            for size in range(1, len(lists) + 1)
            for subset in combinations(lists, size)
        ]
        fused = self.path.fusion.fuse([subset for _, subset in subsets], DEPTH)
        best = [0.0] * len(rankings)
        for (i, _), ranking in zip(subsets, fused, strict=True):
            best[i] = max(best[i], self.score(gold_ranks(ranking, gold[i])))
        return best

    def score(self, ranks: NDArray[np.float64]) -> float:
        """S: the sum of eta^i Phi(r_i) over the gold documents, ordered by rank; Stage II uses Phi'.

        Args:
            ranks: as returned by :func:`gold_ranks`, float64[gold].
        """
        value = rank_map(ranks)
        if self.stage == "converge":
            value = value + np.where(ranks <= self.bonus_ranks, self.top_rank_bonus / np.log2(ranks + 1.0), 0.0)
        eta = 1.0 if len(ranks) == 1 else self.gold_decay
        return float((eta ** np.arange(1, len(ranks) + 1)) @ value)


def _new_words(reformulation: Reformulation) -> int:
    """Number of words of the sub-queries that the raw query does not contain, at most ``MOST_WORDS``."""
    asked = set(map(word_key, reformulation.query.text.split()))
    written = (word_key(word) for s in reformulation.sub_queries for word in s.text.split())
    return min(sum(key not in asked for key in written), MOST_WORDS)


def _completion_metrics(
    parsed: Sequence[Reformulation | None], ranks: Sequence[NDArray[np.float64]]
) -> dict[str, float]:
    """Batch means that explain the reward; they are logged and do not affect it.

    Args:
        parsed: one per completion; ``None`` for a completion outside the grammar.
        ranks: gold ranks in the fusion of all sub-queries, one array per valid completion.
    """
    valid = [r for r in parsed if r is not None]
    means = {"completions/valid_ratio": len(valid) / len(parsed)}
    if valid:
        inside = [r <= CUTOFF for r in ranks]
        means |= {
            "completions/sub_queries": float(np.mean([len(r.sub_queries) for r in valid])),
            "completions/pass_ratio": float(np.mean([r.route == "pass" for r in valid])),
            "completions/repeated_word_ratio": float(np.mean([repeats_words(r.completion, r.query) for r in valid])),
            "retrieval/R@10": float(np.mean([hits.mean() for hits in inside])),
            "retrieval/AllGold@10": float(np.mean([hits.all() for hits in inside])),
        }
    return means

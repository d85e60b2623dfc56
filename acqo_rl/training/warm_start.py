"""Warm start: selects training examples by the reward and fine-tunes a model on them with TRL's SFT trainer.

No labelled rewrites are needed. Candidates come from rules, and from spans of query, conversation and feedback. The
reward scores them, and the best candidate is the target if it beats the raw query.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from acqo_rl.errors import GrammarError
from acqo_rl.language_models.chat import missing_end
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.grammar import TAGS
from acqo_rl.reformulation.policy import PolicySettings, prompt_of
from acqo_rl.training.candidates import Candidate, candidates_in, drops_words, splits_completely
from acqo_rl.training.model import load_trainable, resume, save_run
from acqo_rl.training.rewards import Reward, rank_map
from acqo_rl.training.run_folder import continue_rows
from acqo_rl.training.settings import FINE_TUNING, trainer_arguments
from acqo_rl.types import Corpus, Qrels, Query, Route, SubQuery

if TYPE_CHECKING:
    from trl import SFTConfig

_BATCH = 64
_FOUND = float(rank_map(np.array(10.0)))
"""Reward of one gold document at rank 10."""


@dataclass(frozen=True)
class Example:
    """A training example.

    Attributes:
        query_id: id of the query.
        route: route of the completion.
        completion: the target, in the grammar.
        reward: reward of the completion.
        raw_reward: reward of passing the query.
    """

    query_id: str
    route: Route
    completion: str
    reward: float
    raw_reward: float


@dataclass(frozen=True)
class ScoredCandidate:
    """A possible completion of a query.

    Attributes:
        form: name of the rule that built it; see :class:`~acqo_rl.training.candidates.Candidate`.
        route: route of the completion.
        completion: the completion, in the grammar.
        reward: reward of the completion.
    """

    form: str
    route: Route
    completion: str
    reward: float


@dataclass(frozen=True)
class ScoredQuery:
    """The options of one query; the first one passes the query."""

    query_id: str
    options: tuple[ScoredCandidate, ...]


def score_candidates(
    queries: Sequence[Query], qrels: Qrels, candidates: Mapping[str, Sequence[Candidate]], reward: Reward
) -> Iterator[list[ScoredQuery]]:
    """Scores all candidates, and yields one batch of results at a time, in input order.

    Args:
        queries: queries with the conversation and feedback that the policy reads.
        qrels: judgements of the queries.
        candidates: query id -> candidates.
        reward: reward of Stage II.
    """
    steps = range(0, len(queries), _BATCH)
    for start in tqdm(steps, desc="score candidates", unit="batch", disable=len(steps) < 4):
        batch = queries[start : start + _BATCH]
        rows = [(q, *option) for q in batch for option in _completions(q, candidates.get(q.id, ()), reward)]
        values = reward.of([query for query, *_ in rows], [completion for *_, completion in rows], qrels)
        scored: dict[str, list[ScoredCandidate]] = {q.id: [] for q in batch}
        for (query, form, route, completion), value in zip(rows, values, strict=True):
            scored[query.id].append(ScoredCandidate(form, route, completion, value))
        yield [ScoredQuery(query_id, tuple(options)) for query_id, options in scored.items()]


def scored_in(file: Path, queries: Sequence[Query], qrels: Qrels, corpus: Corpus, reward: Reward) -> list[ScoredQuery]:
    """The candidates of the queries with their rewards; those that an earlier run has written to the file are read."""

    def rest(done: int) -> Iterator[list[ScoredQuery]]:
        found = candidates_in(corpus.values(), queries[done:], reward.grammar.max_sub_queries)
        return score_candidates(queries[done:], qrels, found, reward)

    return continue_rows(ScoredQuery, file, len(queries), rest)


def _completions(query: Query, found: Sequence[Candidate], reward: Reward) -> list[tuple[str, Route, str]]:
    """Form, route and text of each option, the route ``pass`` first.

    Each candidate is an option with and without the raw query as an additional sub-query. Without it, a split that
    drops words of the query is no option. If the policy reads feedback, the raw query has been searched anyway, and
    omitting its list is risky. In this case only the option with the raw query is used. Exceptions are queries in a
    conversation and candidates that split the query completely: their raw list is likely to be noise.
    """
    options: dict[str, tuple[str, Route]] = {reward.grammar.render("pass", (), query): ("pass", "pass")}
    original = SubQuery(query.text, "original")
    for route, sub_queries, form in found:
        reads_raw = query.feedback and not query.history and not splits_completely(query, sub_queries)
        needs_raw = reads_raw or drops_words(query, route, sub_queries)
        with_raw = (f"{form} | raw query", (*sub_queries, original))
        for name, variant in (with_raw,) if needs_raw else ((form, sub_queries), with_raw):
            try:
                options.setdefault(reward.grammar.render(route, variant, query), (name, route))
            except GrammarError:
                continue
    return [(form, route, completion) for completion, (form, route) in options.items()]


def verified_examples(
    scored: Sequence[ScoredQuery], min_gain: float = 0.05, tie_tolerance: float = 0.05
) -> list[Example]:
    """Chooses the target of each query; the route ``pass``, unless a candidate beats the raw query by ``min_gain``.

    Which of several good candidates has the highest reward is partly chance, and few forms are easier to learn than
    many. Therefore all candidates within ``tie_tolerance`` of the best one count as equal, if they are not worse than
    the raw query. The target is the one whose form comes first in :func:`forms_by_cover`.

    Args:
        scored: the options of the queries.
        min_gain: reward by which a candidate must beat the raw query.
        tie_tolerance: maximum difference to the reward of the best candidate.
    """
    good = [_good(one.options, min_gain, tie_tolerance) for one in scored]
    order = forms_by_cover([{option.form for option in some} for some in good])
    rank = {form: place for place, form in enumerate(order)}
    examples = []
    for one, some in zip(scored, good, strict=True):
        raw = one.options[0]
        target = min(some, key=lambda option: rank.get(option.form, len(rank)), default=raw)
        examples.append(Example(one.query_id, target.route, target.completion, target.reward, raw.reward))
    return examples


def forms_by_cover(forms: Sequence[Set[str]]) -> list[str]:
    """Orders forms by a greedy set cover: each form covers the most queries that earlier forms do not cover.

    Args:
        forms: for each query, the forms of its good candidates; queries without candidates are skipped.

    Returns:
        Forms that together cover every query.
    """
    left, order = [some for some in forms if some], []
    while left:
        counts = Counter(form for some in left for form in sorted(some))
        order.append(max(counts, key=counts.__getitem__))
        left = [some for some in left if order[-1] not in some]
    return order


def _good(options: Sequence[ScoredCandidate], min_gain: float, tie_tolerance: float) -> list[ScoredCandidate]:
    """The options that may be the target, in input order; none if the best one does not beat passing enough."""
    raw, *others = options
    top = max((option.reward for option in others), default=-np.inf)
    if top < raw.reward + min_gain:
        return []
    return [option for option in others if option.reward >= max(top - tie_tolerance, raw.reward)]


def decided_by_kind(examples: Sequence[Example], kinds: Mapping[str, str], min_helped_share: float) -> list[Example]:
    """Makes the targets of each kind of query uniform: either all queries are passed, or none.

    With many candidates, one of them wins by chance for some queries of every kind, which the policy cannot predict. If
    the share of queries with a better target than ``pass`` is below ``min_helped_share``, all queries of the kind are
    passed. Otherwise examples with the route ``pass`` are dropped.

    Args:
        examples: one per query.
        kinds: query id -> kind.
        min_helped_share: minimum share; 0 returns all examples unchanged.
    """
    if not min_helped_share:
        return list(examples)
    by_kind: dict[str, list[bool]] = {}
    for example in examples:
        by_kind.setdefault(kinds[example.query_id], []).append(example.route != "pass")
    passed = {kind for kind, searches in by_kind.items() if sum(searches) < min_helped_share * len(searches)}
    return [
        Example(e.query_id, "pass", TAGS["pass"], e.raw_reward, e.raw_reward) if kinds[e.query_id] in passed else e
        for e in examples
        if e.route != "pass" or kinds[e.query_id] in passed
    ]


def balanced(examples: Sequence[Example], size: int, seed: int) -> list[Example]:
    """Draws at most ``size`` examples at random, with equal numbers per route as far as possible.

    Examples that pass a query without a hit in the top ten are used last, because they teach the policy to give up.
    """
    generator = random.Random(seed)
    by_route: dict[str, list[Example]] = {}
    for example in generator.sample(list(examples), len(examples)):
        by_route.setdefault(example.route, []).append(example)
    by_route.get("pass", []).sort(key=lambda e: e.reward < _FOUND)
    chosen: list[Example] = []
    left = size
    for i, route in enumerate(sorted(by_route, key=lambda r: len(by_route[r]))):
        share = by_route[route][: left // (len(by_route) - i)]
        chosen += share
        left -= len(share)
    return generator.sample(chosen, len(chosen))


def train(
    queries: Sequence[Query],
    examples: Sequence[Example],
    settings: PolicySettings,
    arguments: SFTConfig,
    *,
    model: str,
    lora_rank: int,
) -> Path:
    """Fine-tunes a model on the examples with TRL's SFT trainer; resumes from the last checkpoint in its folder.

    Args:
        queries: the training queries.
        examples: at most one per query.
        settings: settings of the policy.
        arguments: see :func:`warm_start_arguments`.
        model: starting model.
        lora_rank: rank of the adapter; 0 trains all weights.

    Returns:
        The folder of the model.
    """
    from acqo_rl.training.sft import CompletionTrainer, sft_dataset

    trainable, tokenizer = load_trainable(model, lora_rank, arguments.seed)
    prompt = prompt_of(settings, TransformersModel(trainable, tokenizer).chat.count_tokens)
    query_of = {query.id: query for query in queries}
    pairs = [(query_of[example.query_id], example.completion) for example in examples]
    trainer = CompletionTrainer(
        model=trainable,
        args=arguments,
        processing_class=tokenizer,
        train_dataset=sft_dataset(pairs, prompt, missing_end(tokenizer)),
    )
    resume(trainer)
    return save_run(trainer, settings)


def warm_start_arguments(given: Mapping[str, Any], output_dir: str | Path, seed: int) -> SFTConfig:
    """Creates the configuration of TRL's trainer.

    Raises:
        ConfigError: see :func:`~acqo_rl.training.settings.trainer_arguments`.
    """
    from trl import SFTConfig

    return trainer_arguments(
        SFTConfig,
        {**FINE_TUNING, **given},
        output_dir=str(output_dir),
        seed=seed,
        completion_only_loss=True,
        max_length=None,
    )

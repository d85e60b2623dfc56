"""Warm start: supervised examples that the reward has verified, then SFT through TRL.

No label of a rewrite is read. Candidates come from rules, from spans of query and conversation and from sampling a
prompted model; each is scored by the reward, and the best is a target where it beats the raw query.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import GrammarError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.measures import gold_of
from acqo_rl.reformulation.policy import PolicySettings, prompt_of
from acqo_rl.rewards import Reward, rank_map
from acqo_rl.training.candidates import Candidate
from acqo_rl.training.data import sft_dataset
from acqo_rl.training.model import load_trainable, save_policy
from acqo_rl.training.run_folder import last_checkpoint, prepare_tracking, write_json
from acqo_rl.types import Qrels, Query, Route, SubQuery

_BATCH = 64
_FOUND = float(rank_map(np.array(10.0)))
"""Reward of one gold document at rank 10."""


@dataclass(frozen=True)
class Example:
    """A training target: the completion that searched best.

    Attributes:
        query_id: of the query it answers.
        route: of the completion.
        completion: in the grammar.
        reward: of the completion.
        raw_reward: of passing the query through.
    """

    query_id: str
    route: Route
    completion: str
    reward: float
    raw_reward: float


class _Option(NamedTuple):
    """A completion with its reward, and the form of the candidate that it was made from."""

    form: str
    route: Route
    completion: str
    reward: float = 0.0


def verified_examples(
    queries: Sequence[Query],
    qrels: Qrels,
    candidates: Mapping[str, Sequence[Candidate]],
    reward: Reward,
    margin: float = 0.05,
) -> list[Example]:
    """The best completion of each query; passing it through where nothing is better by ``margin``.

    Of those within ``margin`` of the best, the one wins whose form gains most over all queries: targets that are made
    alike are easier to learn than the best of each query, which is in part luck.
    """
    scored = []
    steps = range(0, len(queries), _BATCH)
    for start in tqdm(steps, desc="score candidates", unit="batch", disable=len(steps) < 4):
        scored += _score(queries[start : start + _BATCH], qrels, candidates, reward)
    gains = _gains(scored)
    return [_best(query.id, options, margin, gains) for query, options in zip(queries, scored, strict=True)]


def _score(
    queries: Sequence[Query], qrels: Qrels, candidates: Mapping[str, Sequence[Candidate]], reward: Reward
) -> list[list[_Option]]:
    options = [_options(query, candidates.get(query.id, ()), reward) for query in queries]
    rows = [(query, option) for query, some in zip(queries, options, strict=True) for option in some]
    values = reward(
        prompts=rows,
        completions=[option.completion for _, option in rows],
        query=[query.text for query, _ in rows],
        gold=[gold_of(qrels, query.id) for query, _ in rows],
    )
    rewards = iter(values)
    return [[option._replace(reward=next(rewards)) for option in some] for some in options]


def _options(query: Query, found: Sequence[Candidate], reward: Reward) -> list[_Option]:
    """Completions to score, the pass route first; each candidate alone and with the raw query's own list beside it.

    After a first search the raw list is there at no cost, and leaving it out is a bet on one name: then it is kept,
    unless the question leans on earlier turns and its own list is likely noise.
    """
    passed = _Option("pass", "pass", reward.grammar.render("pass", (), query))
    options = {passed.completion: passed}
    original = SubQuery(query.text, "original")
    for form, route, sub_queries in found:
        beside_raw = f"{form}, =", (*sub_queries, original)
        alone = form, sub_queries
        for made, variant in (beside_raw,) if query.feedback and not query.history else (alone, beside_raw):
            try:
                completion = reward.grammar.render(route, variant, query)
            except GrammarError:
                continue
            options.setdefault(completion, _Option(made, route, completion))
    return list(options.values())


def _gains(scored: Sequence[Sequence[_Option]]) -> dict[str, float]:
    """Form -> sum over the queries of what it gains over passing, nothing where a query has no candidate of it."""
    gains: defaultdict[str, float] = defaultdict(float)
    for raw, *others in scored:
        for form, same in groupby(sorted(others, key=lambda o: o.form), key=lambda o: o.form):
            gains[form] += fmean(option.reward - raw.reward for option in same)
    return gains


def _best(query_id: str, options: Sequence[_Option], margin: float, gains: Mapping[str, float]) -> Example:
    raw, *others = options
    top = max((option.reward for option in others), default=raw.reward)
    if top < raw.reward + margin:
        return Example(query_id, "pass", raw.completion, raw.reward, raw.reward)
    near = [option for option in others if option.reward >= top - margin]
    chosen = max(near, key=lambda option: gains[option.form])
    return Example(query_id, chosen.route, chosen.completion, chosen.reward, raw.reward)


def balanced(examples: Sequence[Example], size: int, seed: int) -> list[Example]:
    """At most ``size`` examples, as equal over the routes as there are, drawn at random within a route.

    Examples of the pass route that miss the first ten ranks teach giving up; they come last.
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


def arranged(queries: Sequence[Query], examples: Sequence[Example], batch_size: int) -> list[tuple[Query, str]]:
    """Queries with their completions; the examples of each optimizer step stand in order of length.

    A step is a random mixture, its forward passes hold texts of like length: little is padded.
    """
    query_of = {query.id: query for query in queries}
    pairs = [(query_of[example.query_id], example.completion) for example in examples]
    steps = [pairs[start : start + batch_size] for start in range(0, len(pairs), batch_size)]
    return [pair for step in steps for pair in sorted(step, key=_length)]


def _length(pair: tuple[Query, str]) -> int:
    query, completion = pair
    return len(completion) + len(query.text) + sum(map(len, query.history)) + sum(len(s.text) for s in query.feedback)


def train(
    queries: Sequence[Query],
    examples: Sequence[Example],
    settings: PolicySettings,
    output_dir: str | Path,
    *,
    model: str,
    lora_rank: int,
    learning_rate: float,
    epochs: float,
    batch_size: int,
    micro_batch_size: int,
    save_steps: int,
    seed: int,
    report_to: str = "none",
    callbacks: Sequence[Any] = (),
) -> Path:
    """SFT on the examples through TRL; resumes from the last checkpoint in ``output_dir``.

    Returns:
        The folder of the model.
    """
    import torch
    from trl import SFTConfig

    from acqo_rl.training.sft import CompletionTrainer

    prepare_tracking(report_to, output_dir)
    trainable, tokenizer = load_trainable(model, lora_rank, seed)
    prompt = prompt_of(settings, TransformersModel(trainable, tokenizer).count_tokens)
    on_gpu = torch.cuda.is_available()
    arguments = SFTConfig(
        output_dir=str(output_dir),
        learning_rate=learning_rate,
        num_train_epochs=epochs,
        per_device_train_batch_size=micro_batch_size,
        gradient_accumulation_steps=batch_size // micro_batch_size,
        lr_scheduler_type="cosine",
        warmup_steps=0.05,
        weight_decay=0.0,
        max_grad_norm=1.0,
        logging_steps=5,
        save_steps=save_steps,
        save_total_limit=2,
        completion_only_loss=True,
        train_sampling_strategy="sequential",
        max_length=None,
        gradient_checkpointing=False,
        bf16=on_gpu,
        dataloader_pin_memory=on_gpu,
        use_cpu=not on_gpu,
        report_to=report_to,
        seed=seed,
    )
    trainer = CompletionTrainer(
        model=trainable,
        args=arguments,
        processing_class=tokenizer,
        train_dataset=sft_dataset(arranged(queries, examples, batch_size), prompt),
        callbacks=list(callbacks),
    )
    trainer.train(resume_from_checkpoint=last_checkpoint(output_dir))
    if trainer.accelerator.is_main_process:
        write_json(Path(output_dir, "log.json"), trainer.state.log_history)
        save_policy(trainer.model, tokenizer, settings, output_dir)
    trainer.accelerator.wait_for_everyone()
    return Path(output_dir, "model")


def write_examples(examples: Sequence[Example], file: Path) -> None:
    """One JSON object a line, in one step."""
    write_atomic(file, (json.dumps(asdict(example), ensure_ascii=False) for example in examples))

"""Warm start: supervised examples that the reward has verified, then SFT through TRL.

No label of a rewrite is read. Candidates come from rules, from spans of query and conversation, from teachers and
from the policy's own rollouts; each is scored by the reward, and the best is a target where it beats the raw query.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import GrammarError
from acqo_rl.language_models.chat import missing_end
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.measures import gold_of
from acqo_rl.reformulation.grammar import TAGS
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.policy import PolicySettings, prompt_of
from acqo_rl.rewards import Reward, rank_map
from acqo_rl.text import text_of
from acqo_rl.training.candidates import Candidate, tells_apart
from acqo_rl.training.data import sft_dataset
from acqo_rl.training.model import load_trainable, save_policy
from acqo_rl.training.run_folder import last_checkpoint, prepare_tracking, write_json
from acqo_rl.types import Qrels, Query, Reformulation, Route, SubQuery

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


@dataclass(frozen=True)
class Option:
    """A completion that a query may be answered with.

    Attributes:
        form: how it was made; see :class:`~acqo_rl.training.candidates.Candidate`.
        route: of the completion.
        completion: in the grammar.
        reward: of the completion.
    """

    form: str
    route: Route
    completion: str
    reward: float


@dataclass(frozen=True)
class Scored:
    """The options of one query; the first passes it through."""

    query_id: str
    options: tuple[Option, ...]


def scored_options(
    queries: Sequence[Query], qrels: Qrels, candidates: Mapping[str, Sequence[Candidate]], reward: Reward
) -> Iterator[list[Scored]]:
    """The rewards of all candidates, batch by batch, in the order of the queries.

    Args:
        queries: with what the policy will read.
        qrels: their gold documents.
        candidates: query id -> what else might be searched.
        reward: that decides.
    """
    steps = range(0, len(queries), _BATCH)
    for start in tqdm(steps, desc="score candidates", unit="batch", disable=len(steps) < 4):
        batch = queries[start : start + _BATCH]
        rows = [(q, *option) for q in batch for option in _completions(q, candidates.get(q.id, ()), reward)]
        values = reward(
            prompts=rows,
            completions=[completion for *_, completion in rows],
            query=[q.text for q, *_ in rows],
            gold=[gold_of(qrels, q.id) for q, *_ in rows],
            read=[text_of(q) for q, *_ in rows],
        )
        scored: dict[str, list[Option]] = {q.id: [] for q in batch}
        for (query, form, route, completion), value in zip(rows, values, strict=True):
            scored[query.id].append(Option(form, route, completion, value))
        yield [Scored(query_id, tuple(options)) for query_id, options in scored.items()]


def _completions(query: Query, found: Sequence[Candidate], reward: Reward) -> list[tuple[str, Route, str]]:
    """Form, route and text of what is scored, the pass route first.

    Each candidate is scored alone and with the raw query's own list beside it. After a first search the raw list is
    there at no cost, and leaving it out is a bet on one name: then it is kept, unless its list is likely noise, for the
    question leans on earlier turns or its parts say all that it says.
    """
    options: dict[str, tuple[str, Route]] = {reward.grammar.render("pass", (), query): ("pass", "pass")}
    original = SubQuery(query.text, "original")
    for route, sub_queries, form in found:
        kept = query.feedback and not query.history and not tells_apart(query, sub_queries)
        beside = (f"{form} | raw query", (*sub_queries, original))
        for name, variant in (beside,) if kept else ((form, sub_queries), beside):
            try:
                options.setdefault(reward.grammar.render(route, variant, query), (name, route))
            except GrammarError:
                continue
    return [(form, route, completion) for completion, (form, route) in options.items()]


def verified_examples(scored: Sequence[Scored], margin: float = 0.05, tolerance: float = 0.05) -> list[Example]:
    """Chooses the target of each query: the pass route if no candidate is better than it by ``margin``.

    Which of several good candidates is best for a query is partly luck, and few forms are easier to learn than many.
    So of the candidates within ``tolerance`` of the best and no worse than passing, the target is the one whose form
    comes first in :func:`forms_by_cover`.

    Args:
        scored: the options of the queries.
        margin: reward by which a candidate must beat the raw query.
        tolerance: reward below the best candidate.
    """
    good = [_good(one, margin, tolerance) for one in scored]
    order = forms_by_cover([{option.form for option in some} for some in good])
    rank = {form: place for place, form in enumerate(order)}
    return [_example(one, some, rank) for one, some in zip(scored, good, strict=True)]


def forms_by_cover(forms: Sequence[Set[str]]) -> list[str]:
    """Orders forms by a greedy set cover: each has most of the queries that the forms before it do not have.

    Args:
        forms: of each query, those of its good candidates; queries without any are skipped.

    Returns:
        As many forms as it takes for every query to have one.
    """
    left, order = [some for some in forms if some], []
    while left:
        counts = Counter(form for some in left for form in sorted(some))
        order.append(max(counts, key=counts.__getitem__))
        left = [some for some in left if order[-1] not in some]
    return order


def _good(scored: Scored, margin: float, tolerance: float) -> list[Option]:
    """The candidates that may be the target, in their order; none if passing is."""
    raw, *others = scored.options
    top = max((option.reward for option in others), default=-np.inf)
    if top < raw.reward + margin:
        return []
    least = max(top - tolerance, raw.reward)
    return [option for option in others if option.reward >= least]


def _example(scored: Scored, good: Sequence[Option], rank: Mapping[str, int]) -> Example:
    raw = scored.options[0]
    target = min(good, key=lambda option: rank.get(option.form, len(rank)), default=raw)
    return Example(scored.query_id, target.route, target.completion, target.reward, raw.reward)


def own_examples(answers: Sequence[Reformulation], qrels: Qrels, reward: Reward) -> list[Example]:
    """What a policy answers as targets, better than the raw query or not: learned again, they are not forgotten.

    Args:
        answers: of the policy; one that it could not write in the grammar is left out.
        qrels: gold documents of their queries.
        reward: tells what they are worth.
    """
    written = [answer for answer in answers if answer.problem is None]
    texts, gold = [a.query.text for a in written], [gold_of(qrels, a.query.id) for a in written]
    completions = [
        reward.grammar.render(a.route, (s for s in a.sub_queries if s.lead is None), a.query) for a in written
    ]
    values = reward(
        prompts=texts, completions=completions, query=texts, gold=gold, read=[text_of(a.query) for a in written]
    )
    raw = reward(prompts=texts, completions=[TAGS["pass"]] * len(written), query=texts, gold=gold)
    return [
        Example(answer.query.id, answer.route, completion, value, raw_value)
        for answer, completion, value, raw_value in zip(written, completions, values, raw, strict=True)
    ]


def kinds_of(queries: Sequence[Query], metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The kind of each query: ``kind`` of its metadata, else the route that the rules take with it.

    Args:
        queries: of any kind.
        metadata: query id -> what the BEIR folder says of it.
    """
    routes = {answer.query.id: answer.route for answer in Heuristic().reformulate(queries)}
    return {query.id: str(metadata.get(query.id, {}).get("kind", routes[query.id])) for query in queries}


def decided_by_kind(examples: Sequence[Example], kinds: Mapping[str, str], least_share: float) -> list[Example]:
    """Decides kinds of queries as a whole: passed where a search is the target less often than ``least_share``.

    Among many candidates one wins by luck for some query of any kind, and nothing in the query foretells for which.
    Where a search seldom wins all queries of the kind are passed; of the other kinds only the searches are kept, for
    a pass is luck there. 0 leaves every query to itself.

    Args:
        examples: one a query.
        kinds: query id -> kind.
        least_share: of the queries of a kind.
    """
    if not least_share:
        return list(examples)
    by_kind: dict[str, list[bool]] = {}
    for example in examples:
        by_kind.setdefault(kinds[example.query_id], []).append(example.route != "pass")
    seldom = {kind for kind, searches in by_kind.items() if sum(searches) < least_share * len(searches)}
    return [
        Example(e.query_id, "pass", TAGS["pass"], e.raw_reward, e.raw_reward) if kinds[e.query_id] in seldom else e
        for e in examples
        if e.route != "pass" or kinds[e.query_id] in seldom
    ]


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
    read = [query.text, *map(str, query.history), *(snippet.text for snippet in query.feedback)]
    return len(completion) + sum(map(len, read))


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
        train_dataset=sft_dataset(arranged(queries, examples, batch_size), prompt, missing_end(tokenizer)),
        callbacks=list(callbacks),
    )
    trainer.train(resume_from_checkpoint=last_checkpoint(output_dir))
    weights = trainer.accelerator.get_state_dict(trainer.model)  # from every process's shard
    if trainer.accelerator.is_main_process:
        write_json(Path(output_dir, "log.json"), trainer.state.log_history)
        save_policy(trainer.accelerator.unwrap_model(trainer.model), tokenizer, settings, output_dir, weights)
    trainer.accelerator.wait_for_everyone()
    return Path(output_dir, "model")


def read_scored(file: Path) -> list[Scored]:
    """What :func:`write_scored` wrote."""
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [Scored(row["query_id"], tuple(Option(**option) for option in row["options"])) for row in rows]


def write_scored(scored: Sequence[Scored], file: Path) -> None:
    """One JSON object a query and line, in one step."""
    write_atomic(file, (json.dumps(asdict(one), ensure_ascii=False) for one in scored))


def read_examples(file: Path) -> list[Example]:
    """What :func:`write_examples` wrote."""
    return [Example(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def write_examples(examples: Sequence[Example], file: Path) -> None:
    """One JSON object a line, in one step."""
    write_atomic(file, (json.dumps(asdict(example), ensure_ascii=False) for example in examples))

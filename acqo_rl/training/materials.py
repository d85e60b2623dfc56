"""Loads the inputs of a training stage: queries, judgements, index, fusion and reward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean as mean
from typing import TYPE_CHECKING, Literal

import numpy as np

from acqo_rl.data.beir import read_beir
from acqo_rl.data.draw import draw
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.run import evaluate
from acqo_rl.measures import measurable
from acqo_rl.reformulation.heuristic import kinds_of
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.roles import Reformulator
from acqo_rl.searching.assemble import open_path
from acqo_rl.searching.description import NAMED, PathSpec
from acqo_rl.searching.path import SearchPath
from acqo_rl.training.curriculum import rewards_of
from acqo_rl.training.rewards import STEPS, Reward
from acqo_rl.training.settings import PathSettings, RewardSettings
from acqo_rl.types import Corpus, FeedbackSpec, Qrels, Query

if TYPE_CHECKING:
    from accelerate import PartialState


@dataclass(frozen=True)
class Materials:
    """The inputs of one training stage.

    Attributes:
        train: training queries. Each has a gold document, and feedback if the policy reads feedback.
        dev: dev queries, likewise.
        qrels: judgements of both splits.
        kinds: id of a training query -> kind.
        corpus: document id -> document.
        path: the search path of the raw query: index, fusion, and the steps of the reward after them.
    """

    train: list[Query]
    dev: list[Query]
    qrels: Qrels
    kinds: dict[str, str]
    corpus: Corpus
    path: SearchPath

    def reward(self, stage: Literal["explore", "converge"], settings: RewardSettings, policy: PolicySettings) -> Reward:
        """Creates the reward of a stage for a policy with these settings; Stage I has no steps."""
        steps = {name: getattr(self.path, name) for name in STEPS} if stage == "converge" else {}
        return Reward(
            stage,
            self.path.retrievers,
            self.path.fusion,
            grammar=policy.grammar,
            raw_query_margin=policy.raw_query_margin,
            **asdict(settings),
            **steps,
        )

    def dev_measures(
        self, policy: Reformulator, sampling: Reformulator, *, limit: int, measure: str, reward: Reward
    ) -> tuple[dict[str, float], list[float]]:
        """Evaluates a policy on a fixed sample of at most ``limit`` dev queries.

        Args:
            policy: decodes greedily.
            sampling: the same policy, which samples as in training.
            limit: maximum number of queries.
            measure: a measure of ir_measures.
            reward: the reward of the training stage.

        Returns:
            The measure, the mean number of searches per query, the share of queries that are passed, and the mean
            reward of greedy and of sampled completions, each with its standard error; and the reward of each greedy
            completion.
        """
        sample = draw(self.dev, limit, seed=0)
        # The queries already have their feedback.
        path = replace(self.path, reformulator=policy, feedback=FeedbackSpec(0))
        results = evaluate(path, sample, self.qrels, name=policy.name, measures=[measure]).results
        found = {
            measure: mean(result.measures[measure] for result in results),
            "searches": mean(result.searches for result in results),
            "pass": mean(result.reformulation.route == "pass" for result in results),
        }
        greedy = rewards_of([result.reformulation for result in results], self.qrels, reward)
        sampled = rewards_of(sampling.reformulate(sample), self.qrels, reward)
        for name, values in (("greedy", greedy), ("sampled", sampled)):
            found |= {
                f"{name}_reward": mean(values),
                f"{name}_reward_error": float(np.std(values) / math.sqrt(len(values))),
            }
        return found, greedy


def start_run(config: PathSettings, feedback: FeedbackSpec) -> tuple[PartialState, Materials | None]:
    """Opens the folder of a run in all its processes, then its inputs.

    Args:
        config: the settings of the command.
        feedback: see :func:`open_materials`.

    Returns:
        The state of the processes, and the inputs; ``None`` if the run is finished, which is printed.

    Raises:
        ConfigError: see :func:`acqo_rl.training.run_folder.open_run` and :func:`open_materials`.
    """
    from accelerate import PartialState

    from acqo_rl.language_models.local import default_device
    from acqo_rl.training import run_folder

    state = PartialState(cpu=default_device() == "cpu")  # chooses the GPU of this process
    with state.main_process_first():
        splits = (config.split, config.dev_split)
        inputs = run_folder.inputs_of(config.data, splits, [config.index], [config.model])
        is_finished = run_folder.open_run(config.output_dir, asdict(config), inputs)
    if is_finished:
        state.print(f"{config.output_dir} is finished: {Path(config.output_dir, 'model')}")
        return state, None
    return state, open_materials(config, feedback)


def with_gold(queries: Sequence[Query], qrels: Qrels, limit: int, seed: int) -> list[Query]:
    """At most ``limit`` of the queries with a relevant document, drawn at random, in their order; 0 means all.

    Raises:
        DataError: no query has a relevant document.
    """
    kept = measurable(queries, qrels)
    return draw(kept, limit or len(kept), seed)


def open_materials(paths: PathSettings, feedback: FeedbackSpec) -> Materials:
    """Reads the data and opens the index.

    Raises:
        DataError: the data cannot be read, or no query of a split has a gold document.
        IndexMismatchError: the index was built from another corpus.
        ConfigError: a query is in both splits.
    """
    data = read_beir(paths.data, paths.split, paths.dev_split)
    corpus = data.corpus
    judged = data.qrels[paths.split]
    held_out = data.qrels[paths.dev_split]
    retriever = paths.open_index_of(paths.index, corpus)
    if paths.split != paths.dev_split and (both := judged.keys() & held_out.keys()):
        raise ConfigError(
            f"{len(both)} queries of {paths.data} are both in {paths.split} and in {paths.dev_split}, such as "
            f"{min(both)!r}. Dev queries must not be used for training; remove them from one of the two splits."
        )
    train = with_gold(data.queries[paths.split], judged, paths.limit, paths.seed)
    dev = with_gold(data.queries[paths.dev_split], held_out, 0, paths.seed)
    steps = {name: getattr(NAMED["auto"], name) for name in paths.reward_steps}
    path = open_path(PathSpec(model=paths.model, fusion=paths.fusion, **steps), corpus, retriever)
    first_search = replace(path, feedback=feedback)
    return Materials(
        train=first_search.with_feedback(train),
        dev=first_search.with_feedback(dev),
        qrels=judged | held_out,
        kinds=kinds_of(train, data.metadata),
        corpus=corpus,
        path=path,
    )

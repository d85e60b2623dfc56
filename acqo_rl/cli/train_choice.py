r"""Train the network that chooses the first searches after reading results (the reformulator auto).

    acqo train-choice --data BEIR_DIR --index INDEX_DIR --model trained:four_sets --output_dir outputs/choice
    acqo train-choice --data D1 D1 D2 --index D1_DENSE D1_BM25 D2_DENSE --limit 700 400 400 \
        --model trained:four_sets --output_dir outputs/choice
    acqo search --data BEIR_DIR --index INDEX_DIR --reformulator auto --model trained:four_sets \
        --choice outputs/choice/model --query "..."

Each training query is searched as it is, with its last turns, as the rules rewrite it, and as the policy does. The
networks learn from the results which of these rankings to use, and when to ask the policy: first by imitating the best
option, then by maximising the expected reward minus the costs. Several data sets, also one with several indexes, make
one mixture. Questions without a conversation are also asked after the conversation of another query
(--topic_changes), so that the networks learn to ignore it.

The output folder contains options/ (the searched options; the same command resumes an interrupted run), curve.json,
report.md (what the reward adds to imitation, by seed, on the dev queries) and model/.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from acqo_rl.cli.fields import setting
from acqo_rl.cli.scorer_runs import ScorerConfig, TrainingSet, run
from acqo_rl.errors import FINITE, ConfigError, check_ranges
from acqo_rl.searching.choice import KIND

if TYPE_CHECKING:
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.scorer import Scorer
    from acqo_rl.training.hop import Options
    from acqo_rl.types import Query, Turn

_BATCH = 32


@dataclass
class TrainChoiceConfig(ScorerConfig):
    """Settings of the training."""

    cost: float = setting("Subtracted from the reward for each search after the first.", 0.01)
    price: float = setting("Subtracted from the reward for asking the policy.", 0.04)
    topic_changes: float = setting(
        "Share of the questions without a conversation that are also asked after the conversation of another query.",
        0.5,
    )

    def __post_init__(self) -> None:
        """Checks the settings; see :class:`acqo_rl.cli.scorer_runs.ScorerConfig`."""
        super().__post_init__()
        check_ranges(self, {"price": (0.0, FINITE), "topic_changes": (0.0, 1.0)})
        if not self.model:
            raise ConfigError("No policy is given; give --model, such as trained:four_sets.")


def main(config: TrainChoiceConfig) -> None:
    """Collects the options that are missing, trains the networks, and writes the report."""
    from acqo_rl.reformulation.load import AUTO, load_reformulator, with_engine_prefix
    from acqo_rl.searching.choice import Choice
    from acqo_rl.searching.concurrent import ConcurrentSearch
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.sub_queries import DEPTH
    from acqo_rl.training.choice import collect, with_asking

    policy = load_reformulator(AUTO, with_engine_prefix(AUTO, str(config.model), "auto"))
    settings = config.training(KIND, 0.0)

    def path_of(one: TrainingSet, scorer: Scorer | None) -> SearchPath:
        choice = Choice(scorer, one.data.corpus, one.words) if scorer else None
        return SearchPath(policy, one.retriever, one.fusion, one.data.corpus, choice=choice)

    def options_of(
        one: TrainingSet, queries: Sequence[Query], reader: Choice, path: SearchPath, part: slice
    ) -> list[Options]:
        """The options of both decisions of some queries, alternating."""
        found: list[Options] = []
        some = queries[part]
        for start in range(0, len(some), _BATCH):
            answers = [result.reformulation for result in path.search(some[start : start + _BATCH])]
            search = ConcurrentSearch(one.retriever, DEPTH).search
            for both in collect(answers, one.qrels, reader, search, one.fusion, one.reward, config.cost):
                found += both
        return found

    def collect_all(sets: list[TrainingSet]) -> list[Options]:
        histories = [q.history for one in sets for q in one.training_queries() if q.history]
        decisions: list[list[Options]] = [[], []]
        for one in sets:
            queries = _with_topic_changes(one.training_queries(), histories, config.topic_changes, config.seed)
            reader, path = Choice(None, one.data.corpus, one.words), path_of(one, None)
            options = one.kept("choice", len(queries), partial(options_of, one, queries, reader, path))
            decisions[0] += options[::2]
            decisions[1] += options[1::2]
        first, second = decisions
        return [*with_asking(first, second, settings, config.price), *second]

    run(config, settings, collect_all, "policy", path_of)


def _with_topic_changes(
    queries: Sequence[Query], histories: Sequence[tuple[Turn, ...]], share: float, seed: int
) -> list[Query]:
    """The queries, and a share of those without a history after the history of another query."""
    drawn = random.Random(seed)
    alone = [query for query in queries if not query.history]
    changed = drawn.sample(alone, round(share * len(alone))) if histories else []
    return [*queries, *(replace(query, history=drawn.choice(histories)) for query in changed)]

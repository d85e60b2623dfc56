r"""Train a small network on the reward of the fused ranking: one that chooses searches after reading results.

    acqo train-scorer --task hop --data BEIR_DIR --index INDEX_DIR --output_dir outputs/hop
    acqo train-scorer --task hop --data MULTI_HOP FACTOID --index INDEX_1 INDEX_2 --limit 0 500 --output_dir outputs/hop
    acqo search --data BEIR_DIR --index INDEX_DIR --reformulator raw --hops 2 --hop outputs/hop/model --query "..."
    acqo train-scorer --task choice --data D1 D1 D2 --index D1_DENSE D1_BM25 D2_DENSE --limit 700 400 400 --cost 0.01 \
        --model trained:four_sets --output_dir outputs/choice
    acqo search --data BEIR_DIR --index INDEX_DIR --reformulator auto --model trained:four_sets \
        --choice outputs/choice/model --query "..."

The options of each training query are searched first. The networks then imitate the best option, and after that
maximise the expected reward minus the costs. Several data sets, also one with several indexes, make one mixture.

hop: the options are to stop, or to search one of the names in the results. With several hops, the results of the best
options are read in turn, and an option is worth the return of the hops after it. Data sets of simple questions teach
when to stop.

choice: for the reformulator auto. Each query is searched as it is, with its last turns, as the rules rewrite it, and as
the policy does. The networks learn which of these rankings to use, and when to ask the policy. Questions without a
conversation are also asked after the conversation of another query (--topic_changes), so that the networks learn to
ignore it.

The output folder contains options/ (the searched options; the same command resumes an interrupted run), curve.json,
report.md (what the reward adds to imitation, by seed, on the dev queries) and model/.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le

from acqo_rl.addresses import Address
from acqo_rl.cli.fields import setting
from acqo_rl.cli.scorer_runs import TrainingSet, run
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.searching.choice import KIND as CHOICE
from acqo_rl.searching.hop import KIND as HOP
from acqo_rl.searching.hop import MOST_HOPS
from acqo_rl.types import Amount, Count, Positive, Share

if TYPE_CHECKING:
    from acqo_rl.searching.choice import Choice
    from acqo_rl.searching.hop_candidates import CandidateReader
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.scorer import Scorer
    from acqo_rl.training.hop import Options
    from acqo_rl.types import Query, Reformulation, Turn

_BATCH = 32


@dataclass
class TrainScorerConfig(IndexSettings):
    """Settings of the training."""

    task: Literal["hop", "choice"] = setting("What is trained; see above.")
    data: list[str] = setting("BEIR folders, one or several.")
    index: list[Address] = setting(f"One index for each BEIR folder. {INDEX_HELP}")
    output_dir: str = setting("Folder of the run; the same command resumes an interrupted run.")
    split: str = setting("Training queries: qrels/SPLIT.tsv.", "train")
    dev_split: str = setting("Dev queries for the report: qrels/SPLIT.tsv.", "dev")
    limit: list[int] = setting(
        "Maximum number of training queries of each folder; 0 means all. One number is for all folders.", [0]
    )
    model: Address | None = setting("Policy, such as trained:four_sets; hop: only if the reformulator asks one.", None)
    cost: Amount = setting("Subtracted from the reward for each further search.", 0.02)
    price: Amount = setting("choice: subtracted from the reward for asking the policy.", 0.04)
    topic_changes: Share = setting(
        "choice: share of the questions without a conversation that are also asked after the conversation of another "
        "query.",
        0.5,
    )
    reformulator: str = setting("hop: searches before the first hop: raw, auto, ...", "raw")
    hops: Annotated[int, Ge(1), Le(MOST_HOPS)] = setting(f"hop: number of hops to train, 1 to {MOST_HOPS}.", 2)
    margin: Amount = setting("hop: score by which a name must exceed the option to stop.", 2.0)
    steps: Positive = setting(
        "Training steps. The first seventh imitates the best option, the rest maximises the reward.", 3500
    )
    seeds: Positive = setting("Number of networks; the mean of their scores is used.", 4)
    seed: Count = setting("Seed of the first network, and for drawing queries.", 0)

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: the numbers of folders, indexes and limits differ, or there is no
                policy.
        """
        if self.task == "choice" and not self.model:
            raise ConfigError("No policy is given; give --model, such as trained:four_sets.")
        if len(self.limit) == 1:
            self.limit = self.limit * len(self.data)
        if not len(self.data) == len(self.index) == len(self.limit):
            raise ConfigError(
                f"data, index and limit have {len(self.data)}, {len(self.index)} and {len(self.limit)} values; give "
                "one index for each folder."
            )


def main(config: TrainScorerConfig) -> None:
    """Collects the options that are missing, trains the networks, and writes the report."""
    train = train_hop if config.task == "hop" else train_choice
    train(config)


def train_hop(config: TrainScorerConfig) -> None:
    """Trains the network that chooses the searches of hops."""
    from acqo_rl.reformulation.load import load_reformulator, with_engine_prefix
    from acqo_rl.searching.hop import Hops, LearnedHop
    from acqo_rl.searching.hop_candidates import CandidateReader
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.settings import StepSettings
    from acqo_rl.training.hop import Training, collect, expand, train, with_returns

    name, model = config.reformulator, config.model or ""
    reformulator = load_reformulator(name, with_engine_prefix(name, model, "auto"))
    given = {name: getattr(config, name) for name in ("steps", "seeds", "seed")}
    settings = Training(HOP, cost=2 * config.cost, margin=config.margin, **given)

    def path_of(one: TrainingSet, scorer: Scorer | None) -> SearchPath:
        hops = Hops(LearnedHop(scorer, one.data.corpus, one.words), config.hops) if scorer else None
        before = StepSettings(hops=0).open_steps(name, one.data.corpus, lambda: one.words, asks=bool(model))
        return SearchPath(reformulator, one.retriever, one.fusion, one.data.corpus, hops=hops, choice=before.choice)

    def options_of(
        one: TrainingSet, reader: CandidateReader, states: Sequence[Reformulation], part: slice
    ) -> list[Options]:
        batches = collect(states[part], one.qrels, reader, one.retriever, one.fusion, one.reward)
        return [option for batch in batches for option in batch]

    def collect_all(sets: list[TrainingSet]) -> list[Options]:
        readers = [CandidateReader(one.data.corpus, one.words) for one in sets]
        first = [path_of(one, None).search(one.training_queries()) for one in sets]
        states = [[result.reformulation for result in results] for results in first]
        by_hop: list[list[Options]] = []
        for hop in range(1, config.hops + 1):
            found = [
                one.kept(f"hop {hop}", len(some), partial(options_of, one, reader, some))
                for one, reader, some in zip(sets, readers, states, strict=True)
            ]
            by_hop.append([option for options in found for option in options])
            scorer, _ = train([option for some in by_hop for option in some], settings)
            if hop < config.hops:
                states = [expand(some, options, scorer) for some, options in zip(states, found, strict=True)]
        for hop in reversed(range(config.hops - 1)):
            by_hop[hop] = with_returns(by_hop[hop], by_hop[hop + 1], scorer, settings.cost)
        return [option for some in by_hop for option in some]

    run(config, settings, collect_all, "no hop", path_of)


def train_choice(config: TrainScorerConfig) -> None:
    """Trains the networks that choose the first searches."""
    from acqo_rl.reformulation.load import AUTO, load_reformulator, with_engine_prefix
    from acqo_rl.searching.choice import Choice
    from acqo_rl.searching.concurrent import ConcurrentSearch
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.sub_queries import DEPTH
    from acqo_rl.training.choice import collect, with_asking
    from acqo_rl.training.hop import Training

    policy = load_reformulator(AUTO, with_engine_prefix(AUTO, str(config.model), "auto"))
    given = {name: getattr(config, name) for name in ("steps", "seeds", "seed")}
    settings = Training(CHOICE, cost=0.0, margin=0.0, **given)

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

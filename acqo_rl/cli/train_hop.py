r"""Train the network that chooses the searches of hops, on the reward of the fused ranking.

    acqo train-hop --data BEIR_DIR --index INDEX_DIR --output_dir outputs/hop
    acqo train-hop --data MULTI_HOP FACTOID --index INDEX_1 INDEX_2 --limit 0 500 --output_dir outputs/hop
    acqo search --data BEIR_DIR --index INDEX_DIR --reformulator raw --hops 2 --hop outputs/hop/model --query "..."

All options of each training query are searched: stop, or one of the names in its results. The networks first imitate
the best option and then maximise the expected reward minus a cost. With several hops, the results of the best options
are read in turn, and an option is worth the return of the hops after it. Several data sets make one mixture; they
teach when to stop.

The output folder contains options/ (the searched options; the same command resumes an interrupted run), curve.json,
report.md (what the reward adds to imitation, by seed, on the dev queries) and model/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from acqo_rl.cli.fields import setting
from acqo_rl.cli.scorer_runs import ScorerConfig, TrainingSet, run
from acqo_rl.errors import check_ranges
from acqo_rl.searching.hop import KIND, MOST_HOPS

if TYPE_CHECKING:
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.scorer import Scorer
    from acqo_rl.training.hop import Options
    from acqo_rl.types import Reformulation


@dataclass
class TrainHopConfig(ScorerConfig):
    """Settings of the training."""

    reformulator: str = setting("Searches before the first hop: raw, turns, rules, ...", "raw")
    hops: int = setting(f"Number of hops to train, 1 to {MOST_HOPS}.", 2)
    margin: float = setting("Score by which a name must exceed the option to stop.", 2.0)

    def __post_init__(self) -> None:
        """Checks the settings; see :class:`acqo_rl.cli.scorer_runs.ScorerConfig`."""
        super().__post_init__()
        check_ranges(self, {"hops": (1.0, MOST_HOPS)})


def main(config: TrainHopConfig) -> None:
    """Collects the options that are missing, trains the networks, and writes the report."""
    from acqo_rl.reformulation.load import load_reformulator
    from acqo_rl.searching.hop import Hops, LearnedHop
    from acqo_rl.searching.hop_candidates import CandidateReader
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.training.hop import collect, expand, train, with_returns

    reformulator = load_reformulator(config.reformulator, config.model or "")
    settings = config.training(KIND, 2 * config.cost)

    def path_of(one: TrainingSet, scorer: Scorer | None) -> SearchPath:
        hops = Hops(LearnedHop(scorer, one.data.corpus, one.words), config.hops) if scorer else None
        return SearchPath(reformulator, one.retriever, one.fusion, one.data.corpus, hops=hops)

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

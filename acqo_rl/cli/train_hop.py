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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.cli.fields import setting
from acqo_rl.errors import ABOVE_0, FINITE, ConfigError, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.searching.hop import MOST_HOPS
from acqo_rl.types import FusionName

if TYPE_CHECKING:
    from acqo_rl.evaluation.run import Evaluation
    from acqo_rl.searching.hop import HopScorer
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.training.hop import Options
    from acqo_rl.types import Reformulation

_CHUNK = 128
_DEV = 300
"""Maximum number of dev queries of each folder in the report."""
MEASURES = ("AP@10", "AllGold@10", "nDCG@10")


@dataclass
class TrainHopConfig(IndexSettings):
    """Settings of the training."""

    data: list[str] = setting("BEIR folders, one or several.")
    index: list[Address] = setting(f"One index for each BEIR folder. {INDEX_HELP}")
    output_dir: str = setting("Folder of the run; the same command resumes an interrupted run.")
    split: str = setting("Training queries: qrels/SPLIT.tsv.", "train")
    dev_split: str = setting("Dev queries for the report: qrels/SPLIT.tsv.", "dev")
    limit: list[int] = setting(
        "Maximum number of training queries of each folder; 0 means all. One number is for all folders.", [0]
    )
    reformulator: str = setting("Searches before the first hop: raw, turns, rules, ...", "raw")
    model: Address | None = setting("Policy of the reformulator.", None)
    hops: int = setting(f"Number of hops to train, 1 to {MOST_HOPS}.", 2)
    cost: float = setting("Subtracted from the reward for each search of a hop.", 0.02)
    margin: float = setting("Score by which a name must exceed the option to stop.", 2.0)
    steps: int = setting(
        "Training steps. The first seventh imitates the best option, the rest maximises the reward.", 3500
    )
    learning_rate: float = setting("Learning rate of the first step; it falls to 0.", 2e-3)
    batch_size: int = setting("Queries per step.", 64)
    seeds: int = setting("Number of networks; the mean of their scores is used.", 4)
    fusion: FusionName = setting("Fusion of the rankings.", "rsf")
    seed: int = setting("Seed of the first network, and for drawing queries.", 0)

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: a setting is out of range, or the numbers of folders, indexes and limits differ.
        """
        positive = dict.fromkeys(("steps", "batch_size", "seeds"), (1.0, FINITE))
        others = {
            "hops": (1.0, MOST_HOPS),
            "cost": (0.0, FINITE),
            "margin": (0.0, FINITE),
            "learning_rate": (ABOVE_0, FINITE),
            "seed": (0.0, FINITE),
        }
        check_ranges(self, {**positive, **others})
        if len(self.limit) == 1:
            self.limit = self.limit * len(self.data)
        if not len(self.data) == len(self.index) == len(self.limit):
            raise ConfigError(
                f"data, index and limit have {len(self.data)}, {len(self.index)} and {len(self.limit)} values; give "
                "one index for each folder."
            )


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(TrainHopConfig, description=__doc__)


def main(config: TrainHopConfig) -> None:
    """Collects the options that are missing, trains the networks, and writes the report."""
    from acqo_rl.files import write_atomic
    from acqo_rl.training.hop import Training, expand, train, with_returns
    from acqo_rl.training.run_folder import open_run, publish_model, write_json

    folder = Path(config.output_dir)
    if open_run(folder, asdict(config)) == "finished":
        print(f"{folder} is finished: {folder / 'model'}")
        return
    settings = Training(
        steps=config.steps,
        cost=2 * config.cost,
        margin=config.margin,
        learning_rate=config.learning_rate,
        batch_size=config.batch_size,
        seeds=config.seeds,
        seed=config.seed,
    )
    sets = [_Set(config, number) for number in range(len(config.data))]
    states = [one.first_states() for one in sets]
    by_hop: list[list[Options]] = []
    for hop in range(1, config.hops + 1):
        found = [one.collect(hop, some) for one, some in zip(sets, states, strict=True)]
        by_hop.append([option for some in found for option in some])
        scorer, _ = train([option for some in by_hop for option in some], settings)
        if hop < config.hops:
            states = [expand(some, options, scorer) for some, options in zip(states, found, strict=True)]
    for hop in reversed(range(config.hops - 1)):
        by_hop[hop] = with_returns(by_hop[hop], by_hop[hop + 1], scorer, settings.cost)
    options = [option for some in by_hop for option in some]
    scorer, curve = train(options, settings)
    imitation, _ = train(options, replace(settings, imitation=1.0))
    write_json(folder / "curve.json", curve)
    rows = [row for one in sets for row in one.report(imitation, scorer)]
    write_atomic(folder / "report.md", rows)
    scorer.save(folder / "half_done")
    publish_model(folder / "half_done", folder)
    print("\n".join(rows))


class _Set:
    """One BEIR folder with its index."""

    def __init__(self, config: TrainHopConfig, number: int) -> None:
        from acqo_rl.data.beir import read_beir
        from acqo_rl.fusion import fusion_named
        from acqo_rl.reformulation.load import load_reformulator
        from acqo_rl.searching.corpus_words import CorpusWords
        from acqo_rl.searching.hop_candidates import CandidateReader
        from acqo_rl.training.rewards import Reward

        self.config = config
        self.name = f"{number + 1} {Path(config.data[number]).name}, {Path(config.index[number]).name}"
        self.data = read_beir(config.data[number], config.split, config.dev_split)
        self.retriever = config.open_index_of(config.index[number], self.data.corpus)
        self.words = CorpusWords.of(self.data.corpus)
        self.reader = CandidateReader(self.data.corpus, self.words)
        self.fusion = fusion_named(config.fusion)
        self.reward = Reward("converge", self.retriever, self.fusion)
        self.reformulator = load_reformulator(config.reformulator, config.model or "")
        self.limit = config.limit[number]
        self.folder = Path(config.output_dir, "options", str(number + 1))

    def first_states(self) -> list[Reformulation]:
        """The searches of the training queries before the first hop."""
        from acqo_rl.data.draw import draw
        from acqo_rl.training.data import with_gold

        queries = with_gold(self.data.queries[self.config.split], self.data.qrels[self.config.split])
        drawn = draw(queries, self.limit or len(queries), self.config.seed)
        return [result.reformulation for result in self._path(None).search(drawn)]

    def collect(self, hop: int, states: Sequence[Reformulation]) -> list[Options]:
        """The options of the states; those that an earlier run has written are read."""
        from tqdm import tqdm

        from acqo_rl.training.hop import collect, read_options, write_options

        options = []
        self.folder.mkdir(parents=True, exist_ok=True)
        for start in tqdm(range(0, len(states), _CHUNK), desc=f"{self.name}: hop {hop}", unit="chunk"):
            file = self.folder / f"{hop}-{start:06}.npz"
            if not file.exists():
                some = states[start : start + _CHUNK]
                qrels = self.data.qrels[self.config.split]
                batches = collect(some, qrels, self.reader, self.retriever, self.fusion, self.reward)
                write_options([one for batch in batches for one in batch], file)
            options += read_options(file)
        return options

    def report(self, imitation: HopScorer, scorer: HopScorer) -> list[str]:
        """Lines of the report: the measures on the dev queries, and what the reward adds to the imitation."""
        from acqo_rl.evaluation.significance import paired_bootstrap

        systems = {"no hop": None, "imitation": imitation, "reward": scorer}
        found = {name: self._evaluate(one) for name, one in systems.items()}
        lines = [f"## {self.name}", "", f"| dev ({len(found['no hop'].results)}) | {' | '.join(MEASURES)} | searches |"]
        lines += ["|---" * (len(MEASURES) + 2) + "|"]
        for name, evaluation in found.items():
            values = [f"{evaluation.scores(measure).mean():.3f}" for measure in MEASURES]
            searches = sum(result.searches for result in evaluation.results) / len(evaluation.results)
            lines.append(f"| {name} | {' | '.join(values)} | {searches:.2f} |")
        lines.append("")
        alone = [
            [self._evaluate(one.network(i)).scores(MEASURES[0]) for i in range(self.config.seeds)]
            for one in (imitation, scorer)
        ]
        means = [", ".join(f"{scores.mean():.3f}" for scores in some) for some in alone]
        gain = paired_bootstrap(*(sum(some) / len(some) for some in alone))
        text = f"{MEASURES[0]} by seed: imitation {means[0]}; reward {means[1]}."
        return [*lines, f"{text} The reward adds {gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}].", ""]

    def _path(self, scorer: HopScorer | None) -> SearchPath:
        from acqo_rl.searching.hop import Hops, LearnedHop
        from acqo_rl.searching.path import SearchPath

        hops = Hops(LearnedHop(scorer, self.data.corpus, self.words), self.config.hops) if scorer else None
        return SearchPath(self.reformulator, self.retriever, self.fusion, self.data.corpus, hops=hops)

    def _evaluate(self, scorer: HopScorer | None) -> Evaluation:
        from acqo_rl.data.draw import draw
        from acqo_rl.evaluation.run import evaluate

        split = self.config.dev_split
        queries = draw(self.data.queries[split], _DEV, 0)
        return evaluate(self._path(scorer), queries, self.data.qrels[split], name="", measures=MEASURES, progress=False)

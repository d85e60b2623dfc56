"""What both trainings of ``acqo train-scorer`` share: a data set with its index, the options and the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from acqo_rl.fusion import RankScoreFusion

if TYPE_CHECKING:
    from acqo_rl.cli.train_scorer import TrainScorerConfig
    from acqo_rl.evaluation.run import Evaluation
    from acqo_rl.searching.path import SearchPath
    from acqo_rl.searching.scorer import Scorer
    from acqo_rl.training.hop import Options, Training
    from acqo_rl.types import Query

CHUNK = 128
"""Queries whose options are written together; an interruption loses one chunk."""
MEASURES = ("AP@10", "AllGold@10", "nDCG@10")
_DEV = 300
"""Maximum number of dev queries of each folder in the report."""


class TrainingSet:
    """One BEIR folder with its index."""

    def __init__(self, config: TrainScorerConfig, number: int) -> None:
        from acqo_rl.data.beir import read_beir
        from acqo_rl.searching.corpus_words import CorpusWords
        from acqo_rl.training.rewards import Reward

        self.config = config
        self.name = f"{number + 1} {Path(config.data[number]).name}, {Path(config.index[number]).name}"
        self.data = read_beir(config.data[number], config.split, config.dev_split)
        self.retriever = config.open_index_of(config.index[number], self.data.corpus)
        self.words = CorpusWords.of(self.data.corpus)
        self.fusion = RankScoreFusion()
        self.reward = Reward("converge", self.retriever, self.fusion)
        self.qrels = self.data.qrels[config.split]
        self._limit = config.limit[number]
        self._folder = Path(config.output_dir, "options", str(number + 1))

    def training_queries(self) -> list[Query]:
        """The drawn training queries that have a relevant document."""
        from acqo_rl.training.materials import with_gold

        return with_gold(self.data.queries[self.config.split], self.qrels, self._limit, self.config.seed)

    def kept(self, step: str, size: int, collect: Callable[[slice], Sequence[Options]]) -> list[Options]:
        """The options of a step; those that an earlier run has written are read.

        Args:
            step: names the files.
            size: number of queries or states.
            collect: searches the options of some of them.
        """
        from tqdm import tqdm

        from acqo_rl.training.hop import read_options, write_options

        options = []
        self._folder.mkdir(parents=True, exist_ok=True)
        for start in tqdm(range(0, size, CHUNK), desc=f"{self.name}: {step}", unit="chunk"):
            file = self._folder / f"{step}-{start:06}.npz"
            if not file.exists():
                write_options(collect(slice(start, start + CHUNK)), file)
            options += read_options(file)
        return options

    def evaluate(self, path: SearchPath) -> Evaluation:
        """The measures on the dev queries."""
        from acqo_rl.data.draw import draw
        from acqo_rl.evaluation.run import evaluate

        split = self.config.dev_split
        queries = draw(self.data.queries[split], _DEV, 0)
        return evaluate(path, queries, self.data.qrels[split], name="", measures=MEASURES, progress=False)

    def report(self, without: str, path: Callable[[Scorer | None], SearchPath], *scorers: Scorer) -> list[str]:
        """Lines of the report: the measures, and what the reward adds to imitation.

        Args:
            without: name of the system without a scorer.
            path: the search path with a scorer.
            scorers: trained by imitation only, and by the reward.
        """
        from acqo_rl.evaluation.significance import paired_bootstrap

        names = (without, "imitation", "reward")
        found = {name: self.evaluate(path(one)) for name, one in zip(names, (None, *scorers), strict=True)}
        columns = [*MEASURES, "sub-queries", "model calls"]
        lines = [f"## {self.name}", "", f"| dev ({len(found[without].results)}) | {' | '.join(columns)} |"]
        lines += ["|---" * (len(columns) + 1) + "|"]
        for name, evaluation in found.items():
            values = [f"{evaluation.scores(measure).mean():.3f}" for measure in MEASURES]
            for counts in ("sub_queries", "calls"):
                made = [result.reformulation for result in evaluation.results]
                numbers = [len(one.sub_queries) if counts == "sub_queries" else one.calls for one in made]
                values.append(f"{sum(numbers) / len(numbers):.2f}")
            lines.append(f"| {name} | {' | '.join(values)} |")
        alone = [
            [self.evaluate(path(one.network(i))).scores(MEASURES[0]) for i in range(self.config.seeds)]
            for one in scorers
        ]
        means = [", ".join(f"{scores.mean():.3f}" for scores in some) for some in alone]
        gain = paired_bootstrap(*(sum(some) / len(some) for some in alone))
        text = f"{MEASURES[0]} by seed: imitation {means[0]}; reward {means[1]}."
        return [*lines, "", f"{text} The reward adds {gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}].", ""]


def run(
    config: TrainScorerConfig,
    settings: Training,
    collect: Callable[[list[TrainingSet]], list[Options]],
    without: str,
    path_of: Callable[[TrainingSet, Scorer | None], SearchPath],
) -> None:
    """Runs a training in its folder and publishes the model; a finished run is only reported.

    Args:
        config: the settings of the command.
        settings: of the training.
        collect: returns the options of the training queries.
        without: name of the system without a scorer, in the report.
        path_of: the search path of a data set with a scorer.
    """
    from acqo_rl.files import atomic_folder, write_atomic
    from acqo_rl.training.hop import train
    from acqo_rl.training.run_folder import inputs_of, open_run, write_json

    folder, splits, models = Path(config.output_dir), (config.split, config.dev_split), [config.model or ""]
    read = [inputs_of(data, splits, [index], models) for data, index in zip(config.data, config.index, strict=True)]
    if open_run(folder, asdict(config), {name: found for one in read for name, found in one.items()}):
        print(f"{folder} is finished: {folder / 'model'}")
        return
    sets = [TrainingSet(config, number) for number in range(len(config.data))]
    options = collect(sets)
    scorer, curve = train(options, settings)
    imitation, _ = train(options, replace(settings, imitation=1.0))
    write_json(folder / "curve.json", curve)
    rows = [row for one in sets for row in one.report(without, partial(path_of, one), imitation, scorer)]
    write_atomic(folder / "report.md", rows)
    with atomic_folder(folder / "model") as half_done:
        scorer.save(half_done)
    print("\n".join(rows))

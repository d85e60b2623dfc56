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

order: the options are the first documents of the fused ranking; a relevant one has the reward 1. The networks learn to
order the results of the searches and hops of --reformulator. They only imitate: networks that maximise the reward are
surer of themselves, also where they are wrong.

choice: for the reformulator auto. Each query is searched as it is, with its last turns, as the rules rewrite it, and as
the policy does. The networks learn which of these rankings to use, and when to ask the policy. Questions without a
conversation are also asked after the conversation of another query (--topic_changes), so that the networks learn to
ignore it.

The output folder contains options/ (the searched options; the same command resumes an interrupted run), curve.json,
report.md and model/. The report says what the reward adds to imitation, on queries that its networks were not trained
on. With --ablation true, it also says how much the networks lose there without each group of their features. acqo
evaluate measures the model: with --hops and --hop, with --reformulator auto and --choice, or with --order.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le

from acqo_rl.addresses import Address
from acqo_rl.errors import ConfigError
from acqo_rl.networks import choice as of_choice
from acqo_rl.networks import hop as of_hop
from acqo_rl.networks import order as of_order
from acqo_rl.retrieval.places import parts_of
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.searching.assemble import check_path, open_reformulator
from acqo_rl.searching.hop import MOST_HOPS
from acqo_rl.searching.settings import NO_ORDER, StepSettings
from acqo_rl.settings import setting
from acqo_rl.training import choice, hop, order
from acqo_rl.training.options import TrainingSet
from acqo_rl.training.run_folder import inputs_of, open_run
from acqo_rl.training.scorer import Training, calibrated, train_in
from acqo_rl.types import Amount, Count, Positive, Seed, Share

TABLES = {"hop": of_hop.FEATURES, "choice": of_choice.FEATURES, "order": of_order.FEATURES}
"""The features of each task."""
HOP_MARGIN = 2.0
"""Margin of the networks of hops."""
ORDER_MARGIN = 1.25
"""Margin of the networks of orders."""


@dataclass(kw_only=True)
class TrainingSettings:
    """Settings of the trainer."""

    steps: Positive = setting(
        "Training steps. The first seventh (order: all) imitates the best option, the rest maximises the reward.", 3500
    )
    seeds: Positive = setting("Number of networks; the mean of their scores is used.", 4)
    seed: Seed = setting("Seed of the first network, and for drawing queries.", 0)
    ablation: bool = setting(
        "Also report what each group of features is worth; this takes one more training for each group.", False
    )


@dataclass
class TrainScorerConfig(TrainingSettings, IndexSettings):
    """Settings of the training."""

    task: Literal["hop", "choice", "order"] = setting("What is trained; see above.")
    data: list[str] = setting("BEIR folders, one or several.")
    index: list[Address] = setting(f"One index for each BEIR folder. {INDEX_HELP}")
    output_dir: str = setting("Folder of the run; the same command resumes an interrupted run.")
    split: str = setting("Training queries: qrels/SPLIT.tsv.", "train")
    limit: list[Count] = setting(
        "Maximum number of training queries of each folder; 0 means all. One number is for all folders.", [0]
    )
    model: Address | None = setting(
        "Policy, such as trained:four_sets, if the searches ask one; without it, the choice is learnt without a model.",
        None,
    )
    cost: Amount = setting("Subtracted from the reward for each further search.", 0.02)
    price: Amount = setting("subtracted from the reward for asking the policy.", 0.04, of="choice")
    loss_weight: Amount = setting(
        "factor of what a search loses against the raw query: a question that becomes worse costs trust.",
        2.0,
        of="choice",
    )
    topic_changes: Share = setting(
        "share of the questions without a conversation that are also asked after the conversation of another query.",
        0.5,
        of="choice",
    )
    calibration: Count = setting(
        "number of folders, the last ones, that are not trained on: their questions tell how many become worse than "
        "with the raw query, for each margin.",
        0,
        of="choice, order",
    )
    calibration_split: str = setting("their questions: qrels/SPLIT.tsv.", "dev", of="calibration")
    max_harm: Share = setting(
        "share of the questions that may become worse, at most and with 95 % confidence; sets the margin.",
        0.05,
        of="choice with calibration",
    )
    reformulator: str = setting("searches before the first hop: raw, auto, ...", "raw", of="hop, order")
    hops: Annotated[int, Ge(1), Le(MOST_HOPS)] = setting(
        f"Number of hops, 1 to {MOST_HOPS}: that are trained (hop), or that follow the choice or precede the order.", 2
    )

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: the numbers of folders, indexes and limits differ.
        """
        count = len(self.data)
        if len(self.limit) == 1:
            self.limit = self.limit * count
        if not count == len(self.index) == len(self.limit):
            raise ConfigError(
                f"data, index and limit have {count}, {len(self.index)} and {len(self.limit)} values; give one "
                "index for each folder."
            )


def main(config: TrainScorerConfig) -> None:
    """Collects the options that are missing, and trains the networks."""
    name = config.reformulator
    if config.task == "choice":
        name = "auto" if config.model else "raw"
    hops = config.hops if config.task == "order" else 0
    [spec] = StepSettings(hops=hops, order=NO_ORDER).paths([name], model=config.model).values()
    if config.task == "choice":
        spec = replace(spec, choice=None)
    check_path(spec)
    folder = Path(config.output_dir)
    table = TABLES[config.task]
    inputs = {"features": " ".join(table.names)}
    trained = len(config.data) - config.calibration
    if trained < 1:
        raise ConfigError(
            f"calibration is {config.calibration} of {len(config.data)} folders; give at least one that is trained on."
        )
    splits = [config.split] * trained + [config.calibration_split] * config.calibration
    for data, index, split in zip(config.data, config.index, splits, strict=True):
        inputs |= inputs_of(data, [split], [index], [config.model or ""])
    if open_run(folder, asdict(config), inputs):
        print(f"{folder} is finished: {folder / 'model'}")
        return
    reformulator = open_reformulator(spec)
    sets = {}
    given_sets = zip(config.data, config.index, splits, config.limit, strict=True)
    for number, (data, index, split, limit) in enumerate(given_sets, start=1):
        indexes = "+".join(Path(part).name for part in parts_of(index))
        sets[f"{number} {Path(data).name}, {indexes}"] = TrainingSet.open(
            data,
            split,
            limit,
            config.seed,
            partial(config.open_index_of, index),
            spec,
            reformulator,
            folder / "options" / str(number),
        )
    given = {name: getattr(config, name) for name in ("steps", "seeds", "seed")}
    searched = list(sets.values())
    calibrate = None
    if config.task == "hop":
        settings = Training(table, cost=2 * config.cost, margin=HOP_MARGIN, **given)
        options = hop.options_of(searched, config.hops, settings)
    elif config.task == "choice":
        settings = Training(table, loss_weight=config.loss_weight, **given)
        costs = config.cost, config.price if config.model else None, config.topic_changes
        options = choice.options_of(searched, config.hops, *costs, settings)
        kinds = 3 if config.model else 1
        unasked = [decision for held in options[trained:] for decision in held[-(len(held) // kinds) :]]
        calibrate = partial(calibrated, decisions=unasked, max_harm=config.max_harm)
    else:
        settings = Training(table, imitation=1.0, margin=ORDER_MARGIN, **given)
        options = order.options_of(searched[:trained])
        calibrate = partial(order.calibrated, sets=searched[trained:])
    lines = train_in(
        folder,
        dict(zip(sets, options[:trained], strict=False)),
        settings,
        ablate=config.ablation,
        calibrate=calibrate if config.calibration else None,
    )
    print("\n".join(lines))
    print(f"The networks are in {folder / 'model'}.")

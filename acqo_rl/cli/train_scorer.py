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
on. acqo evaluate measures the model: with --hops and --hop, with --reformulator auto and --choice, or with --order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le

from acqo_rl.addresses import Address
from acqo_rl.data.beir import read_beir
from acqo_rl.data.draw import after_conversations, draw
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.tables import aligned
from acqo_rl.files import atomic_folder, write_atomic
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.networks import choice, hop, order
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.retrieval.places import parts_of
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.roles import Retriever
from acqo_rl.searching.assemble import check_path, open_path, open_reformulator
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.concurrent import ConcurrentSearch
from acqo_rl.searching.description import HOP, PathSpec, network
from acqo_rl.searching.hop import MOST_HOPS, Hops, LearnedHop
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.settings import NO_ORDER, StepSettings
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.settings import setting
from acqo_rl.training.choice import collect as search_arms
from acqo_rl.training.choice import with_asking
from acqo_rl.training.hop import (
    ScoredOptions,
    Training,
    against_imitation,
    collect,
    expand,
    read_options,
    train,
    with_returns,
    write_options,
)
from acqo_rl.training.materials import with_gold
from acqo_rl.training.order import collect as order_examples
from acqo_rl.training.rewards import Reward
from acqo_rl.training.run_folder import inputs_of, open_run, write_json
from acqo_rl.types import Amount, Count, Document, Positive, Qrels, Query, Reformulation, Seed, Share

_BATCH = 32
_CHUNK = 128
"""Queries whose options are written together; an interruption loses one chunk."""


@dataclass
class TrainScorerConfig(IndexSettings):
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
        "Policy, such as trained:four_sets; hop and order: only if the reformulator asks one.", None
    )
    cost: Amount = setting("Subtracted from the reward for each further search.", 0.02)
    price: Amount = setting("subtracted from the reward for asking the policy.", 0.04, of="choice")
    topic_changes: Share = setting(
        "share of the questions without a conversation that are also asked after the conversation of another query.",
        0.5,
        of="choice",
    )
    reformulator: str = setting("searches before the first hop: raw, auto, ...", "raw", of="hop, order")
    hops: Annotated[int, Ge(1), Le(MOST_HOPS)] = setting(
        f"Number of hops, 1 to {MOST_HOPS}: that are trained (hop), or that follow the choice or precede the order.", 2
    )
    steps: Positive = setting(
        "Training steps. The first seventh (order: all) imitates the best option, the rest maximises the reward.", 3500
    )
    seeds: Positive = setting("Number of networks; the mean of their scores is used.", 4)
    seed: Seed = setting("Seed of the first network, and for drawing queries.", 0)

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: the numbers of folders, indexes and limits differ, or there is no policy.
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


@dataclass(frozen=True)
class TrainingSet:
    """One BEIR folder with its index; ``folder`` is for the options that are searched in it."""

    corpus: dict[str, Document]
    queries: list[Query]
    qrels: Qrels
    retriever: Retriever
    words: CorpusWords
    folder: Path


def main(config: TrainScorerConfig) -> None:
    """Collects the options that are missing, and trains the networks."""
    spec = path_of(config)
    check_path(spec)
    folder = Path(config.output_dir)
    inputs: dict[str, str] = {}
    for data, index in zip(config.data, config.index, strict=True):
        inputs |= inputs_of(data, [config.split], [index], [config.model or ""])
    if open_run(folder, asdict(config), inputs):
        print(f"{folder} is finished: {folder / 'model'}")
        return
    given = {name: getattr(config, name) for name in ("steps", "seeds", "seed")}
    sets = [open_set(config, number) for number in range(len(config.data))]
    if config.task == "hop":
        settings = Training(cost=2 * config.cost, **given)
        options = hop_options(config, sets, settings)
    elif config.task == "choice":
        settings = Training(choice.FEATURES.names, cost=0.0, margin=0.0, **given)
        options = choice_options(config, sets, settings)
    else:
        settings = Training(order.FEATURES.names, cost=0.0, margin=0.0, imitation=1.0, **given)
        options = order_options(config, sets)
    indexes = ["+".join(Path(part).name for part in parts_of(index)) for index in config.index]
    places = zip(config.data, indexes, strict=True)
    names = [f"{number} {Path(data).name}, {index}" for number, (data, index) in enumerate(places, 1)]
    table = against_imitation(dict(zip(names, options, strict=True)), replace(settings, imitation=Training.imitation))
    scorer, curve = train([one for some in options for one in some], settings)
    write_json(folder / "curve.json", curve)
    lines = [f"# {table.title}", "", aligned(table), "", table.note]
    write_atomic(folder / "report.md", lines)
    with atomic_folder(folder / "model") as half_done:
        scorer.save(half_done)
    print("\n".join(lines))
    print(f"The networks are in {folder / 'model'}.")


def open_set(config: TrainScorerConfig, number: int) -> TrainingSet:
    """Reads a BEIR folder with the drawn training queries that have a relevant document, and opens its index."""
    data = read_beir(config.data[number], config.split)
    folder = Path(config.output_dir, "options", str(number + 1))
    folder.mkdir(parents=True, exist_ok=True)
    return TrainingSet(
        data.corpus,
        with_gold(data.queries[config.split], data.qrels[config.split], config.limit[number], config.seed),
        data.qrels[config.split],
        config.open_index_of(config.index[number], data.corpus),
        CorpusWords.of(data.corpus),
        folder,
    )


def kept(
    one: TrainingSet, step: str, size: int, collect: Callable[[slice], Iterator[ScoredOptions]]
) -> list[ScoredOptions]:
    """The options of a step; those that an earlier run has written are read.

    Args:
        one: where the options are kept.
        step: names the files.
        size: number of queries or states.
        collect: searches the options of some of them.
    """
    from tqdm import tqdm

    options = []
    for start in tqdm(range(0, size, _CHUNK), desc=f"set {one.folder.name}: {step}", unit="chunk"):
        file = one.folder / f"{step}-{start:06}.npz"
        if not file.exists():
            write_options(list(collect(slice(start, start + _CHUNK))), file)
        options += read_options(file)
    return options


def hop_options(
    config: TrainScorerConfig, sets: Sequence[TrainingSet], settings: Training
) -> list[list[ScoredOptions]]:
    """The options of all hops of each set, with their returns."""
    fusion, search_path = RankScoreFusion(), opener(path_of(config, hops=0))

    def options_of(one: TrainingSet, states: Sequence[Reformulation], part: slice) -> Iterator[ScoredOptions]:
        reader, reward = LearnedHop(None, one.corpus, one.words), Reward("converge", one.retriever, fusion)
        for batch in collect(states[part], one.qrels, reader, one.retriever, fusion, reward):
            yield from batch

    states = [[found.reformulation for found in search_path(one).search(one.queries)] for one in sets]
    by_hop: list[list[list[ScoredOptions]]] = []
    for number in range(1, config.hops + 1):
        found = [
            kept(one, f"hop {number}", len(some), partial(options_of, one, some))
            for one, some in zip(sets, states, strict=True)
        ]
        by_hop.append(found)
        scorer, _ = train([option for some in by_hop for options in some for option in options], settings)
        if number < config.hops:
            states = [expand(some, options, scorer) for some, options in zip(states, found, strict=True)]
    for place in reversed(range(config.hops - 1)):
        pairs = zip(by_hop[place], by_hop[place + 1], strict=True)
        by_hop[place] = [with_returns(one, after, scorer, settings.cost) for one, after in pairs]
    return [[option for options in hops for option in options] for hops in zip(*by_hop, strict=True)]


def path_of(config: TrainScorerConfig, hops: int = 0) -> PathSpec:
    """The search path of the reformulator, with a number of hops and without an order; for choice, that of auto."""
    name = "auto" if config.task == "choice" else config.reformulator
    [spec] = StepSettings(hops=hops, order=NO_ORDER).paths([name], model=config.model).values()
    return spec


def opener(spec: PathSpec) -> Callable[[TrainingSet], SearchPath]:
    """Opens a search path in each set; its reformulator is loaded once."""
    reformulator = open_reformulator(spec)
    return lambda one: open_path(spec, one.corpus, one.retriever, reformulator=reformulator, words=lambda: one.words)


def order_options(config: TrainScorerConfig, sets: Sequence[TrainingSet]) -> list[list[ScoredOptions]]:
    """The examples of each set, from searches with the hops."""
    search_path = opener(path_of(config, config.hops))

    def examples(path: SearchPath, one: TrainingSet, part: slice) -> Iterator[ScoredOptions]:
        some, reader = one.queries[part], LearnedOrder(None, one.corpus, one.words)
        for start in range(0, len(some), _BATCH):
            yield from order_examples(path.search(some[start : start + _BATCH], DEPTH), one.qrels, reader)

    return [kept(one, "order", len(one.queries), partial(examples, search_path(one), one)) for one in sets]


def choice_options(
    config: TrainScorerConfig, sets: Sequence[TrainingSet], settings: Training
) -> list[list[ScoredOptions]]:
    """The options of both decisions of each set, with the value of asking the policy."""
    search_path = opener(replace(path_of(config), choice=None))
    fusion, scorer = RankScoreFusion(), network(HOP, hop)

    def options_of(one: TrainingSet, queries: Sequence[Query], part: slice) -> Iterator[ScoredOptions]:
        """The options of both decisions of some queries, alternating."""
        path, search = search_path(one), ConcurrentSearch(one.retriever, DEPTH).rankings
        reader, reward = Choice(None, one.corpus, one.words), Reward("converge", one.retriever, fusion)
        hops = Hops(LearnedHop(scorer, one.corpus, one.words), config.hops)
        some = queries[part]
        for start in range(0, len(some), _BATCH):
            answers = [result.reformulation for result in path.search(some[start : start + _BATCH])]
            for both in search_arms(answers, one.qrels, reader, search, fusion, reward, config.cost, hops):
                yield from both

    histories = [query.history for one in sets for query in one.queries if query.history]
    found = []
    for one in sets:
        alone = [query for query in one.queries if not query.history]
        drawn = round(config.topic_changes * len(alone))
        queries = [*one.queries, *after_conversations(draw(alone, drawn, config.seed), histories, config.seed)]
        found.append(kept(one, "choice", len(queries), partial(options_of, one, queries)))
    first, second = ([option for some in found for option in some[start::2]] for start in (0, 1))
    valued = iter(with_asking(first, second, settings, config.price))
    return [[*islice(valued, len(some) // 2), *some[1::2]] for some in found]

"""Trains networks on options whose rewards are known: they imitate the best one, then maximise the expected reward.

The reward of *every* option of a query is known, so the policy gradient needs no samples: the loss is the expected
reward under the softmax of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import DataError
from acqo_rl.evaluation.significance import paired_bootstrap
from acqo_rl.evaluation.tables import Table, aligned, interval
from acqo_rl.files import atomic_folder, write_atomic
from acqo_rl.networks.features import FeatureTable
from acqo_rl.networks.scorer import CLIP, Scorer
from acqo_rl.training.options import ScoredOptions
from acqo_rl.training.run_folder import write_json

if TYPE_CHECKING:
    import torch

_HIDDEN = (64, 32)
_DROPOUT, _WEIGHT_DECAY = 0.1, 1e-2
_SCALE = 3.0
"""Factor of the reward in the loss, so that its gradients are as large as those of the imitation."""
IMITATION = 1 / 7
_HELD_OUT, _SEEDS = 5, 3
"""Every fifth query is left out to compare two trainings, by at least three networks of each."""
_MARGINS = [step / 2 for step in range(32, -1, -1)]
LOSS = 0.05
"""Loss of reward, costs included, from which a query is worse."""
_CONFIDENCE = 0.95
"""That the share of queries that become worse is not larger."""
_NOTE = "Gain in reward over the first option, less the costs, on queries left out of the training."


@dataclass(frozen=True)
class Training:
    """Settings of :func:`train`.

    Attributes:
        table: features of the options.
        steps: number of steps.
        imitation: share of the steps, the first ones, that imitate the best option; the others maximise the expected
            reward.
        cost: subtracted for each option except the first.
        learning_rate: of the first step; it falls to 0.
        batch_size: queries per step.
        margin: of the scorer; not used in training.
        seeds: number of networks, trained independently.
        seed: of the first network.
        left_out: group of features that the networks do not read.
        loss_weight: factor of what an option loses against the first one.
    """

    table: FeatureTable
    steps: int = 3500
    imitation: float = IMITATION
    cost: float = 0.0
    learning_rate: float = 2e-3
    batch_size: int = 64
    margin: float = 0.0
    seeds: int = 4
    seed: int = 0
    left_out: str = ""
    loss_weight: float = 1.0


def train(options: Sequence[ScoredOptions], settings: Training) -> tuple[Scorer, list[tuple[int, float]]]:
    """Trains networks on the options.

    Returns:
        The scorer, and (step, mean expected reward minus that of the first option) every hundred steps.

    Raises:
        DataError: all options of each decision have the same reward.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    if all(decision.rewards.min() == decision.rewards.max() for decision in options):
        queries = len({decision.query_id for decision in options})
        raise DataError(
            f"Nothing can be learnt from {len(options)} decisions of {queries} queries: in none does one option find "
            "relevant documents better than another. Give at least two queries that the index finds relevant documents "
            "for, and better more than fifty."
        )
    columns = [i for i, (group, _) in enumerate(settings.table.columns) if group != settings.left_out]
    weighed = [decision.gains(settings.cost) for decision in options]
    features, gains, valid = (
        pad_sequence([torch.from_numpy(array) for array in arrays], batch_first=True)
        for arrays in (
            [decision.features[:, columns] for decision in options],
            [np.where(gain < 0, np.float32(settings.loss_weight) * gain, gain) for gain in weighed],
            [np.ones(len(decision.rewards), np.bool_) for decision in options],
        )
    )
    mean, scale = features[valid].mean(0), features[valid].std(0) + 1e-3
    features = (features - mean) / scale
    clipped = (features[valid].abs() > CLIP).float().mean().item()
    features = features.clamp(-CLIP, CLIP)
    best = gains.masked_fill(~valid, -torch.inf).argmax(1)
    torch.manual_seed(settings.seed)
    networks = [_network(len(columns)) for _ in range(settings.seeds)]
    weights = [parameter for network in networks for parameter in network.parameters()]
    optimizer = torch.optim.AdamW(weights, settings.learning_rate, weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / settings.steps)
    curve, sums = [], 0.0
    for step in range(1, settings.steps + 1):
        rows = torch.randint(len(options), (settings.seeds, settings.batch_size))
        scores = torch.cat([network(features[batch]) for network, batch in zip(networks, rows, strict=True)])
        scores = scores.view(*rows.shape, -1).masked_fill(~valid[rows], -1e9)
        log_chances = scores.log_softmax(-1)
        expected = (log_chances.exp() * gains[rows]).sum(-1)
        if step <= settings.imitation * settings.steps:
            loss = torch.nn.functional.nll_loss(log_chances.flatten(0, 1), best[rows].flatten())
        else:
            loss = -_SCALE * expected.mean()
        optimizer.zero_grad()
        (settings.seeds * loss).backward()
        optimizer.step()
        schedule.step()
        sums += expected.detach().mean().item()
        if step % 100 == 0:
            curve.append((step, sums / 100))
            sums = 0.0
    linear = [[layer for layer in network if isinstance(layer, torch.nn.Linear)] for network in networks]
    stacked = tuple(
        (_stacked([layer.weight.T for layer in layers]), _stacked([layer.bias[None] for layer in layers]))
        for layers in zip(*linear, strict=True)
    )
    names = tuple(settings.table.names[i] for i in columns)
    return Scorer(names, mean.numpy(), scale.numpy(), stacked, settings.margin, columns=columns, clipped=clipped), curve


def calibrated(scorer: Scorer, decisions: Sequence[ScoredOptions], max_harm: float) -> Scorer:
    """The scorer with a margin that limits the share of queries that become worse, and with the curve of this limit.

    Args:
        scorer: trained on other queries.
        decisions: one per query.
        max_harm: largest share; if it cannot be promised, the largest margin is taken.
    """
    plain = replace(scorer, margin=0.0)
    leads = []  # of the best other option over the first one, where it is worse
    for decision in decisions:
        scores = plain.score(decision.features)
        first = scores[0]
        scores[0] = -np.inf
        best = scores.argmax()
        if decision.rewards[best] < decision.rewards[0] - LOSS:
            leads.append(scores[best] - first)
    worse = [int(np.greater(leads, margin).sum()) for margin in _MARGINS]
    scorer = with_harm(scorer, dict(zip(_MARGINS, worse, strict=True)), len(decisions))
    chosen = [margin for margin, share in scorer.harm if share <= max_harm]
    return replace(scorer, margin=min(chosen, default=_MARGINS[0]))


def with_harm(scorer: Scorer, worse: Mapping[float, int], queries: int) -> Scorer:
    """The scorer with the curve of its harm.

    The margins are tested from the largest one down, so the confidence holds for any one that is chosen (fixed-sequence
    testing, as in Angelopoulos et al., "Learn then Test", 2021); the bounds are those of Clopper and Pearson.

    Args:
        scorer: trained on other queries.
        worse: margin -> number of queries that become worse with it, from the largest margin down.
        queries: number of all queries.
    """
    from scipy.stats import beta

    counts = np.array(list(worse.values()))
    bounds = np.nan_to_num(beta.ppf(_CONFIDENCE, counts + 1, queries - counts), nan=1.0)  # if all become worse
    return replace(scorer, harm=tuple(zip(worse, np.maximum.accumulate(bounds).tolist(), strict=True)))


def harm_table(scorer: Scorer) -> Table:
    """A table of the margins of a calibrated scorer."""
    note = "At most this share of queries that were not trained on becomes worse than with the raw query."
    rows = tuple((f"{margin:g}", f"{share:.3f}") for margin, share in scorer.harm if margin == int(margin))
    return Table("Harm", f"{note} The network has the margin {scorer.margin:g}.", ("margin", "at most (95 %)"), rows)


def against_imitation(sets: Mapping[str, Sequence[ScoredOptions]], settings: Training) -> Table:
    """A table of what the reward adds to imitation: two trainings are compared, one by imitation only.

    Args:
        sets: name -> options of a training set; those of a query begin with its first decision. A set of which no
            query is left out of the training has no row.
        settings: of both trainings.
    """
    imitation, reward = (_held_out_gains(sets, replace(settings, imitation=share)) for share in (1.0, IMITATION))
    rows = []
    for name, before in imitation.items():
        differences = reward[name] - before
        added = paired_bootstrap(differences.mean(axis=0))
        by_network = ", ".join(f"{gain:+.3f}" for gain in differences.mean(axis=1))
        means = [f"{gains.mean():+.3f}" for gains in (before, reward[name])]
        rows.append((name, str(added.queries), *means, interval(added), by_network))
    header = ("training set", "queries", "imitation", "reward", "difference", "of each network")
    return Table("What the reward adds to imitation", _NOTE, header, tuple(rows))


def ablation(sets: Mapping[str, Sequence[ScoredOptions]], settings: Training) -> Table:
    """A table of what each group of features is worth: how much less networks gain that do not read it.

    Args:
        sets: as for :func:`against_imitation`.
        settings: of each training.
    """
    columns = [group for group, _ in settings.table.columns]
    gains = {
        group: np.concatenate([*_held_out_gains(sets, replace(settings, left_out=group)).values()], axis=1)
        for group in ("", *dict.fromkeys(columns))
    }
    rows = []
    for group, without in gains.items():
        lost = interval(paired_bootstrap((without - gains[""]).mean(axis=0))) if group else ""
        rows.append((group or "nothing", str(columns.count(group)), f"{without.mean():+.3f}", lost))
    header = ("left out", "features", "gain", "difference")
    return Table("What each group of features is worth", _NOTE, header, tuple(rows))


def _held_out_gains(sets: Mapping[str, Sequence[ScoredOptions]], settings: Training) -> dict[str, NDArray[np.float64]]:
    """Trains at least three networks without every fifth query.

    Returns:
        Name of a set -> gains of what each network chooses first for the queries that were left out, without a margin,
        float64[networks, queries].
    """
    settings = replace(settings, margin=0.0, seeds=max(_SEEDS, settings.seeds))
    decisions = [decision for options in sets.values() for decision in options]
    held = set(list(dict.fromkeys(decision.query_id for decision in decisions))[::_HELD_OUT])
    scorer, _ = train([decision for decision in decisions if decision.query_id not in held], settings)
    gains = {}
    for name, options in sets.items():
        first = {decision.query_id: decision for decision in reversed(options) if decision.query_id in held}.values()
        chosen = [network.best([decision.features for decision in first]) for network in scorer.networks()]
        values = [decision.gains(settings.cost).tolist() for decision in first]
        if first:
            gains[name] = np.array([[row[i] for row, i in zip(values, best, strict=True)] for best in chosen])
    return gains


def _network(inputs: int) -> torch.nn.Sequential:
    from torch.nn import Dropout, Linear, ReLU, Sequential

    return Sequential(
        Linear(inputs, _HIDDEN[0]), ReLU(), Dropout(_DROPOUT), Linear(*_HIDDEN), ReLU(), Linear(_HIDDEN[1], 1)
    )


def _stacked(tensors: Sequence[torch.Tensor]) -> NDArray[np.float32]:
    return np.stack([tensor.detach().numpy() for tensor in tensors])


def train_in(
    folder: Path,
    sets: Mapping[str, Sequence[ScoredOptions]],
    settings: Training,
    *,
    ablate: bool,
    calibrate: Callable[[Scorer], Scorer] | None = None,
) -> list[str]:
    """Trains networks on the options of several sets and writes them to a folder, with a report.

    Args:
        folder: of the run.
        sets: name -> options.
        settings: of the networks.
        ablate: whether the report says what each group of features is worth.
        calibrate: adds the harm on other sets; see :func:`with_harm`.

    Returns:
        The lines of the report.
    """
    tables = [against_imitation(sets, settings)]
    if ablate:
        tables.append(ablation(sets, settings))
    everything = [decision for options in sets.values() for decision in options]
    scorer, curve = train(everything, settings)
    if calibrate:
        scorer = calibrate(scorer)
        tables.append(harm_table(scorer))
    write_json(folder / "curve.json", curve)
    lines = [line for table in tables for line in (f"# {table.title}", "", aligned(table), "", table.note, "")][:-1]
    write_atomic(folder / "report.md", lines)
    with atomic_folder(folder / "model") as half_done:
        scorer.save(half_done)
    return lines

"""Trains networks on options whose rewards are known: they imitate the best one, then maximise the expected reward.

The reward of *every* option of a query is known, so the policy gradient needs no samples: the loss is the expected
reward under the softmax of the scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import DataError
from acqo_rl.evaluation.significance import paired_bootstrap
from acqo_rl.evaluation.tables import Table, aligned, interval
from acqo_rl.files import atomic_folder, write_atomic
from acqo_rl.networks.hop import FEATURES
from acqo_rl.networks.scorer import CLIP, Scorer
from acqo_rl.training.options import ScoredOptions
from acqo_rl.training.run_folder import write_json

if TYPE_CHECKING:
    import torch

_HIDDEN = (64, 32)
_DROPOUT, _WEIGHT_DECAY = 0.1, 1e-2
_SCALE = 3.0
"""Factor of the reward in the loss, so that its gradients are as large as those of the imitation."""
_HELD_OUT, _SEEDS = 5, 3
"""Every fifth query is left out to compare the reward with imitation, by at least three networks of each."""


@dataclass(frozen=True)
class Training:
    """Settings of :func:`train`.

    Attributes:
        features: names of the features.
        steps: number of steps.
        imitation: share of the steps, the first ones, that imitate the best option; the others maximise the expected
            reward.
        cost: subtracted for each option except stopping.
        learning_rate: of the first step; it falls to 0.
        batch_size: queries per step.
        margin: of the scorer; not used in training.
        seeds: number of networks, trained independently.
        seed: of the first network.
    """

    features: tuple[str, ...] = FEATURES.names
    steps: int = 3500
    imitation: float = 1 / 7
    cost: float = 0.04
    learning_rate: float = 2e-3
    batch_size: int = 64
    margin: float = 2.0
    seeds: int = 4
    seed: int = 0


def train(options: Sequence[ScoredOptions], settings: Training) -> tuple[Scorer, list[tuple[int, float]]]:
    """Trains networks on the options.

    Returns:
        The scorer, and (step, mean expected reward minus that of stopping) every hundred steps.

    Raises:
        DataError: all options of each decision have the same reward.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    if all(one.rewards.min() == one.rewards.max() for one in options):
        raise DataError(
            f"Nothing can be learnt from {len(options)} decisions of {len({one.query_id for one in options})} queries: "
            "in none of them does one option find relevant documents better than another. Give at least two queries "
            "that the index finds relevant documents for, and better more than fifty."
        )
    features = pad_sequence([torch.from_numpy(one.features) for one in options], batch_first=True)
    gains = pad_sequence([torch.from_numpy(one.gains(settings.cost)) for one in options], batch_first=True)
    valid = pad_sequence([torch.ones(len(one.rewards), dtype=torch.bool) for one in options], batch_first=True)
    mean, scale = features[valid].mean(0), features[valid].std(0) + 1e-3
    features = ((features - mean) / scale).clamp(-CLIP, CLIP)
    best = gains.masked_fill(~valid, -torch.inf).argmax(1)
    torch.manual_seed(settings.seed)
    networks = [_network(features.shape[2]) for _ in range(settings.seeds)]
    weights = [parameter for network in networks for parameter in network.parameters()]
    optimizer = torch.optim.AdamW(weights, settings.learning_rate, weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / settings.steps)
    curve, sums = [], 0.0
    for step in range(1, settings.steps + 1):
        rows = torch.randint(len(options), (settings.seeds, settings.batch_size))
        scores = torch.cat([network(features[some]) for network, some in zip(networks, rows, strict=True)])
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
        (_stacked([one.weight.T for one in layers]), _stacked([one.bias[None] for one in layers]))
        for layers in zip(*linear, strict=True)
    )
    return Scorer(settings.features, mean.numpy(), scale.numpy(), stacked, settings.margin), curve


def against_imitation(sets: Mapping[str, Sequence[ScoredOptions]], settings: Training) -> Table:
    """A table of what the reward adds to imitation.

    Two trainings, one by imitation only, leave out every fifth query. What their networks choose first for these
    queries is compared, without a margin.

    Args:
        sets: name -> options of a training set; those of a query begin with its first decision. A set of which no
            query is left out has no row.
        settings: of both trainings; at least three networks of each are trained.
    """
    settings = replace(settings, margin=0.0, seeds=max(_SEEDS, settings.seeds))
    ids = dict.fromkeys(one.query_id for options in sets.values() for one in options)
    held = set(list(ids)[::_HELD_OUT])
    rest = [one for options in sets.values() for one in options if one.query_id not in held]
    scorers = [train(rest, replace(settings, imitation=share))[0] for share in (1.0, settings.imitation)]
    rows = []
    for name, options in sets.items():
        first = {one.query_id: one for one in reversed(options) if one.query_id in held}.values()
        if not first:
            continue
        gains = np.array([[_gains(one, first, settings.cost) for one in scorer.networks()] for scorer in scorers])
        added = paired_bootstrap((gains[1] - gains[0]).mean(axis=0))
        by_network = ", ".join(f"{gain:+.3f}" for gain in (gains[1] - gains[0]).mean(axis=1))
        means = [f"{gain:+.3f}" for gain in gains.mean(axis=(1, 2))]
        rows.append((name, str(added.queries), *means, interval(added), by_network))
    header = ("training set", "queries", "imitation", "reward", "difference", "of each network")
    note = "Gain in reward over the first option, less the costs, on queries left out of the training."
    return Table("What the reward adds to imitation", note, header, tuple(rows))


def _gains(scorer: Scorer, options: Iterable[ScoredOptions], cost: float) -> list[float]:
    """The gains of what a scorer chooses."""
    return [float(one.gains(cost)[scorer.best([one.features])[0]]) for one in options]


def _network(inputs: int) -> torch.nn.Sequential:
    from torch.nn import Dropout, Linear, ReLU, Sequential

    return Sequential(
        Linear(inputs, _HIDDEN[0]), ReLU(), Dropout(_DROPOUT), Linear(*_HIDDEN), ReLU(), Linear(_HIDDEN[1], 1)
    )


def _stacked(tensors: Sequence[torch.Tensor]) -> NDArray[np.float32]:
    return np.stack([tensor.detach().numpy() for tensor in tensors])


def train_in(folder: Path, sets: Mapping[str, Sequence[ScoredOptions]], settings: Training) -> list[str]:
    """Trains networks on the options of several sets and writes them to a folder.

    Returns:
        The lines of the report.
    """
    table = against_imitation(sets, replace(settings, imitation=Training.imitation))
    scorer, curve = train([one for options in sets.values() for one in options], settings)
    write_json(folder / "curve.json", curve)
    lines = [f"# {table.title}", "", aligned(table), "", table.note]
    write_atomic(folder / "report.md", lines)
    with atomic_folder(folder / "model") as half_done:
        scorer.save(half_done)
    return lines

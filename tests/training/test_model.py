"""Resuming a run."""

import pytest
from accelerate.data_loader import prepare_data_loader
from torch.utils.data import DataLoader
from transformers.trainer_pt_utils import LengthGroupedSampler
from trl.trainer.utils import RepeatSampler

from acqo_rl.training.model import draw_as_in_epoch


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("kind", ["warm start", "grpo"])
def test_a_resumed_run_draws_the_examples_of_its_epoch(processes, kind):
    def loader():
        rows = range(24)
        sampler = RepeatSampler(rows, 2, seed=3) if kind == "grpo" else LengthGroupedSampler(4, lengths=[*rows])
        return prepare_data_loader(DataLoader(rows, 4, sampler=sampler), None, processes, processes - 1)

    def drawn(loader, epoch):
        draw_as_in_epoch(loader, epoch, 3)
        return [batch.tolist() for batch in loader]

    whole = loader()
    epochs = [drawn(whole, epoch) for epoch in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    assert [drawn(loader(), epoch) for epoch in range(3)] == epochs

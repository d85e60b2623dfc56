"""Training on a GPU."""

import pytest
import torch
from test_grpo import POLICY, TRAINER, trainer_of
from tiny_policy import full_model

from acqo_rl.training.grpo import finish
from acqo_rl.training.model import resume

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]


def test_an_adapter_is_trained_on_the_gpu(tmp_path):
    start = str(full_model(tmp_path, max_new_tokens=8))
    given = TRAINER | {"max_steps": 4}
    trainer = trainer_of(start, tmp_path / "run", lora_rank=8, trainer=given, dev=(0.0, 0.5, 1.0))
    resume(trainer)
    adapter = {name: value for name, value in trainer.model.named_parameters() if "lora_B" in name}
    assert {value.device.type for value in adapter.values()} == {"cuda"}
    assert all(value.abs().sum() > 0 for value in adapter.values())  # they are initialised with zeros
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 4
    assert all(torch.isfinite(torch.tensor(losses)))
    assert "rose from 0.0000 to 1.0000" in finish(trainer, POLICY, start, 8, "nDCG@10")

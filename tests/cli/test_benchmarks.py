"""The benchmarks run all their cases; how fast these are is not tested."""

import re
import shutil
import subprocess
import sys

import pytest
import torch
from shared import load_script
from test_entry_points import ROOT

from acqo_rl.data.importer import write_embedded
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.types import Query, Turn


def rows_of(name, settings, pattern):
    """The rows of a table that a benchmark prints."""
    words = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *settings.split()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return re.findall(pattern, done.stdout, re.M)


def test_the_archive_of_bridge_questions_is_reproduced(tmp_path):
    rows_of("bridge_questions", f"--output {tmp_path}/embedded_bridge.zip", "$")
    shutil.unpack_archive(tmp_path / "embedded_bridge.zip", tmp_path / "made")
    write_embedded(tmp_path / "shipped", "embedded_bridge")
    made = {file.relative_to(tmp_path / "made"): file.read_text() for file in (tmp_path / "made").rglob("*.*")}
    for name, text in made.items():
        assert (tmp_path / "shipped" / name).read_text() == text


@pytest.fixture
def adapt():
    return load_script(ROOT / "benchmarks" / "adapt.py", "adapt")


@pytest.mark.parametrize("loss", ["expected", "grpo", "imitate"])
def test_each_loss_of_adapt_prefers_the_best_completion(adapt, loss):
    """A step makes the best completion more likely than the others, and leaves a question without a spread alone."""
    for rewards, rises in (([0.2, 1.0, 0.5], True), ([0.5, 0.5, 0.5], loss == "imitate")):
        texts = ["pass", "resolve\nbest", "resolve\nother"]
        listed = adapt.Listed("q", "pass", texts, dict(zip(texts, rewards, strict=True)))
        logits = torch.zeros(3, requires_grad=True)
        logs = [value[None] for value in logits.log_softmax(0)]
        adapt.loss_of(loss, logs, [value.detach() for value in logs], listed, power=0.5).backward()
        favoured = rewards.index(max(rewards))
        assert (logits.grad.argmin() == favoured and logits.grad[favoured] < -0.01) == rises


def test_variants_of_adapt_follow_the_grammar(adapt):
    """A completion with one search has three readings; others have none."""
    grammar = Grammar()
    query = Query("q", "who is its mayor", history=(Turn("user", "tell me about Lima"),))
    for completion in ("resolve\nLima mayor", "resolve\n= Lima"):
        found = adapt.variants(completion)
        assert completion in found and len(set(found)) == 3
        assert [grammar.parse(text, query).problem for text in found] == [None] * 3
    for completion in ("pass", "split\nLima\nOslo", "resolve\n=", "resolve\nLima\n="):
        assert adapt.variants(completion) == []

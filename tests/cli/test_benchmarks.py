"""The benchmarks run all their cases; how fast these are is not tested."""

import re
import shutil
import subprocess
import sys

import pytest
import torch
from shared import load_script
from test_entry_points import ROOT

from acqo_rl.data.beir import read_beir
from acqo_rl.data.importer import write_embedded
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.types import Query, Turn


def rows_of(name, settings, pattern):
    """The rows of a table that a benchmark prints."""
    words = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *settings.split()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return re.findall(pattern, done.stdout, re.M)


def test_grpo(tiny_model):
    settings = f"--model {tiny_model} --prompt_tokens 20 --completions 8 --completion_tokens 4 --steps 2"
    rows = rows_of("grpo", settings, r"^\| 20 \| ([\w -]+) \|.*\| (\d+\.\d\d) \| \d+\.\d\d \|$")
    assert [case for case, _ in rows] == [
        "plain TRL",
        "each prompt once in generation",
        "each prompt once in log-probabilities",
        "each prompt once in both",
    ]
    assert rows[0][1] == "1.00"


def test_pipeline():
    pattern = r"^\| (\d) \| ([^|]+) (?:\| -?\d+\.\d{3} ){3}\| (\d+\.\d\d) \|$"
    rows = rows_of("pipeline", "--queries 3 --retriever_ms 0 1", pattern)
    assert [case for wait, case, _ in rows if wait == "0"][:3] == [
        "ours, one call a retriever",
        "ours, a call and a time-out a sub-query",
        "asyncio.gather, no fusion",
    ]
    assert rows[0][2] == "1.00"


def test_turning_conversations(tmp_path):
    """Relevant is what a conversation turns to, leaves or chooses, and no entity is in two splits."""
    rows_of("turning_conversations", f"--train 60 --held_out 30 --output_dir {tmp_path}", "$")
    splits = ("train", "dev", "test")
    data = read_beir(tmp_path, *splits)
    asked: dict[str, set[str]] = {}
    for split in splits:
        assert {data.metadata[query.id]["kind"] for query in data.queries[split]} == {"switch", "rejection", "choice"}
        asked[split] = {doc_id.rpartition("-")[0] for judged in data.qrels[split].values() for doc_id in judged}
        for query in data.queries[split]:
            relevant = [words(data.corpus[doc_id].title) for doc_id in data.qrels[split][query.id]]
            for text, title in zip(data.metadata[query.id]["searches"] or [query.text], relevant, strict=True):
                named, said = words(text) & title, words(f"{query.text} {' '.join(map(str, query.history))}")
                assert named and words(text) <= said
    assert not (asked["train"] & asked["dev"] or asked["train"] & asked["test"] or asked["dev"] & asked["test"])


def test_bridge_questions(tmp_path):
    """The archive is reproduced; a question names no later subject of its chain, and no entity is in two splits."""
    rows_of("bridge_questions", f"--output {tmp_path}/embedded_bridge.zip", "$")
    shutil.unpack_archive(tmp_path / "embedded_bridge.zip", tmp_path / "made")
    write_embedded(tmp_path / "shipped", "embedded_bridge")
    made = {file.relative_to(tmp_path / "made"): file.read_text() for file in (tmp_path / "made").rglob("*.*")}
    for name, text in made.items():
        assert (tmp_path / "shipped" / name).read_text() == text
    splits = ("train-bridge", "dev-bridge", "test-bridge")
    data = read_beir(tmp_path / "shipped", *splits)
    asked = []
    for split in splits:
        chains = [(q, list(data.qrels[split][q.id])) for q in data.queries[split] if q.id.startswith(split)]
        asked.append({doc_id.rpartition("-")[0] for _, chain in chains for doc_id in chain})
        for query, chain in chains:
            assert len(chain) == data.metadata[query.id]["needs"] in (2, 3)
            title = data.corpus[chain[-1]].title
            assert not {word for word in words(title) if word[0].isupper()} & words(query.text) - words("ISO")
    assert not (asked[0] & asked[1] or asked[0] & asked[2] or asked[1] & asked[2])


def words(text):
    return set(re.findall(r"[\w'-]+", text))


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
    grammar, query = Grammar(), Query("q", "who is its mayor", history=(Turn("user", "tell me about Lima"),))
    for completion in ("resolve\nLima mayor", "resolve\n= Lima"):
        found = adapt.variants(completion)
        assert completion in found and len(set(found)) == 3
        assert [grammar.parse(text, query).problem for text in found] == [None] * 3
    for completion in ("pass", "split\nLima\nOslo", "resolve\n=", "resolve\nLima\n="):
        assert adapt.variants(completion) == []

"""acqo evaluate as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from forked import run_command
from rerank_server import RerankServer
from serving_stand_ins import running
from shared import PLACES, in_thread

from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.remote import describe
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.types import Document, Query

ROOT = Path(__file__).parents[2]
SCRIPT = "evaluate"
QUICK = ("--measures", "nDCG@10", "AllGold@10")


def run(*arguments, status=0):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return run_command(SCRIPT, *arguments, status=status, env=environment)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate") / "data"
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency used in {p} is its own coin.") for p in PLACES]
    queries, qrels, metadata = [], {}, {}
    places = list(PLACES)
    for place, other in zip(places, places[1:] + places[:1], strict=True):
        queries.append(Query(f"s-{place}", f"capital of {place}"))
        queries.append(Query(f"c-{place}", f"What is the capital of {place} and which currency is used in {other}?"))
        queries.append(Query(f"a-{place}", "and its currency?", history=(f"U: where is {place}", "S: on a map")))
        qrels |= {f"s-{place}": {f"{place}-capital": 1}, f"a-{place}": {f"{place}-money": 1}}
        qrels[f"c-{place}"] = {f"{place}-capital": 1, f"{other}-money": 1}
        metadata |= {f"{k[0]}-{place}": {"kind": k} for k in ("simple", "compound", "ambiguous")}
    write_beir(folder, documents, queries, {"test": qrels, "dev": {"s-Peru": {"Peru-capital": 1}}}, metadata)
    return folder


@pytest.fixture(scope="module")
def index(data):
    folder = data.parent / "index"
    build_bm25_index(folder, list(read_corpus(data).values()))
    return folder


@pytest.fixture(scope="module")
def untrained(data):
    """A policy folder as training writes it, around a model of random weights."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = data.parent / "policy"
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", "pass", "resolve", "split", "capital"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )
    fast.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=7, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, pad_token_id=0
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    PolicySettings(feedback_results=2, max_new_tokens=4).save(folder)
    return folder


def results(output, name):
    rows = map(json.loads, (output / "queries.jsonl").read_text().splitlines())
    return [row for row in rows if row["system"] == name]


def systems(output):
    return {system["name"]: system for system in json.loads((output / "summary.json").read_text())["systems"]}


def test_judgements_of_documents_that_are_not_there_are_left_out_and_counted_once(data, index, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("s-Peru\tnone\t1\n")
    shared = ("--split", "test", "--index", index, "--reformulator", "raw", *QUICK)
    whole = run("--data", data, "--output", tmp_path / "whole", *shared)
    lacking = run("--data", folder, "--output", tmp_path / "lacking", *shared)
    assert "test.tsv" not in whole.stderr
    assert lacking.stderr.count("document 'none'") == 1
    rows = [[row["measures"] for row in results(tmp_path / name, "raw")] for name in ("whole", "lacking")]
    assert rows[0] == rows[1]


@pytest.mark.slow
def test_evaluates_reports_and_computes_nothing_twice(data, index, untrained, tmp_path):
    output = tmp_path / "out"
    shared = ("--data", data, "--split", "test", "--index", index, "--output", output)
    first = run(*shared, "--reformulator", "raw", "rules")
    assert "| raw " in first.stdout
    assert "reformulate by rules: 100%" in first.stderr
    before = systems(output)

    second = run(*shared, "--reformulator", "raw", "rules", f"untrained={untrained}")
    assert "reformulate by rules" not in second.stderr
    assert "reformulate by untrained: 100%" in second.stderr
    raw, rules, policy = systems(output).values()
    assert (raw, rules) == tuple(before.values())

    assert raw["by_kind"]["simple"]["measures"]["nDCG@10"] == 1.0
    assert rules["by_kind"]["compound"]["sub_queries"] == 2
    assert rules["overall"]["queries"] == 18
    assert policy["tokens"] > 0
    assert policy["problem_rate"] + policy["pass_rate"] > 0
    tested = run(*shared, "--reformulator", "rules", "raw", "--non_inferiority_margin", 0.3)
    [stand_in] = json.loads((output / "summary.json").read_text())["non_inferiority"]
    assert (stand_in["system"], stand_in["baseline"], stand_in["test"]["margin"]) == ("raw", "rules", 0.3)
    assert 0 < stand_in["unchanged"] < 1
    assert stand_in["sentence"] in tested.stdout

    run(*shared, "--reformulator", "raw", f"twice={untrained}", "--rounds", 2)
    assert systems(output)["twice"]["tokens"] == 2 * policy["tokens"]
    assert len(results(output, "twice")[0]["reformulation"]["query"]["feedback"]) == 2
    for name in ("runs/raw.trec", "runs/twice.trec", "report.md", "report.html", "plots/gain_by_kind.png"):
        assert (output / name).stat().st_size > 0

    os.utime(untrained / "model.safetensors")
    changed = run(*shared, "--reformulator", "raw", f"untrained={untrained}")
    assert "reformulate by untrained: 100%" in changed.stderr


def test_settings_from_a_file_and_a_limit(data, index, tmp_path):
    config = tmp_path / "evaluate.yaml"
    config.write_text(
        f"data: {data}\nsplit: test\nindex: {index}\noutput: {tmp_path / 'out'}\nreformulator: [raw]\nlimit: 5\n"
    )
    run("--config", config, *QUICK)
    assert len(results(tmp_path / "out", "raw")) == 5


def test_the_settings_of_a_report_have_paths_relative_to_it(data, index, tmp_path):
    run("--data", data, "--split", "test", "--index", index, "--output", tmp_path / "out", *QUICK)
    settings = json.loads((tmp_path / "out" / "summary.json").read_text())["settings"]
    assert (tmp_path / "out" / settings["data"]).resolve() == data.resolve()
    assert str(data) not in (tmp_path / "out" / "report.html").read_text()


def test_no_file_and_no_message_has_the_password_of_an_index(data, index, tmp_path):
    app = make_retriever_app(load_retriever(index), describe(str(index)), Metrics(), Limits())
    with running(app) as url:
        place = f"{url.replace('://', '://ann:s3cret@')}+{index}?key=s3cret"
        shown = run("--data", data, "--split", "test", "--index", place, "--output", tmp_path / "no", status=2)
        place = url.replace("://", "://ann:s3cret@")
        said = run("--data", data, "--split", "test", "--index", place, "--output", tmp_path / "out", *QUICK)
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]

    assert "http://ann:***@" in (tmp_path / "out" / "report.html").read_text()
    said_and_written = [f"{shown.stderr} {said.stdout} {said.stderr}".encode(), *written]
    assert not [content for content in said_and_written if b"s3cret" in content]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--split": "tset"}, "dev, test"),
        ({"--data": "nowhere"}, "nowhere"),
        ({"--index": "nowhere"}, "nowhere"),
        ({"--reformulator": "policy"}, "policy=MODEL or --model MODEL"),
        ({"--reformulator": "policy=nowhere"}, "acqo.json"),
        ({"--reformulator": "raw=model"}, "needs no model"),
        ({"--reformulator": "../raw=x"}, "cannot name result files"),
        ({"--fusion": "magic"}, "rsf, rrf, combsum, combmnz"),
        ({"--limit": "0"}, "must be at least 1"),
        ({"--measures": "nDGC@10"}, "nDGC@10"),
    ],
)
def test_errors_say_what_to_do(data, index, tmp_path, changed, message):
    arguments = {"--data": data, "--split": "test", "--index": index, "--output": tmp_path / "out"} | changed
    done = run(*(part for pair in arguments.items() for part in pair), status=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_is_no_policy_is_refused_before_anything_is_computed(data, index, tmp_path):
    output = tmp_path / "out"
    given = ("--reformulator", "raw", f"mine={tmp_path / 'none'}", "--output", output)
    refused = run("--data", data, "--index", index, "--split", "test", *given, status=2)
    assert "not an exported policy" in refused.stderr
    assert not output.exists()


def test_an_index_of_another_corpus_is_refused(data, index, tmp_path):
    other = tmp_path / "data"
    other.mkdir()
    for name in ("queries.jsonl", "qrels"):
        (other / name).symlink_to(data / name)
    (other / "corpus.jsonl").write_text((data / "corpus.jsonl").read_text().replace("Lima is", "Lima was"))
    done = run("--data", other, "--split", "test", "--index", index, "--output", tmp_path / "out", *QUICK, status=2)
    assert "another corpus" in done.stderr


@pytest.fixture
def reranker():
    server = RerankServer()
    with in_thread(server, server.waiting):
        yield server


def test_a_reranked_fusion_is_a_system_with_its_cost(data, index, tmp_path, reranker):
    given = ["--data", data, "--split", "test", "--index", index, "--reformulator", "raw", "rules", *QUICK]
    given += ["--fusion", "rsf", "rsf+reranker", "--reranker", reranker.name, "--rerank_depth", "3"]

    run(*given, "--output", tmp_path)

    asked = sum(len(body["documents"]) for body in reranker.asked)
    systems = json.loads((tmp_path / "summary.json").read_text())["systems"]
    costs = {(system["reformulator"], system["fusion"]): system["cost"] for system in systems}
    assert [cost["reranked"] for cost in costs.values()][:3] == [0, 0, 3]
    assert costs["rules", "rsf+reranker"]["reranked"] > 3  # each part of a question is read with each document
    assert costs["rules", "rsf+reranker"]["ms"] > costs["rules", "rsf"]["ms"]
    assert "| reranked |" in (tmp_path / "report.md").read_text()
    rows = list(map(json.loads, (tmp_path / "queries.jsonl").read_text().splitlines()))
    assert any(row["reranking_ms"] > 0 for row in rows)

    run(*given, "--output", tmp_path)
    assert sum(len(body["documents"]) for body in reranker.asked) == asked  # every score is kept


@pytest.mark.parametrize(
    "given",
    [
        ["--fusion", "rsf+reranker"],
        ["--reranker", "rerank:words@http://127.0.0.1:9/v1"],
        ["--fusion", "rsf+reranker", "--reranker", "words"],
        ["--fusion", "rsf+reranker", "--reranker", "rerank:words@http://127.0.0.1:9/v1", "--rerank_depth", "0"],
        ["--fusion", "rsf+reranker", "--reranker", "rerank:words@http://127.0.0.1:9/v1", "--pipeline", "plain"],
    ],
)
def test_a_reranker_and_a_fusion_belong_together(data, index, tmp_path, given):
    run("--data", data, "--split", "test", "--index", index, "--output", tmp_path / "new", *given, status=2)

"""The public data sets: rows of the same columns as theirs, written by us, become BEIR folders."""

from __future__ import annotations

import subprocess

import datasets
import huggingface_hub
import pytest
from shared import ACQO

from acqo_rl.cli import module_of
from acqo_rl.data.beir import read_beir
from acqo_rl.data.public import passage, write_public
from acqo_rl.errors import ConfigError, DataError


def hotpot(number, **changes):
    """Two separate supporting paragraphs, and one distractor shared by all rows."""
    titles = [f"Quarry {number}", f"Bridge {number}", "Heath"]
    row = {
        "id": f"h{number}",
        "question": f"Which bridge is built of stone from quarry {number}?",
        "answer": f"Bridge {number}",
        "type": "bridge",
        "supporting_facts": {"title": titles[:2], "sent_id": [0, 1]},
        "context": {
            "title": titles,
            "sentences": [
                [f"Quarry {number} gave grey stone.", " It closed early."],
                [f"Bridge {number} is grey.", f" Its stone is of quarry {number}."],
                ["A heath is dry land."],
            ],
        },
    }
    return {**row, **changes}


def topiocqa(number):
    conversation, turn = number // 3, number % 3 + 1
    text = f"Ferry {conversation} leaves at noon, {turn}."
    return {
        "Conversation_no": conversation,
        "Turn_no": turn,
        "Question": f"and when, number {turn}?",
        "Answer": "At noon.",
        "Context": ["where is the ferry?", "At the pier.", "who steers it?", "Mia."][: 2 * (turn - 1)],
        "Gold_passage": {"id": f"wiki:{turn}", "title": "Ferry [SEP] Times", "text": text},
    }


def rows_of(name, **more):
    make = {"hotpotqa": hotpot, "topiocqa": topiocqa}[name]
    rows = {"train": [make(n) for n in range(60)], "validation": [make(n) for n in range(60, 70)]}
    return {split: [*some, *more.get(split, [])] for split, some in rows.items()}


NAMES = ["hotpotqa", "topiocqa"]


def write(folder, name, rows=None, **settings):
    rows = rows_of(name) if rows is None else rows
    write_public(folder, name, lambda _: {split: iter(some) for split, some in rows.items()}, **settings)
    return folder


def read(folder):
    return read_beir(folder, "train", "dev", "test")


@pytest.mark.parametrize("name", NAMES)
def test_the_selection_depends_on_the_seed_and_held_out_queries_do_not(tmp_path, name):
    whole = read(write(tmp_path / "all", name))
    split_of = {query_id: split for split, judged in whole.qrels.items() for query_id in judged}
    assert len(split_of) == 70
    some = [read(write(tmp_path / str(i), name, limit=4, seed=seed)) for i, seed in enumerate((0, 0, 1))]
    same, again, other = ({q for judged in data.qrels.values() for q in judged} for data in some)
    assert same == again != other
    for data in some:
        assert all(len(judged) <= 4 for judged in data.qrels.values())
        assert all(split_of[query_id] == split for split, judged in data.qrels.items() for query_id in judged)
    readme = (tmp_path / "0" / "README.md").read_text()
    assert "Licence: " in readme
    assert f"{len(some[0].corpus):,} passages" in readme


def test_the_passages_of_the_queries_are_the_corpus(tmp_path):
    data = read(write(tmp_path, "hotpotqa", limit=2))
    for judged in data.qrels.values():
        for query_id, relevant in judged.items():
            number = query_id.removeprefix("h")
            assert {data.corpus[d].title for d in relevant} == {f"Quarry {number}", f"Bridge {number}"}
    assert passage(" Heath", "A heath\nis dry land.").id in data.corpus  # equal paragraphs are one document
    assert len(data.corpus) == 2 * sum(map(len, data.qrels.values())) + 1


def test_conversations_stay_whole_and_their_turns_in_order(tmp_path):
    data = read(write(tmp_path, "topiocqa"))
    third = next(q for q in data.queries["test"] if q.id.endswith("-3"))
    assert [*map(str, third.history)] == ["U: where is the ferry?", "S: At the pier.", "U: who steers it?", "S: Mia."]
    groups = {split: {q.rsplit("-", 1)[0] for q in judged} for split, judged in data.qrels.items()}
    assert not groups["train"] & groups["dev"]
    assert next(iter(data.corpus.values())).title == "Ferry: Times"


def test_answers_are_metadata_and_questions_without_a_known_passage_are_counted(tmp_path):
    odd = [hotpot(90, supporting_facts={"title": ["Elsewhere"]}), hotpot(91, question=" "), hotpot(61)]
    data = read(write(tmp_path, "hotpotqa", rows_of("hotpotqa", validation=odd)))
    assert sum(map(len, data.qrels.values())) == 70
    assert "3 questions were skipped" in (tmp_path / "README.md").read_text()
    assert data.metadata["h3"] == {"kind": "bridge", "answers": ["Bridge 3"]}


@pytest.mark.parametrize(
    ("splits", "found"),
    [
        ({"train": [hotpot(0, context=None)], "validation": []}, "hotpotqa/hotpot_qa, split train: "),
        ({"train": []}, "hotpotqa/hotpot_qa: .*'validation'.* train"),
        ({"train": [], "validation": []}, "hotpotqa.* 0 "),
    ],
)
def test_a_source_that_has_changed_is_named(tmp_path, splits, found):
    with pytest.raises(DataError, match=found):
        write(tmp_path / "new", "hotpotqa", splits)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("name", "settings"), [("hotpot", {}), ("hotpotqa", {"limit": 0})])
def test_wrong_settings_are_refused(tmp_path, name, settings):
    with pytest.raises(ConfigError):
        write(tmp_path, name, {}, **settings)


@pytest.mark.parametrize(("name", "offline"), [("hotpotqa", False), ("topiocqa", True)])
def test_the_command_reads_the_rows_of_the_hub(tmp_path, name, offline, monkeypatch, capsys):
    def load(path, name=None, data_files=None, *, streaming):
        assert streaming is not offline
        assert (data_files is None) == ((path, name) == ("hotpotqa/hotpot_qa", "distractor"))
        return rows_of("topiocqa" if data_files else "hotpotqa")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda path, file, repo_type: file)
    script = module_of("data")
    config = script.PrepareDataConfig(output=str(tmp_path / "out"), dataset=name, limit=5)
    script.main(config)
    assert read(tmp_path / "out") == read(write(tmp_path / "expected", name, limit=5))
    assert "rows" in capsys.readouterr().err


def test_the_command_says_what_to_do_without_a_network(tmp_path):
    arguments = ["--dataset", "hotpotqa", "--output", str(tmp_path / "out")]
    done = subprocess.run([*ACQO, "data", *arguments], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "hotpotqa/hotpot_qa (configuration distractor) cannot be read from the Hugging Face Hub" in done.stderr
    assert "HF_HUB_OFFLINE=1" in done.stderr
    assert not list(tmp_path.iterdir())

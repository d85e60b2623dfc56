"""The public data sets: rows of the same columns as theirs, written by us, become BEIR folders."""

from __future__ import annotations

import subprocess

import datasets
import huggingface_hub
import pytest
from shared import ACQO

from acqo_rl.cli import module_of
from acqo_rl.data.beir import read_beir, read_corpus, read_qrels, read_queries, read_query_metadata, read_splits
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


def two_splits(make):
    return {"train": [make(n) for n in range(60)], "validation": [make(n) for n in range(60, 70)]}


def tables(name):
    """Path and configuration -> split -> rows, of one data set."""
    judged = [{"query-id": n, "corpus-id": n + 10, "score": n % 2 + 1} for n in range(40)]
    odd = [{"query-id": 30, "corpus-id": 3, "score": 0}, {"query-id": 39, "corpus-id": 999, "score": 1}]
    return {
        "hotpotqa": {("hotpotqa/hotpot_qa", "distractor"): two_splits(hotpot)},
        "topiocqa": {("McGill-NLP/TopiOCQA", None): two_splits(topiocqa)},
        "beir/scifact": {
            ("BeIR/scifact", "corpus"): {
                "corpus": [{"_id": f"{n}", "title": f"T{n}", "text": f"Text {n}."} for n in range(100)]
            },
            ("BeIR/scifact", "queries"): {
                "queries": [{"_id": f"{n}", "title": "", "text": f"claim {n}"} for n in range(40)]
            },
            ("BeIR/scifact-qrels", None): {"train": judged[:30], "test": judged[30:] + odd},
        },
    }[name]


NAMES = ["hotpotqa", "topiocqa", "beir/scifact"]
HOTPOT = ("hotpotqa/hotpot_qa", "distractor")


def write(folder, name, rows=None, **settings):
    rows = tables(name) if rows is None else rows
    opened = lambda table: {split: iter(r) for split, r in rows[table.path, table.config].items()}  # noqa: E731
    write_public(folder, name, opened, **{"distractors": 1000, **settings})
    return folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("name", NAMES)
def test_every_split_is_judged_within_the_corpus_and_the_source_is_named(tmp_path, name):
    folder = write(tmp_path, name)
    assert read_splits(folder) == ["dev", "test", "train"]
    for split in ("dev", "test", "train"):
        assert read_beir(folder, split).qrels[split] == read_qrels(folder, split)
    readme = (folder / "README.md").read_text()
    assert all(f"https://huggingface.co/datasets/{path}" in readme for path, _ in tables(name))
    assert "Licence: " in readme
    assert f"{len(read_corpus(folder)):,} passages" in readme


@pytest.mark.parametrize("name", NAMES)
def test_the_selection_depends_on_the_seed_and_held_out_queries_do_not(tmp_path, name):
    """The order of the rows does not matter, and a query is in the same split in every selection."""
    whole = write(tmp_path / "all", name)
    split_of = {q: split for split in read_splits(whole) for q in read_qrels(whole, split)}
    turned = {key: {split: r[::-1] for split, r in splits.items()} for key, splits in tables(name).items()}
    folders = [
        write(tmp_path / str(i), name, rows, limit=4, distractors=5, seed=seed)
        for i, (rows, seed) in enumerate(((None, 0), (turned, 0), (None, 1)))
    ]
    same, again, other = ({q.id for q in read_queries(folder)} for folder in folders)
    assert same == again != other
    assert set(read_corpus(folders[0])) == set(read_corpus(folders[1]))
    for folder in folders:
        for split in read_splits(folder):
            assert len(read_qrels(folder, split)) <= 4
            assert {split_of[query_id] for query_id in read_qrels(folder, split)} == {split}


def test_gold_and_distractors_of_the_queries_stay_under_a_limit(tmp_path):
    folder = write(tmp_path, "hotpotqa", limit=2, distractors=0)
    documents = read_corpus(folder)
    for split in read_splits(folder):
        for query_id, judged in read_qrels(folder, split).items():
            number = query_id.removeprefix("h")
            assert {documents[d].title for d in judged} == {f"Quarry {number}", f"Bridge {number}"}
    assert passage(" Heath", "A heath\nis dry land.").id in documents  # equal paragraphs are one document
    assert len(documents) == 2 * len(read_queries(folder)) + 1
    more = read_corpus(write(tmp_path / "more", "hotpotqa", limit=2, distractors=7))
    assert (set(documents) < set(more), len(more)) == (True, len(documents) + 7)


def test_conversations_stay_whole_and_their_turns_in_order(tmp_path):
    folder = write(tmp_path, "topiocqa")
    third = next(q for q in read_queries(folder) if q.id.endswith("-3"))
    assert [*map(str, third.history)] == ["U: where is the ferry?", "S: At the pier.", "U: who steers it?", "S: Mia."]
    groups = {split: {q.rsplit("-", 1)[0] for q in read_qrels(folder, split)} for split in read_splits(folder)}
    assert not groups["train"] & groups["dev"]
    assert next(iter(read_corpus(folder).values())).title == "Ferry: Times"


def test_answers_are_metadata_and_questions_without_a_known_passage_are_counted(tmp_path):
    rows, elsewhere = tables("hotpotqa"), {"supporting_facts": {"title": ["Elsewhere"]}}
    rows[HOTPOT]["validation"] += [hotpot(90, **elsewhere), hotpot(91, question=" "), hotpot(61)]
    folder = write(tmp_path, "hotpotqa", rows)
    assert len(read_queries(folder)) == 70
    assert "3 were skipped" in (folder / "README.md").read_text()
    assert read_query_metadata(folder)["h3"] == {"kind": "bridge", "answers": ["Bridge 3"]}


def test_beir_keeps_ids_grades_and_splits(tmp_path):
    folder = write(tmp_path, "beir/scifact", distractors=20)
    qrels = read_qrels(folder, "test")
    assert (qrels["30"]["40"], qrels["31"], qrels["39"]) == (1, {"41": 2}, {"49": 2})
    assert len(read_corpus(folder)) in range(40 + 20, 40 + 22)
    assert len(read_queries(folder, "train")) + len(read_queries(folder, "dev")) == 30


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
        write(tmp_path / "new", "hotpotqa", {HOTPOT: splits})
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, {}) for name in ("hotpot", "beir", "beir/")), ("hotpotqa", {"limit": 0}), ("nq", {"distractors": -1})],
)
def test_wrong_settings_are_refused(tmp_path, name, settings):
    with pytest.raises(ConfigError):
        write(tmp_path, name, {}, **settings)


@pytest.fixture
def prepare(monkeypatch, tmp_path):
    """The command, with the rows of these tables in place of the Hub."""
    rows = {key: splits for name in NAMES for key, splits in tables(name).items()}

    def load(path, name=None, data_files=None, *, streaming):
        assert streaming is not huggingface_hub.is_offline_mode()
        return rows["McGill-NLP/TopiOCQA" if data_files else path, name]

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda path, file, repo_type: file)
    script = module_of("data")

    def run(name, out="out", **settings):
        config = script.PrepareDataConfig(output=str(tmp_path / out), dataset=name, **settings)
        script.main(config)
        return tmp_path / out, script.command_of(config)

    return run


@pytest.mark.parametrize(("name", "offline"), [("hotpotqa", False), ("topiocqa", True), ("beir/scifact", False)])
def test_the_command_reads_the_tables_of_the_hub(prepare, tmp_path, name, offline, monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    folder, command = prepare(name, limit=[5], distractors=3)
    expected = write(tmp_path / "expected", name, limit=5, distractors=3, command=command)
    assert contents(folder) == contents(expected)
    assert "rows" in capsys.readouterr().err


def test_the_command_says_what_to_do_without_a_network(tmp_path):
    arguments = ["--dataset", "hotpotqa", "--output", str(tmp_path / "out")]
    done = subprocess.run([*ACQO, "data", *arguments], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "hotpotqa/hotpot_qa (configuration distractor) cannot be read from the Hugging Face Hub" in done.stderr
    assert "HF_HUB_OFFLINE=1" in done.stderr
    assert not list(tmp_path.iterdir())

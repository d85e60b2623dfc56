"""The public data sets: rows of the same columns as theirs, written by us, become BEIR folders."""

import json
import subprocess
from pathlib import Path

import datasets
import huggingface_hub
import pytest
from shared import ACQO

from acqo_rl.cli import module_of
from acqo_rl.cli.command import parse
from acqo_rl.data.beir import read_beir, read_corpus, read_qrels, read_queries, read_query_metadata, read_splits
from acqo_rl.data.public import passage, write_public
from acqo_rl.errors import ConfigError, DataError

ROOT = Path(__file__).parents[2]


def hotpot(number, gold="Quarry", **changes):
    """Two separate supporting paragraphs, and one distractor shared by all rows."""
    titles = [f"{gold} {number}", f"Bridge {number}", "Heath"]
    row = {
        "id": f"h{number}",
        "question": f"Which bridge is built of stone from quarry {number}?",
        "answer": f"Bridge {number}",
        "type": "bridge",
        "level": "easy",
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


def topiocqa(conversation, turn):
    context = ["where is the ferry?", "At the pier.", "who steers it?", "Mia."][: 2 * (turn - 1)]
    return {
        "Conversation_no": conversation,
        "Turn_no": turn,
        "Question": f"and when, number {turn}?",
        "Answer": "At noon.",
        "Topic": "Ferry",
        "Rationale": "it leaves at noon",
        "Context": context,
        "Gold_passage": {
            "id": f"wiki:{turn}",
            "title": "Ferry [SEP] Times",
            "text": f"Ferry {conversation} leaves at noon, {turn}.",
        },
    }


def two_splits(make):
    return {"train": [make(n) for n in range(60)], "validation": [make(n) for n in range(60, 70)]}


def tables(name):
    """Path and configuration -> split -> rows, of one data set."""
    beir = {
        ("BeIR/scifact", "corpus"): {
            "corpus": [{"_id": f"{n}", "title": f"T{n}", "text": f"Text {n}."} for n in range(100)]
        },
        ("BeIR/scifact", "queries"): {
            "queries": [{"_id": f"{n}", "title": "", "text": f"claim {n}"} for n in range(40)]
        },
        ("BeIR/scifact-qrels", None): {
            "train": [{"query-id": n, "corpus-id": n + 10, "score": 1} for n in range(30)],
            "test": [{"query-id": n, "corpus-id": n + 10, "score": n % 2 + 1} for n in range(30, 40)]
            + [{"query-id": 30, "corpus-id": 3, "score": 0}, {"query-id": 39, "corpus-id": 999, "score": 1}],
        },
    }
    return {
        "hotpotqa": {("hotpotqa/hotpot_qa", "distractor"): two_splits(hotpot)},
        "topiocqa": {("McGill-NLP/TopiOCQA", None): two_splits(lambda n: topiocqa(n // 3, n % 3 + 1))},
        "beir/scifact": beir,
    }[name]


NAMES = ["hotpotqa", "topiocqa", "beir/scifact"]


def opener(rows):
    return lambda table: {split: iter(r) for split, r in rows[table.path, table.config].items()}


def write(folder, name, rows=None, **settings):
    write_public(folder, name, opener(tables(name) if rows is None else rows), **{"distractors": 1000, **settings})
    return folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("name", NAMES)
def test_every_split_is_judged_within_the_corpus_and_the_source_is_named(tmp_path, name):
    folder = write(tmp_path, name)
    assert read_splits(folder) == ["dev", "test", "train"]
    for split in ("dev", "test", "train"):
        assert read_beir(folder, split).qrels[split] == read_qrels(folder, split)
        assert all(any(judged.values()) for judged in read_qrels(folder, split).values())
    readme = (folder / "README.md").read_text()
    for path, _ in tables(name):
        assert f"https://huggingface.co/datasets/{path}" in readme
    assert "Licence: " in readme
    assert f"{len(read_corpus(folder)):,} passages" in readme


@pytest.mark.parametrize("name", NAMES)
def test_same_settings_same_bytes_in_any_order_of_the_rows(tmp_path, name):
    settings = {"limit": 4, "distractors": 5}
    first = write(tmp_path / "first", name, **settings)
    assert contents(write(tmp_path / "again", name, **settings)) == contents(first)
    turned = {key: {split: r[::-1] for split, r in splits.items()} for key, splits in tables(name).items()}
    other = write(tmp_path / "turned", name, turned, **settings)
    assert {q.id for q in read_queries(other)} == {q.id for q in read_queries(first)}
    assert set(read_corpus(other)) == set(read_corpus(first))
    assert {q.id for q in read_queries(write(tmp_path / "seed", name, seed=1, **settings))} != {
        q.id for q in read_queries(first)
    }


@pytest.mark.parametrize("name", NAMES)
def test_what_is_held_out_depends_neither_on_seed_nor_limit(tmp_path, name):
    everything = write(tmp_path / "all", name)
    split_of = {q: split for split in read_splits(everything) for q in read_qrels(everything, split)}
    for seed in (0, 1):
        part = write(tmp_path / f"part{seed}", name, limit=3, distractors=0, seed=seed)
        for split in read_splits(part):
            assert len(read_qrels(part, split)) <= 3
            assert {split_of[query_id] for query_id in read_qrels(part, split)} == {split}


def test_gold_and_distractors_of_the_queries_stay_under_a_limit(tmp_path):
    folder = write(tmp_path, "hotpotqa", limit=2, distractors=0)
    documents = read_corpus(folder)
    for split in read_splits(folder):
        for query_id, judged in read_qrels(folder, split).items():
            number = query_id.removeprefix("h")
            assert {documents[d].title for d in judged} == {f"Quarry {number}", f"Bridge {number}"}
    assert passage("Heath", "A heath is dry land.").id in documents
    assert len(documents) == 2 * len(read_queries(folder)) + 1
    more = read_corpus(write(tmp_path / "more", "hotpotqa", limit=2, distractors=7))
    assert set(documents) < set(more)
    assert len(more) == len(documents) + 7
    whole = read_corpus(write(tmp_path / "whole", "hotpotqa", limit=2, distractors=None))
    assert len(whole) == 2 * 70 + 1


def test_equal_paragraphs_are_one_document(tmp_path):
    documents = read_corpus(write(tmp_path, "hotpotqa"))
    assert sum(document.title == "Heath" for document in documents.values()) == 1
    assert passage(" A  b", "c\nd") == passage("A b", "c d")
    assert passage("a b", "c").id != passage("a", "b c").id


def test_conversations_stay_whole_and_their_turns_in_order(tmp_path):
    folder = write(tmp_path, "topiocqa")
    third = next(q for q in read_queries(folder) if q.id.endswith("-3"))
    assert [*map(str, third.history)] == ["U: where is the ferry?", "S: At the pier.", "U: who steers it?", "S: Mia."]
    assert next(q for q in read_queries(folder) if q.id.endswith("-1")).history == ()
    groups = {split: {q.rsplit("-", 1)[0] for q in read_qrels(folder, split)} for split in read_splits(folder)}
    assert not groups["train"] & groups["dev"]
    assert next(iter(read_corpus(folder).values())).title == "Ferry: Times"


def test_answers_are_in_the_metadata_only(tmp_path):
    folder = write(tmp_path, "hotpotqa")
    assert read_query_metadata(folder)["h3"] == {"kind": "bridge", "answers": ["Bridge 3"]}
    assert "Bridge 3" not in "".join(query.text for query in read_queries(folder))


def test_questions_without_a_known_passage_are_left_out_and_counted(tmp_path):
    rows = tables("hotpotqa")
    elsewhere = {"supporting_facts": {"title": ["Elsewhere"], "sent_id": [0]}}
    rows["hotpotqa/hotpot_qa", "distractor"]["validation"] += [
        hotpot(90, **elsewhere),
        hotpot(91, question=" "),
        hotpot(61),
    ]
    folder = write(tmp_path / "some", "hotpotqa", rows)
    assert len(read_queries(folder)) == 70
    assert "3 were skipped" in (folder / "README.md").read_text()
    rows["hotpotqa/hotpot_qa", "distractor"]["train"] = [hotpot(n, **elsewhere) for n in range(9)]
    assert read_splits(write(tmp_path / "test", "hotpotqa", rows)) == ["test"]


def test_beir_keeps_ids_grades_and_splits(tmp_path):
    folder = write(tmp_path, "beir/scifact", distractors=20)
    qrels = read_qrels(folder, "test")
    assert qrels["30"] == {"40": 1} | ({"3": 0} if "3" in read_corpus(folder) else {})
    assert qrels["31"] == {"41": 2}
    assert qrels["39"] == {"49": 2}
    assert len(read_corpus(folder)) in range(40 + 20, 40 + 22)
    assert len(read_queries(folder, "train")) + len(read_queries(folder, "dev")) == 30


def drifted(change):
    row = hotpot(0)
    change(row)
    return {("hotpotqa/hotpot_qa", "distractor"): {"train": [row], "validation": []}}


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda row: row.pop("question"), "question"),
        (lambda row: row["context"].pop("title"), "context.title"),
        (lambda row: row.update(answer=None), "answer"),
        (lambda row: row.update(context=[["Heath", ["Dry."]]]), "context"),
        (lambda row: row["context"].update(sentences=["Dry."]), "context.sentences.0"),
    ],
)
def test_changed_columns_are_named(tmp_path, change, column):
    with pytest.raises(DataError, match=rf"hotpotqa/hotpot_qa, split train: {column}: "):
        write(tmp_path / "new", "hotpotqa", drifted(change))
    assert not (tmp_path / "new").exists()


def test_changed_splits_and_unusable_sources_are_named(tmp_path):
    with pytest.raises(DataError, match=r"hotpotqa/hotpot_qa: .*'validation'.* train"):
        write(tmp_path, "hotpotqa", {("hotpotqa/hotpot_qa", "distractor"): {"train": []}})
    with pytest.raises(DataError, match=r"hotpotqa.* 0 "):
        write(tmp_path, "hotpotqa", {("hotpotqa/hotpot_qa", "distractor"): {"train": [], "validation": []}})


def test_wrong_settings_are_refused(tmp_path):
    for name in ("hotpot", "beir", "beir/"):
        with pytest.raises(ConfigError, match=r"hotpotqa, .*beir/NAME"):
            write(tmp_path, name, {})
    for settings in ({"limit": 0}, {"distractors": -1}):
        with pytest.raises(ConfigError, match=r"limit is .* distractors is "):
            write(tmp_path, "hotpotqa", **settings)


@pytest.fixture
def script(monkeypatch):
    """The command, as online: a stream of local files needs no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return module_of("data")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Puts rows into local files, and sends names of the Hub there; all else is ``datasets`` itself."""
    folder, load = tmp_path / "hub", datasets.load_dataset

    def put(rows):
        for (path, config), splits in rows.items():
            for split, split_rows in splits.items():
                file = folder / path / (config or "data") / f"{split}.parquet"
                file.parent.mkdir(parents=True, exist_ok=True)
                if path == "McGill-NLP/TopiOCQA":
                    name = {"train": "topiocqa_train.jsonl", "validation": "topiocqa_valid.jsonl"}[split]
                    (file.parent / name).write_text("".join(json.dumps(row) + "\n" for row in split_rows))
                elif path.endswith("-qrels"):
                    lines = ["\t".join(split_rows[0]), *("\t".join(map(str, row.values())) for row in split_rows)]
                    file.with_suffix(".tsv").write_text("\n".join(lines) + "\n")
                else:
                    datasets.Dataset.from_list(split_rows).to_parquet(file)
        for path, _ in rows:
            configs = {c: splits for (p, c), splits in rows.items() if p == path and c}
            front = [
                {
                    "config_name": config,
                    "data_files": [{"split": split, "path": f"{config}/{split}.parquet"} for split in splits],
                }
                for config, splits in configs.items()
            ]
            if front:
                (folder / path / "README.md").write_text(f"---\nconfigs: {json.dumps(front)}\n---\n")

    def load_local(path, streaming, **source):
        assert streaming is not huggingface_hub.is_offline_mode()
        path = path if path == "json" else str(folder / path)
        return load(path, streaming=streaming, cache_dir=str(folder / "cache"), **source)

    monkeypatch.setattr(datasets, "load_dataset", load_local)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda path, file, repo_type: str(folder / path / file))
    return put


@pytest.mark.parametrize("name", NAMES)
def test_script_streams_the_tables_of_the_hub(script, hub, tmp_path, name, capsys):
    hub(tables(name))
    config = script.PrepareDataConfig(output=str(tmp_path / "out"), dataset=name, limit=[5], distractors=3)
    script.main(config)
    expected = write(tmp_path / "expected", name, limit=5, distractors=3, command=script.command_of(config))
    assert contents(tmp_path / "out") == contents(expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["expected", "hub", "out"]
    assert "rows" in capsys.readouterr().err


def test_script_reads_the_cache_offline(script, hub, tmp_path, monkeypatch):
    hub(tables("topiocqa"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    script.main(script.PrepareDataConfig(output=str(tmp_path / "out"), dataset="topiocqa"))
    assert len(read_queries(tmp_path / "out")) == 70


def test_script_leaves_the_same_data_set_and_refuses_any_other(script, hub, tmp_path, capsys):
    hub(tables("hotpotqa"))
    out = tmp_path / "out"
    out.mkdir()
    config = script.PrepareDataConfig(output=str(out), dataset="hotpotqa", limit=[1])
    script.main(config)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    script.main(config)
    assert "already" in capsys.readouterr().out
    for other in ({"limit": [10]}, {"seed": 11}, {"dataset": "embedded", "limit": []}):
        with pytest.raises(ConfigError):
            script.main(script.PrepareDataConfig(**{**vars(config), **other}))
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="file"):
        script.main(script.PrepareDataConfig(output=str(tmp_path / "file"), dataset="hotpotqa"))
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_script_takes_one_limit_for_a_data_set_and_one_for_each_source_of_a_union(script, hub, tmp_path):
    hub(tables("hotpotqa"))
    with pytest.raises(ConfigError, match=r"limit is \[1, 2\]"):
        script.main(script.PrepareDataConfig(output=str(tmp_path / "out"), dataset="hotpotqa", limit=[1, 2]))
    first = write(tmp_path / "a", "topiocqa", limit=3, distractors=0)
    second = write(tmp_path / "b", "hotpotqa", limit=3, distractors=0)
    arguments = ["--dataset", "union", "--sources", str(first), str(second), "--limit", "2", "1"]
    config = parse(script.make_parser(), [*arguments, "--output", str(tmp_path / "both")])
    script.main(config)
    assert len(read_qrels(tmp_path / "both", "train")) == 3
    assert "--limit 2 1" in (tmp_path / "both" / "README.md").read_text()


def test_script_writes_nothing_where_columns_changed(script, hub, tmp_path):
    hub(drifted(lambda row: row.pop("question")) | {})
    with pytest.raises(DataError, match="question: "):
        script.main(script.PrepareDataConfig(output=str(tmp_path / "out"), dataset="hotpotqa"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hub"]


def test_script_says_what_to_do_without_a_network(tmp_path):
    out = tmp_path / "out"
    arguments = ["--dataset", "hotpotqa", "--output", str(out)]
    done = subprocess.run([*ACQO, "data", *arguments], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "hotpotqa/hotpot_qa (configuration distractor) cannot be read from the Hugging Face Hub" in done.stderr
    assert "HF_HUB_OFFLINE=1" in done.stderr
    assert not list(tmp_path.iterdir())


def test_script_keeps_the_embedded_set_as_it_is(script, tmp_path, capsys):
    config = script.PrepareDataConfig(output=str(tmp_path / "out"))
    script.main(config)
    script.main(config)
    assert "already" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="limit"):
        script.main(script.PrepareDataConfig(output=str(tmp_path / "small"), limit=[3]))

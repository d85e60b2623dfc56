"""Faults of a BEIR folder are listed at once, each with its file and line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_data_set import QUERIES

from acqo_rl.data.beir import read_beir, read_corpus, read_queries, write_beir
from acqo_rl.errors import DataError

BAD_LINES = [
    *('{"_id": "d3", "text": ', "[1, 2]", "[" * 100_000, f'{{"_id": "d3", "text": {"9" * 5000}}}'),
    *('{"_id": "d3", "text": NaN}', '{"_id": "d3", "text": "t", "score": -Infinity}', '{"_id": "d3", "text": 1e999}'),
    *('{"text": "t"}', '{"id": "d3", "text": "t"}', '{"_id": true, "text": "t"}', '{"_id": null, "text": "t"}'),
    *('{"_id": "", "text": "t"}', '{"_id": " ", "text": "t"}', '{"_id": "d 3", "text": "t"}'),
    *('{"_id": "d3"}', '{"_id": "d3", "text": null}', '{"_id": "d3", "text": 42}'),
    *('{"_id": "d3", "title": ["t"], "text": "t"}', '{"_id": "d3", "text": "t", "metadata": ["url"]}'),
    *('{"_id": "d3", "text": "t", "text": "u"}', '{"_id": "d3", "text": "t", "metadata": {"a": 1, "a": 2}}'),
    '{"_id": "d1", "text": "t"}',
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_named(folder, line):
    """Nothing but the last id is wrong in the last line: it is that of an earlier one."""
    path = folder / "corpus.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_corpus(folder)
    assert str(error.value).startswith(f"{path}, line 3: ")


@pytest.mark.parametrize(
    "row",
    [
        {"metadata": [1]},
        {"metadata": {"history": 3}},
        {"metadata": {"history": [{"role": "user"}]}},
        {"text": "\u200b"},
    ],
)
def test_bad_queries_are_named(folder, row):
    path = folder / "queries.jsonl"
    path.write_text(json.dumps({"_id": "q1", "text": "t", **row}) + "\n")
    with pytest.raises(DataError) as error:
        read_queries(folder)
    assert str(error.value).startswith(f"{path}, line 1: ")


@pytest.mark.parametrize(
    "lines",
    [
        *(["query_id\tdoc_id\tscore"], ["q1,d1,1"], ["q1\td1\t1.0"], ["q1 d 1 1 1"], ["q1\t\t1"], ["q1\td1\tNaN"]),
        *(["q1\td1\t1", line] for line in ("q1 0 d2", "q1\td1", "q1\td2\t0.5", "q1\td1\t2")),
    ],
)
def test_bad_qrels_are_named(folder, lines):
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"test\.tsv, line {len(lines)}: "):
        read_beir(folder, "test")


def test_every_fault_of_a_folder_is_listed_at_once(folder, caplog):
    corpus = folder / "corpus.jsonl"
    queries = folder / "queries.jsonl"
    qrels = folder / "qrels" / "test.tsv"
    corpus.write_text('{"_id": "d 1", "title": ["x"], "text": null}\nno JSON\n{"_id": "d2", "text": "t"}\n')
    queries.write_text('{"_id": "q1"}\n{"_id": "q2", "text": "t", "metadata": {"history": 3}}\n')
    qrels.write_text("q1\td2\t0.5\nq1\td2\nq1\td1\t1\nq1\td2\t1\n")
    with pytest.raises(DataError) as error:
        read_beir(folder, "test", "train")
    first, *lines = str(error.value).split("\n")
    assert first.startswith("9 faults")
    assert not caplog.records  # d1 is missing only because of a fault
    numbers = {corpus: [1, 1, 1, 2], queries: [1, 2], qrels: [1, 2]}
    wanted = [f"{path}, line {number}: " for path, numbers in numbers.items() for number in numbers]
    wanted.append(f"{folder}/qrels/train.tsv: ")
    assert all(line.startswith(start) for line, start in zip(lines, wanted, strict=True))


def test_the_first_faults_of_each_file_are_shown_and_the_others_counted(folder):
    (folder / "corpus.jsonl").write_text('{"_id": "d"}\n' * 30 + "{\n" * 500)
    (folder / "queries.jsonl").write_text('{"_id": ""}\n' * 2)
    with pytest.raises(DataError) as error:
        read_beir(folder)
    first, *lines = str(error.value).split("\n")
    assert first == "534 faults:"
    assert lines[10] == f"{folder}/corpus.jsonl: 520 more"
    assert [line.startswith(f"{folder}/queries.jsonl, line") for line in lines] == [False] * 11 + [True] * 4


def test_judgements_of_what_is_not_there_are_left_out_and_counted(folder, caplog):
    path = folder / "qrels" / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t1\nq9\td1\t1\nq2\td8\t1\nq2\td1\t0\n")
    data = read_beir(folder, "test")
    assert data.qrels["test"] == {"q1": {"d1": 1}}
    assert data.queries["test"] == QUERIES[:1]
    [record] = caplog.records
    assert all(said in record.message for said in (str(path), " 3 ", " 1 ", "'d9'"))
    assert [query.id for query in read_queries(folder, "test")] == ["q1", "q2"]


def test_missing_and_empty_files_are_named(folder):
    corpus = folder / "corpus.jsonl"
    queries = folder / "queries.jsonl"
    qrels = folder / "qrels" / "test.tsv"
    with pytest.raises(DataError, match=r"train\.tsv: .* dev, test"):
        read_beir(folder, "train")
    qrels.write_text("q1\td8\t1\nq1\td9\t1\n")
    with pytest.raises(DataError, match=r"test\.tsv: .*'d8'"):
        read_beir(folder, "test")
    for change in (lambda path: path.write_text("\n\n"), Path.unlink):
        for path in (corpus, queries, qrels):
            change(path)
        with pytest.raises(DataError) as error:
            read_beir(folder, "test")
        assert all(f"{path}: " in str(error.value) for path in (corpus, queries, qrels))
    with pytest.raises(DataError, match="missing"):
        read_beir(folder / "missing", "train")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"_id": "d3", "text": "K\xf6ln"}\n', "UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 12\n", "git lfs pull"),
    ],
)
def test_bytes_that_are_not_text_are_one_fault(folder, content, found):
    (folder / "corpus.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=rf"^{folder}/corpus\.jsonl.*{found}") as raised:
        read_corpus(folder)
    assert "\n" not in str(raised.value)


IDS = st.sampled_from(["d1", "d2", "q1", 1, 1.0, "1", "d 1", " d1", "", None, True, [], {}])
VALUES = st.one_of(IDS, st.text(max_size=5), st.floats(), st.integers(), st.lists(st.text(max_size=3), max_size=2))
HISTORIES = st.one_of(VALUES, st.lists(VALUES), st.dictionaries(st.sampled_from(["role", "content", "text"]), VALUES))
ANY_METADATA = st.one_of(VALUES, st.fixed_dictionaries({}, optional={"history": HISTORIES, "url": VALUES}))
ROWS = st.fixed_dictionaries(
    {}, optional={"_id": IDS, "id": IDS, "title": VALUES, "text": VALUES, "metadata": ANY_METADATA}
)
JSON_LINES = st.one_of(ROWS.map(json.dumps), VALUES.map(json.dumps), st.text(max_size=8)).map(
    lambda line: line.encode("utf-8", "surrogatepass")
)
CELLS = st.one_of(IDS.map(str), st.sampled_from(["query-id", "score", "1", "0", "1.0", "-1", "x"]))
QRELS_LINES = st.builds(
    lambda cells, separator: separator.join(cells).encode("utf-8", "surrogatepass"),
    st.lists(CELLS, max_size=5),
    st.sampled_from(["\t", " ", ",", "\t\t"]),
)


@given(*(st.lists(lines, max_size=6) for lines in (JSON_LINES, JSON_LINES, QRELS_LINES)))
def test_any_folder_is_read_or_its_faults_are_listed(tmp_path_factory, corpus, queries, qrels):
    folder = tmp_path_factory.mktemp("any")
    (folder / "qrels").mkdir()
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels/test.tsv", qrels)):
        (folder / name).write_bytes(b"\n".join(lines))
    try:
        data = read_beir(folder, "test")
    except DataError as error:
        assert str(folder) in str(error)
        return
    assert {query.id for query in data.queries["test"]} == set(data.qrels["test"])
    assert {doc_id for judged in data.qrels["test"].values() for doc_id in judged} <= set(data.corpus)
    write_beir(folder / "again", data.corpus.values(), data.queries["test"], data.qrels, data.metadata)
    again = read_beir(folder / "again", "test")
    assert (again.corpus, again.queries, again.qrels) == (data.corpus, data.queries, data.qrels)

"""Files of other programs that are no plain tables: SQuAD, Parquet, quoted TSV, UTF-16, FAQ and short judgements."""

from __future__ import annotations

import json

import pytest

from acqo_rl.data.beir import read_beir, read_corpus, read_queries
from acqo_rl.data.files import write_files
from acqo_rl.errors import DataError
from acqo_rl.types import Document

SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Oslo",
            "paragraphs": [
                {"context": "Oslo is a city.", "qas": [{"id": "q1", "question": "What is Oslo?", "answers": []}]},
                {"context": "It has trams.", "qas": [{"id": "q2", "question": "Are there trams?", "answers": []}]},
            ],
        }
    ],
}


def corpus_of(folder, name, content):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    write_files(folder / "out", [folder / name])
    return list(read_corpus(folder / "out").values())


def test_squad_gives_one_document_per_paragraph_and_its_questions(tmp_path):
    (tmp_path / "squad.json").write_text(json.dumps(SQUAD))
    write_files(tmp_path / "out", [tmp_path / "squad.json"], [tmp_path / "squad.json"])
    assert list(read_corpus(tmp_path / "out").values()) == [
        Document("1", "Oslo", "Oslo is a city."),
        Document("2", "Oslo", "It has trams."),
    ]
    assert [(query.id, query.text) for query in read_queries(tmp_path / "out")] == [
        ("q1", "What is Oslo?"),
        ("q2", "Are there trams?"),
    ]


def test_paragraphs_that_are_texts_are_one_text(tmp_path):
    row = {"id": "a", "title": "Oslo", "paragraphs": ["A city.", "It has trams."]}
    assert corpus_of(tmp_path, "d.jsonl", json.dumps(row)) == [Document("a", "Oslo", "A city.\nIt has trams.")]


@pytest.mark.parametrize(
    ("header", "document"),
    [
        ("Question,Answer", Document("1", "Where?", "In Oslo.")),
        ("Passage Title,Passage Text", Document("1", "Where?", "In Oslo.")),
        (",title,text", Document("1", "Where?", "In Oslo.")),
        ("Unnamed: 0,title,text", Document("1", "Where?", "In Oslo.")),
    ],
)
def test_headers_of_faq_and_passages_and_an_index_of_pandas(tmp_path, header, document):
    index = "0," if header.count(",") == 2 else ""
    assert corpus_of(tmp_path, "d.csv", f"{header}\n{index}Where?,In Oslo.\n") == [document]


def test_a_question_beside_a_passage_is_no_title_because_it_would_reveal_the_document(tmp_path):
    row = {"id": "a", "question": "Where?", "context": "Oslo is in Norway.", "answer": "Norway"}
    document = Document("a", "", "Oslo is in Norway.", {"question": "Where?", "answer": "Norway"})
    assert corpus_of(tmp_path, "d.jsonl", json.dumps(row)) == [document]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quoted_cell_of_a_tsv_may_have_tabs_and_line_breaks(tmp_path, encoding, end):
    rows = [
        "id\ttitle\ttext",
        'a\tOslo\t"one',
        "",
        'two ""or"" three"',
        'b\t"x\ty"\tz',
        'c\t"Quoted" title\t"open',
        "d\tA\tB",
    ]
    assert corpus_of(tmp_path, "d.tsv", end.join(rows).encode(encoding)) == [
        Document("a", "Oslo", 'one\n\ntwo "or" three'),
        Document("b", "x\ty", "z"),
        Document("c", '"Quoted" title', '"open'),
        Document("d", "A", "B"),
    ]


def test_a_tsv_row_with_too_few_cells_is_a_fault_of_its_line(tmp_path):
    with pytest.raises(DataError, match="line 3: found 1 columns"):
        corpus_of(tmp_path, "d.tsv", 'id\ttext\na\t"one" two\nb\nc\tthree\n')


def test_unicode_text_of_excel_is_a_table(tmp_path):
    content = "id\ttitle\ttext\r\na\tK\u00f6ln\t\u0141\u00f3d\u017a\r\n".encode("utf-16")
    assert corpus_of(tmp_path, "d.txt", content) == [Document("a", "K\u00f6ln", "\u0141\u00f3d\u017a")]


def test_damaged_utf16_is_a_fault(tmp_path):
    with pytest.raises(DataError, match="UTF-16"):
        corpus_of(tmp_path, "d.csv", "id,text\na,b\n".encode("utf-16")[:-1])


def test_parquet(tmp_path):
    from pyarrow import Table, parquet

    rows = [{"id": 1, "title": "T", "text": "one", "tags": ["x"], "__index_level_0__": 7}]
    parquet.write_table(Table.from_pylist(rows), tmp_path / "d.parquet")
    write_files(tmp_path / "out", [tmp_path / "d.parquet"])
    assert list(read_corpus(tmp_path / "out").values()) == [Document("1", "T", "one", {"tags": ["x"]})]
    with pytest.raises(DataError, match="Parquet"):
        corpus_of(tmp_path, "damaged.parquet", b"PAR1 no")


@pytest.mark.parametrize(
    "content",
    [
        "q1\td1\n",
        "q1 d1\nq2 d2\n",
        "query-id,corpus-id\nq1,d1\n",
        "# made by hand\n#\nq1 0 d1 1\n# the end\n",
        "# made by hand\nqid\tdocid\trel\nq1\td1\t1\n",
        "q1\td1\tTrue\n",
        "q1,d1,TRUE\nq1,d2,false\n",
        '{"qid": "q1", "docid": "d1", "rel": true}',
    ],
)
def test_judgements_of_two_columns_with_comments_and_truth_values(tmp_path, content):
    judged = judgements(tmp_path, content)
    assert judged["q1"]["d1"] == 1
    assert judged["q1"].get("d2", 0) == 0


def test_a_line_of_two_columns_among_three_is_a_fault(tmp_path):
    with pytest.raises(DataError, match="line 2"):
        judgements(tmp_path, "q1 d1 1\nq1 d2\n")


def judgements(folder, content):
    for kind, ids in (("docs", ("d1", "d2")), ("queries", ("q1", "q2"))):
        (folder / f"{kind}.jsonl").write_text("\n".join(json.dumps({"id": one, "text": "x"}) for one in ids))
    (folder / "qrels.txt").write_text(content)
    write_files(folder / "out", [folder / "docs.jsonl"], [folder / "queries.jsonl"], [f"test={folder / 'qrels.txt'}"])
    return read_beir(folder / "out", "test").qrels["test"]


@pytest.mark.parametrize(
    ("content", "queries"),
    [
        ("capital, of Peru?\n\n  the <b> tag \n", [("1", "capital, of Peru?"), ("2", "the <b> tag")]),
        ("7\tcapital?\n9\tcity?\n", [("7", "capital?"), ("9", "city?")]),
        ("qid\tquery\na\tcapital?\n", [("a", "capital?")]),
        ("<top><num> Number: 301 <title> crime </top>", [("301", "crime")]),
    ],
)
def test_a_text_file_has_one_query_per_line_unless_it_is_a_table_or_topics(tmp_path, content, queries):
    (tmp_path / "d.txt").write_text("one\ntwo")
    (tmp_path / "q.txt").write_text(content)
    write_files(tmp_path / "out", [tmp_path / "d.txt"], [tmp_path / "q.txt"])
    assert [(query.id, query.text) for query in read_queries(tmp_path / "out")] == queries
    assert [document.text for document in read_corpus(tmp_path / "out").values()] == ["one\ntwo"]


def test_ids_of_queries_in_a_beir_folder_may_have_spaces(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": " topic 1", "text": "x"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\ntopic 1\td1\t1\n")
    assert read_beir(tmp_path, "test").qrels["test"] == {"topic_1": {"d1": 1}}

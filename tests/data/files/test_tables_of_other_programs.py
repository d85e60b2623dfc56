"""Tables as other programs write them: JSON of pandas, judgements with other headers, and markup in texts."""

from __future__ import annotations

import json

import pytest

from acqo_rl.data.beir import read_beir, read_corpus, read_queries
from acqo_rl.data.files import write_files
from acqo_rl.data.files.pages import plain
from acqo_rl.errors import DataError
from acqo_rl.types import Document

ROWS = [{"id": "a", "title": "T", "text": "one"}, {"id": "b", "title": "U", "text": "two"}]
COLUMNS = {key: {str(n): row[key] for n, row in enumerate(ROWS)} for key in ROWS[0]}
WITHOUT_ID = [{"title": row["title"], "text": row["text"]} for row in ROWS]


@pytest.fixture
def corpus_of(tmp_path):
    def read(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        write_files(tmp_path / "out", [path])
        return list(read_corpus(tmp_path / "out").values())

    return read


@pytest.mark.parametrize(
    "content",
    [
        COLUMNS,
        {str(n): row for n, row in enumerate(ROWS)},
        {"columns": list(ROWS[0]), "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
        {"schema": {"fields": []}, "data": ROWS},
        {key: [row[key] for row in ROWS] for key in ROWS[0]},
        {key: {row["id"]: row[key] for row in ROWS} for key in ("title", "text")},
        {row["id"]: rest for row, rest in zip(ROWS, WITHOUT_ID, strict=True)},
        {"documents": ROWS},
        {"version": "1.0", "data": ROWS},
        ROWS,
        "\n".join(map(json.dumps, ROWS)),
        json.dumps(COLUMNS, indent=2),
        json.dumps(ROWS, indent=2),
    ],
)
@pytest.mark.parametrize("name", ["d.json", "d.jsonl"])
def test_tables_that_are_one_json_value(corpus_of, name, content):
    assert corpus_of(name, content) == [Document("a", "T", "one"), Document("b", "U", "two")]


def test_a_beir_folder_reads_the_default_format_of_pandas(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": {"0": "a", "1": "b"}, "text": {"0": "one", "1": "two"}}))
    assert list(read_corpus(tmp_path).values()) == [Document("a", "", "one"), Document("b", "", "two")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.csv", "id,title,text\na,NaN,one\nb,Nan,bread of India\nc,NAN,<NA>\nd,nan,NaN\ne,About nan,nan values\n"),
        (
            "d.tsv",
            "id\ttitle\ttext\na\tnan\tone\nb\tNan\tbread of India\nc\tNAN\tnan\nd\tNaN\t\ne\tAbout nan\tnan values\n",
        ),
        (
            "d.jsonl",
            '{"id": "a", "title": NaN, "text": "one"}\n{"id": "b", "title": "Nan", "text": "bread of India"}\n'
            '{"id": "c", "title": "NAN", "text": "nan"}\n{"id": "d", "title": "<NA>", "text": NaN}\n'
            '{"id": "e", "title": "About nan", "text": "nan values"}\n',
        ),
    ],
)
def test_words_for_a_missing_value_are_no_text_but_nan_in_a_text_or_as_a_name_is(corpus_of, caplog, name, content):
    assert corpus_of(name, content) == [
        Document("a", "", "one"),
        Document("b", "Nan", "bread of India"),
        Document("c", "NAN", ""),
        Document("e", "About nan", "nan values"),
    ]
    assert "1 document without text (d)" in caplog.text
    assert "1 document with only a title (c)" in caplog.text


def test_a_query_that_is_a_missing_value_is_left_out(tmp_path, caplog):
    (tmp_path / "d.csv").write_text("id,text\na,one\n")
    (tmp_path / "q.csv").write_text("id,query\n1,NaN\n2,nan bread\n")
    write_files(tmp_path / "out", [tmp_path / "d.csv"], [tmp_path / "q.csv"])
    assert [query.text for query in read_queries(tmp_path / "out")] == ["nan bread"]
    assert "1 query without text (1)" in caplog.text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("cp1252", "Caf\u00e9"), ("cp1250", "Erd\u0151"), ("cp1254", "I\u011fd\u0131r"), ("mac-roman", "K\u00f6ln")],
)
def test_a_table_in_a_code_page_is_refused_because_its_bytes_do_not_tell_which_one(tmp_path, encoding, text):
    (tmp_path / "d.csv").write_bytes(f"id;text\n1;{text}\n".encode(encoding))
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        write_files(tmp_path / "out", [tmp_path / "d.csv"])


def test_one_document_with_lists_is_one_document(corpus_of):
    document = {"id": "a", "text": ["one", "two"], "authors": [{"name": "x"}]}
    assert corpus_of("d.jsonl", document) == [Document("a", "", "one\ntwo", {"authors": [{"name": "x"}]})]


@pytest.mark.parametrize("content", [{"a": "one", "b": "two"}, "{\n", [["a", "one"]], "7"])
def test_other_json_is_one_fault(corpus_of, content):
    with pytest.raises(DataError) as error:
        corpus_of("d.json", content)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    "header",
    [
        "topic iter document relevancy",
        "TOPIC ITERATION DOCUMENT# RELEVANCY",
        "# topic iter document relevancy",
        "query_id\titeration\tdoc_id\trelevancy",
        "topic,iter,document,relevancy",
        "topic;iter;document;relevancy",
        "qid Q0 docid rel",
        "q_id d_id rel",
        "queryId,documentId,relevanceScore",
        "qid,pid,qrel",
        "query_no,para_id,gain",
        "search_id,item_id,rating",
        '"query-id","corpus-id","score"',
        "sep=;\nqid;docid;rel",
        "",
    ],
)
@pytest.mark.parametrize("name", ["q.csv", "q.txt", "q.tsv"])
def test_headers_of_judgements(tmp_path, header, name):
    names = header.splitlines()[-1] if header else "qid,docid,rel"
    separator = next((mark for mark in "\t;," if mark in names), " ")
    row = ["q1", "0", "d1", "1"] if len(names.lstrip("# ").split(separator)) == 4 else ["q1", "d1", "1"]
    assert judgements(tmp_path, name, f"{header}\n{separator.join(row)}\n") == {"q1": {"d1": 1}}


@pytest.mark.parametrize(
    "content",
    [
        [{"qid": "q1", "docid": "d1", "rel": 1}],
        {"qid": {"0": "q1"}, "docid": {"0": "d1"}, "rel": {"0": 1.0}},
        {"query_id": "q1", "doc_id": "d1", "relevance": 1},
    ],
)
def test_judgements_in_json(tmp_path, content):
    assert judgements(tmp_path, "q.json", json.dumps(content)) == {"q1": {"d1": 1}}


@pytest.mark.parametrize("content", ['{"q1": {"d1": "yes"}}', "q1,d1,yes\n"])
def test_judgements_without_a_relevance_are_refused(tmp_path, content):
    with pytest.raises(DataError, match="line 1"):
        judgements(tmp_path, "q.csv", content)


def judgements(folder, name, content):
    for kind, one in (("docs", "d1"), ("queries", "q1")):
        (folder / f"{kind}.jsonl").write_text(json.dumps({"id": one, "text": "x"}))
    (folder / name).write_text(content)
    write_files(folder / "out", [folder / "docs.jsonl"], [folder / "queries.jsonl"], [f"test={folder / name}"])
    return read_beir(folder / "out", "test").qrels["test"]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("Use List<String> or Map<K, List<Integer>>.", "Use List<String> or Map<K, List<Integer>>."),
        ("Use `List<String>`, vector<int>, <T> and Box<A>.", "Use List<String>, vector<int>, <T> and Box<A>."),
        ("A List<object> and an Option<Output>", "A List<object> and an Option<Output>"),
        ("<T>\n\nis a type", "<T>\n\nis a type"),
        ("A <b>bold</b> word<br>and <mark>this</mark> <my-tag>one</my-tag>", "A bold word\nand this one"),
        ("See http://x.org/?a=1&copy=2 and &copy; 2020", "See http://x.org/?a=1&copy=2 and \u00a9 2020"),
        ("Write `&lt;` for <, R&D &copy now", "Write &lt; for <, R&D &copy now"),
        (
            "Oslo[^1] is big.[^b]\n\n[^1]: A city.\n[^b]: https://x.org",
            "Oslo is big.\n\n 1. A city.\n\n 2. https://x.org",
        ),
        ("An ~~old~~ word^[Said so.]", "An old word\n\n 1. Said so."),
    ],
)
def test_markdown_keeps_types_entities_and_footnotes(tmp_path, markdown, text):
    (tmp_path / "page.md").write_text(markdown, encoding="utf-8")
    write_files(tmp_path / "out", [tmp_path / "page.md"])
    assert read_corpus(tmp_path / "out")["page.md"].text == text


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl"])
@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("<p>Hello <b>world</b></p>", "Hello world"),
        ("<mark>x</mark> and <main>y</main>", "x and\ny"),
        ("a <my-tag>b</my-tag>", "a b"),
        ("vector<int> v; <b>x</b>", "vector<int> v; x"),
        ("one <!-- two --> three", "one three"),
        ("List<String> and <T>", "List<String> and <T>"),
        ("?a=1&copy=2", "?a=1&copy=2"),
    ],
)
def test_markup_in_tables_is_removed_as_in_pages(corpus_of, name, cell, text):
    content = f'id,text\na,"{cell}"\n' if name == "d.csv" else {"id": "a", "text": cell}
    assert corpus_of(name, content) == [Document("a", "", text)]
    assert plain(cell) == text

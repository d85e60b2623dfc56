"""Files of one's own become a BEIR folder that the reader reads."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_beir, read_corpus
from acqo_rl.data.files import write_files
from acqo_rl.data.files.pages import plain
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.text import one_line
from acqo_rl.types import Document, Query


@pytest.fixture
def write(tmp_path):
    """Puts contents into files beside each other; gives a path by name."""

    def put(name, content):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


@pytest.fixture
def imported(tmp_path):
    def run(documents, queries=(), qrels=(), **fields):
        write_files(tmp_path / "out", documents, queries, qrels, **fields)
        return read_beir(tmp_path / "out", *{setting.partition("=")[0] for setting in map(str, qrels)})

    return run


def documents_of(data):
    return list(data.corpus.values())


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "csv.gz"])
def test_tables_with_field_names(write, imported, ending):
    rows = [
        {"Article No": "a 1", "headline": "R&amp;D", "summary": "<p>Short<br>text</p>", "body": "x < y", "url": "u1"},
        {"Article No": "a2", "headline": "", "summary": 'says "no"', "body": "", "url": ""},
    ]
    quoted = {
        "csv": "\r\n".join([",".join(rows[0]), "a 1,R&amp;D,<p>Short<br>text</p>,x < y,u1", 'a2,,"says ""no""",,', ""]),
        "tsv": "\n".join("\t".join(row) for row in (rows[0], *(row.values() for row in rows))),
        "jsonl": "\n".join(map(json.dumps, rows)),
        "json": json.dumps(rows),
    }
    content = ("\ufeff" + quoted[ending.removesuffix(".gz")]).encode()
    file = write(f"articles.{ending}", gzip.compress(content) if ending.endswith("gz") else content)
    data = imported([file], document_fields=["id=Article No", "title=headline", "text=summary+body"])
    assert documents_of(data) == [
        Document("a_1", "R&D", "Short\ntext\nx < y", {"url": "u1"}),
        Document("a2", "", 'says "no"'),
    ]


def test_documents_that_langchain_wrote(write, imported):
    row = {"id": "a", "page_content": "Oslo", "metadata": {"page": 3}}
    assert documents_of(imported([write("chunks.jsonl", json.dumps(row))])) == [Document("a", "", "Oslo", {"page": 3})]


def test_the_line_before_the_header_in_which_excel_names_the_separator(write, imported):
    file = write("x.csv", "sep=;\r\nid;text\r\n1;a, b\r\n")
    assert documents_of(imported([file])) == [Document("1", "", "a, b")]


def test_ids_that_pandas_wrote_as_floats_match_whole_numbers(write, imported):
    documents = write("d.csv", "id,text\n1.0,a\n2.0,\n")
    queries, qrels = write("q.csv", "qid,question\n7.0,which?\n"), write("test.csv", "qid,docid,rel\n7,1,1.0\n")
    data = imported([documents], [queries], [f"test={qrels}"])
    assert data.qrels["test"] == {"7.0": {"1.0": 1}}


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_a_csv_file_whose_cells_hold_line_breaks(write, imported, delimiter):
    lines = ["id,question,context", '7.0,"Two\n\nlines","a, b"', "8,One,c"]
    file = write("faq.csv", "\n".join(line.replace(",", delimiter) for line in lines))
    data = imported([file], document_fields=["text=question"])
    assert documents_of(data) == [
        Document("7.0", "", "Two\n\nlines", {"context": f"a{delimiter} b"}),
        Document("8", "", "One", {"context": "c"}),
    ]


def test_rows_without_an_id_are_numbered_and_those_without_text_left_out(write, imported, caplog):
    data = imported([write("faq.csv", "title,text,by\nA,one,\n,,me\nB,two,\n")])
    assert documents_of(data) == [Document("1", "A", "one"), Document("3", "B", "two")]
    assert "1 document without text" in caplog.text


def test_a_page_in_another_encoding_is_read_or_left_out_of_its_folder_and_counted(write, imported, caplog):
    words = "The caf\u00e9 in K\u00f6ln opens at nine and closes at ten every day."
    folder = write("pages/a.htm", f"<title>Caf\u00e9</title><p>{words}".encode("latin-1")).parent
    write("pages/b.htm", f"<title>Euro</title><p>{words} \u20ac \u201cyes\u201d".encode("windows-1252"))
    write("pages/c.html", f"<meta charset=utf-16><p>{words}".encode("utf-16"))
    write("pages/d.htm", ("\u041f\u0440\u0438\u0432\u0435\u0442 " * 20).encode("windows-1251"))
    write("pages/e.txt", words.encode("latin-1"))
    read = documents_of(imported([folder]))
    assert [(document.id, words in document.text) for document in read] == [
        (f"{c}", True) for c in ("a.htm", "b.htm", "c.html")
    ]
    assert "\u20ac \u201cyes\u201d" in read[1].text
    assert "2 pages that are not UTF-8" in caplog.text
    with pytest.raises(DataError, match=r"e\.txt"):
        imported([folder / "e.txt"])


def test_a_table_without_a_header(write, imported):
    two = imported([write("collection.tsv", 'd1\t"Quoted" start\nd2\tplain\n')])
    assert documents_of(two) == [Document("d1", "", '"Quoted" start'), Document("d2", "", "plain")]
    four = imported([write("docs.tsv", "D1\thttps://x\tTitle\tBody\n")], document_fields=["id=1", "title=3", "text=4"])
    assert documents_of(four) == [Document("D1", "Title", "Body", {"2": "https://x"})]


def test_a_folder_of_pages(write, imported, caplog):
    front = "---\ntitle: The guide\ndate: 2024-05-01\n---\n"
    folder = write("pages/guide.md", f"{front}# Start\n\nUse `<div>` &amp; *go*.\n").parent
    write("pages/sub dir/heading only.md", "Intro.\n\n## Oslo & Bergen\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    page = """<!doctype html><meta charset="iso-8859-1"><title>K\u00f6ln &amp; more</title><script>x()</script>
        <nav>Home</nav><p>An <b>in</b>line &eacute;"""
    write("pages/old.html", page.encode("latin-1"))
    write("pages/notes_2020.txt", "\ufeffPlain <b> &amp; text\n")
    write("pages/logo.png", b"\x89PNG")
    write("pages/.git/config.txt", "secret")
    data = imported([folder])
    guide, notes, old, heading = documents_of(data)
    assert (guide.id, guide.title, guide.metadata) == ("guide.md", "The guide", {"date": "2024-05-01"})
    assert guide.text == "Start\n\nUse <div> & go."
    assert notes == Document("notes_2020.txt", "notes 2020", "Plain <b> &amp; text")
    assert old == Document("old.html", "K\u00f6ln & more", "An inline \u00e9")
    assert (heading.id, heading.title) == ("sub_dir/heading_only.md", "Oslo & Bergen")
    assert "---" not in heading.text
    assert "1 file of another kind (logo.png)" in caplog.text


def pdf(text, title=""):
    """A PDF of one page with one line of text."""
    drawn = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else ""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(drawn)}>>\nstream\n{drawn}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<</Title({title})>>" if title else "<<>>",
    ]
    content, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<</Size 7/Root 1 0 R/Info 6 0 R>>\nstartxref\n{len(content)}\n%%EOF\n"
    return f"{content}xref\n0 7\n0000000000 65535 f \n{table}{end}".encode()


def test_pdf_files(write, imported, caplog):
    folder = write("pages/b_guide.pdf", pdf("The ferry sails at nine.", "Ferries")).parent
    write("pages/a_plain.pdf", pdf("Mia steers it."))
    write("pages/scan.pdf", pdf(""))
    assert documents_of(imported([folder])) == [
        Document("a_plain.pdf", "a plain", "Mia steers it."),
        Document("b_guide.pdf", "Ferries", "The ferry sails at nine."),
    ]
    assert "1 document without text" in caplog.text


def test_a_damaged_pdf_is_a_fault(write, imported):
    with pytest.raises(DataError, match=r"broken\.pdf"):
        imported([write("broken.pdf", b"%PDF-1.4 nothing else")])


def test_a_damaged_pdf_is_left_out_of_its_folder_and_named(write, imported, caplog):
    folder = write("pages/a.pdf", pdf("Mia steers it.")).parent
    for name in ("b", "c", "d", "e"):
        write(f"pages/inner/{name}.pdf", b"%PDF-1.4 nothing else")
    write("pages/f.txt", "Caf\u00e9".encode("latin-1"))
    assert [document.id for document in documents_of(imported([folder]))] == ["a.pdf"]
    assert "4 PDFs that cannot be read (inner/b.pdf, inner/c.pdf, inner/d.pdf, ...)" in caplog.text
    assert "1 page that is not UTF-8 (f.txt)" in caplog.text


TREC = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>Sums &amp; more</HEADLINE>
<TEXT>
<P>First.</P>
<P>Second.</P>
</TEXT>
</DOC>
<doc><docno>FT-2</docno>Only a body, K\u00f6ln.</doc>
"""
TOPICS = """<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations &amp; more.

<narr> Narrative:
Long.
</top>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_trec_collections_topics_and_judgements(write, imported, encoding):
    collection = write("ft.gz", gzip.compress(TREC.encode(encoding)))
    data = imported(
        [collection],
        [write("topics.301", TOPICS)],
        [f"test={write('qrels.txt', '301 0 FT-1 1' + chr(10) + '301 0 FT-9 1' + chr(10))}"],
    )
    assert documents_of(data) == [
        Document("FT-1", "Sums & more", "First.\n\nSecond."),
        Document("FT-2", "", "Only a body, K\u00f6ln."),
    ]
    assert data.queries["test"] == [Query("301", "International Organized Crime")]
    assert data.qrels["test"] == {"301": {"FT-1": 1}}
    assert data.metadata["301"]["desc"] == "Identify organizations & more."


def test_topics_in_xml_by_a_chosen_field(write, imported):
    topics = """<?xml version="1.0"?>
        <topics><topic number="1"><query>virus</query><question>What &lt;is&gt; it?</question></topic></topics>"""
    data = imported(
        [write("d.jsonl", '{"id": 1, "contents": "t"}\n')],
        [write("topics.xml", topics)],
        [f"test={write('q.txt', '1 0 1 1')}"],
        query_fields=["text=question"],
    )
    assert data.queries["test"] == [Query("1", "What <is> it?")]


@pytest.mark.parametrize("kind", ["jsonl", "trec", "tsv"])
def test_exports_of_ir_datasets(write, imported, kind):
    docs = write("docs.jsonl", '{"doc_id": "1", "text": "one"}\n{"doc_id": "2", "text": "two"}\n')
    queries = write("queries.jsonl", '{"query_id": "9", "title": "ask", "description": "d", "narrative": "n"}\n')
    judged = {
        "jsonl": '{"query_id": "9", "doc_id": "2", "relevance": 1, "iteration": "0"}\n',
        "trec": "9 0 2 1\n",
        "tsv": "9\t2\t1\n",
    }[kind]
    data = imported([docs], [queries], [f"test={write(f'qrels.{kind}', judged)}"])
    assert data.queries["test"] == [Query("9", "ask")]
    assert data.qrels["test"] == {"9": {"2": 1}}
    assert data.metadata["9"] == {"description": "d", "narrative": "n"}


@pytest.mark.parametrize("header", ["id,id,text", "id,text,text", "id,text,note,note"])
def test_two_columns_of_one_name_are_a_fault(write, tmp_path, header):
    table = write("d.csv", f"{header}\n" + ",".join("abcd"[: header.count(",") + 1]))
    with pytest.raises(DataError, match=r"d\.csv, line 1: 2 columns"):
        write_files(tmp_path / "out", [table])


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("5 < 6 and <p> tag", "5 < 6 and <p> tag"),
        ("use <a> element", "use <a> element"),
        ("What does <div> mean?", "What does <div> mean?"),
        ("<p>Oslo", "Oslo"),
        ("Oslo is <b>big</b>", "Oslo is big"),
        ("Oslo<br>Bergen", "Oslo\nBergen"),
    ],
)
def test_a_cell_that_speaks_of_a_tag_keeps_it(cell, text):
    assert plain(cell) == text


def test_conversations_in_a_table(write, imported):
    rows = [["id", "text", "history"], ["q1", "its capital?", "U: Peru?\nS: A country."], ["q2", "x", ""]]
    cells = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    data = imported(
        [write("d.jsonl", '{"id": "d", "text": "t"}\n')],
        [write("questions.csv", cells)],
        [f"test={write('q.txt', 'q1 0 d 1')}"],
    )
    assert data.queries["test"] == [Query("q1", "its capital?", read_history(("U: Peru?", "S: A country.")))]


def test_judgements_without_a_split_are_divided_by_query(write, tmp_path):
    docs = write("d.jsonl", '{"id": "d", "text": "t"}\n')
    queries = write("q.tsv", "".join(f"q{n}\tquestion {n}\n" for n in range(200)))
    qrels = write("all.qrels", "".join(f"q{n} 0 d 1\n" for n in range(200)))
    write_files(tmp_path / "out", [docs], [queries], [str(qrels)])
    sizes = {split: len(qrels) for split, qrels in read_beir(tmp_path / "out", "train", "dev", "test").qrels.items()}
    assert sum(sizes.values()) == 200
    assert 140 <= sizes["train"] <= 180
    assert min(sizes.values()) >= 8


def test_every_fault_is_listed_at_once(write, tmp_path):
    table = write(
        "d.jsonl",
        '{"id": "d1", "title": {}, "text": "t"}\n{"id": "d1", "text": "t"}\nno JSON\n{"id": "", "text": "\\ud800"}\n',
    )
    short = write("e.csv", "id,text\n1,a,b\n")
    unknown = write("f.docx", b"PK")
    qrels = write("q.txt", "q1 0 d1\n")
    with pytest.raises(DataError) as error:
        write_files(tmp_path / "out", [table, short, unknown, tmp_path / "none.csv"], [], [f"test={qrels}"])
    message = str(error.value)
    for place in (f"{table}, line 1", f"{table}, line 2", f"{table}, line 3", f"{table}, line 4", f"{short}, line 2"):
        assert f"{place}: " in message
    for path in (unknown, tmp_path / "none.csv"):
        assert f"{path}: " in message
    assert f"{qrels}, line 1" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "fields", "seen"),
    [
        ("nr,inhalt\n1,a\n", [], "inhalt"),
        ("id,text\n1,a\n", ["text=inhalt"], "'inhalt'"),
        ('id,text\n1,"open\n2,b\n', [], "line"),
    ],
)
def test_a_table_that_cannot_be_understood(write, tmp_path, content, fields, seen):
    with pytest.raises(DataError, match=seen):
        write_files(tmp_path / "out", [write("x.csv", content)], document_fields=fields)


def test_rows_without_any_text_field_are_refused_with_the_names_of_their_fields(write, tmp_path):
    with pytest.raises(DataError, match=r"inhalt.*text="):
        write_files(tmp_path / "out", [write("x.jsonl", '{"id": 1, "inhalt": "a"}\n')])


def test_settings_that_are_refused(write, tmp_path):
    with pytest.raises(ConfigError, match="'colour=x'"):
        write_files(tmp_path / "out", [write("x.csv", "id,text\n1,a\n")], document_fields=["colour=x"])
    with pytest.raises(ConfigError):
        write_files(tmp_path / "out", [])


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), min_size=1), min_size=1))
def test_any_plain_text_in_a_table_stays(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("any")
    texts = [text.replace("<", "(").replace("&", "+") for text in texts if one_line(text) not in ("", "NaN", "nan")]
    texts = texts or ["t"]
    rows = [json.dumps({"_id": f"d{number}", "text": text}) for number, text in enumerate(texts)]
    (folder / "d.jsonl").write_text("\n".join(rows))
    write_files(folder / "out", [folder / "d.jsonl"])
    assert [document.text for document in read_corpus(folder / "out").values()] == texts


def test_rows_of_invisible_characters_are_left_out(write, tmp_path):
    rows = '{"id": 1, "text": "\u2028\ufeff"}\n{"id": 2, "text": "\u200boslo"}\n'
    write_files(tmp_path / "out", [write("d.jsonl", rows)], [write("q.jsonl", rows)])
    assert read_corpus(tmp_path / "out").keys() == {"2"}
    queries = (tmp_path / "out" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in queries] == ["oslo"]


PIECES = st.sampled_from(
    ["id", "text", ",", "\t", '"', "\n", "\r", "<DOC>", "<DOCNO>1</DOCNO>", "</DOC>", "<top>", "<num>", "</top>", "<p>"]
) | st.sampled_from(
    ["---\n", "title: [", "# ", "&amp;", "<title>", "|", '{"id": ', "1", "}", "[", "]", "\ufeff", "\x00", "\u2028", "é"]
)
ENDINGS = st.sampled_from(["csv", "tsv", "json", "jsonl", "md", "html", "txt", "trec", "csv.gz"])


@given(st.lists(st.tuples(ENDINGS, st.lists(PIECES, max_size=12).map("".join), st.booleans()), min_size=1, max_size=3))
def test_any_files_are_imported_or_their_faults_are_listed(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("any")
    for number, (ending, content, is_latin) in enumerate(files):
        (folder / f"{number}.{ending}").write_bytes(content.encode("latin-1" if is_latin else "utf-8", "replace"))
    paths = sorted(folder.iterdir())
    try:
        write_files(folder / "out", [folder / "0", *paths] if len(files) > 2 else paths, paths)
    except (DataError, ConfigError):
        return
    data = read_beir(folder / "out")
    assert all(document.title.strip() or document.text.strip() for document in data.corpus.values())

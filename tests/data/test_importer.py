"""Files of one's own become a BEIR folder that the reader reads; what would have to be guessed is a fault."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_beir
from acqo_rl.data.importer import write_files
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.text import one_line
from acqo_rl.types import Document, Query


@pytest.fixture
def write(tmp_path):
    """Writes a file; returns its path."""

    def put(name, content):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


@pytest.fixture
def imported(tmp_path):
    def run(documents, queries=(), qrels=(), **fields):
        write_files(tmp_path / "out", documents, queries, qrels, **{"max_skipped": 1, **fields})
        return read_beir(tmp_path / "out", *{setting.partition("=")[0] for setting in map(str, qrels)})

    return run


def documents_of(data):
    return list(data.corpus.values())


ROWS = [
    {"no": "a 1", "headline": "R&D", "summary": "Short", "body": "x < y", "url": "u1"},
    {"no": "a2", "headline": "", "summary": 'says "no"', "body": "", "url": ""},
]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_tables_with_named_fields(write, imported, ending):
    written = {
        "csv": "\r\n".join([",".join(ROWS[0]), "a 1,R&D,Short,x < y,u1", 'a2,,"says ""no""",,', ""]),
        "tsv": "\n".join("\t".join(row) for row in (ROWS[0], *(row.values() for row in ROWS))),
        "jsonl": "\n".join(map(json.dumps, ROWS)),
    }
    file = write(f"articles.{ending}", "\ufeff" + written[ending])
    data = imported([file], document_fields=["id=no", "title=headline", "text=summary+body"])
    assert documents_of(data) == [
        Document("a_1", "R&D", "Short\nx < y", {"url": "u1"}),
        Document("a2", "", 'says "no"', {}),
    ]


def test_fields_with_their_own_names_need_no_setting(write, imported):
    lines = [
        '{"_id": 1, "title": null, "text": "one", "metadata": {"url": "u"}, "by": "me"}',
        '{"_id": "b", "text": "two"}',
    ]
    queries = (
        '{"_id": "q", "text": "its capital?", "metadata": {"history": ["U: Peru?", "S: A country."], "kind": "x"}}'
    )
    data = imported(
        [write("d.jsonl", "\n".join(lines))], [write("q.jsonl", queries)], [f"test={write('j', 'q 0 b 1')}"]
    )
    assert documents_of(data) == [Document("1", "", "one", {"url": "u", "by": "me"}), Document("b", "", "two")]
    assert data.queries["test"] == [Query("q", "its capital?", read_history(("U: Peru?", "S: A country.")))]
    assert data.metadata["q"] == {"kind": "x"}


def test_an_escaped_nul_is_read_as_a_broken_character(write, imported):
    row = r'{"id": "d", "title": "\\u0000", "text": "a\u0000\\\u0000"}'
    assert documents_of(imported([write("d.jsonl", row)])) == [Document("d", "\\u0000", "a\ufffd\\\ufffd")]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_numbers_are_written_to_texts_as_they_are(write, imported, ending):
    rows = {"csv": "id,title,text\n1.10,2.50,1e3\n", "jsonl": '{"id": 1.10, "title": 2.50, "text": 1e3}'}
    assert documents_of(imported([write(f"n.{ending}", rows[ending])])) == [Document("1.10", "2.50", "1e3")]


def test_rows_without_an_id_are_numbered_and_those_without_text_left_out(write, imported, caplog):
    data = imported([write("faq.csv", "title,text,by\nA,one,\n,,me\nB,two,\nC,,\n")])
    assert documents_of(data) == [Document("1", "A", "one"), Document("3", "B", "two"), Document("4", "C", "")]
    assert "1 documents without text (2)" in caplog.text


def test_queries_of_a_text_file_and_judgements_by_position_in_it(write, imported):
    data = imported(
        [write("d.csv", "id,text\nd,t\n")], [write("q.txt", "first?\n\nsecond?\n")], [f"dev={write('j', '2 0 d 1')}"]
    )
    assert data.queries["dev"] == [Query("2", "second?")]


@pytest.mark.parametrize(
    ("name", "content", "fields", "found"),
    [
        ("d.csv", "id,body\nd,t\n", [], "line|no field text among id, body; .*--document_fields"),
        ("d.csv", "id,text\nd,t\n", ["title=head"], "no table has the field 'head'"),
        ("d.csv", "id,text\nd,t,x\n", [], "line 2: found other columns"),
        ("d.csv", 'id,text\nd,"t\n', [], "not a table"),
        ("d.csv", "id,text,text\nd,t,x\n", [], "same name"),
        ("d.csv", "id,text\nd,t\nd,u\n", [], "line 3: _id 'd' .*d.csv; .* id=NAME"),
        ("d.csv", "id,text\n ,t\n", [], "line 2: _id"),
        ("d.csv", "id,text\nd,caf\u00e9\n".encode("latin-1"), [], "UTF-8"),
        ("d.tsv", "id,text\nd,t\n", [], "line 1: .* ','"),
        ("d.csv", "id;text\nd;t, u\n", [], "line 1: .* ';'"),
        ("d.csv", "sep=;\nid;text\nd;t\n", [], "line 1: .* ';'"),
        ("d.jsonl", '[{"id": "d", "text": "t"}]', [], "expected a JSON object"),
        ("d.jsonl", '{"id": "d", "text": ["t"]}', [], r"line 1: text: .*found \['t'\]"),
        ("d.jsonl", '{"id": "d", "text": "t", "more": {"a": 1, "a": 2}}', [], "line 1: .*'a' is there twice"),
        ("d.jsonl", '{"id": "d", "text": "a\0b"}', [], "line 1: has NUL"),
        ("d.csv", "id,text\nd,a\0b\n", [], "line 2: has NUL"),
        ("d.parquet", "PAR1", [], "not one of"),
        ("d.pdf", b"%PDF-1.4 nothing else", [], "not a readable PDF"),
        ("d.md", "---\na: &a [*a]\n---\n", [], "front matter"),
    ],
)
def test_a_fault_names_the_file_and_what_to_do(write, imported, name, content, fields, found):
    with pytest.raises(DataError, match=rf"{name}.*({found})"):
        imported([write(name, content)], document_fields=fields)


def test_all_faults_are_listed_at_once(write, imported, tmp_path):
    documents = write("d.csv", "id,text\nd,t,x\n")
    with pytest.raises(DataError, match="3 faults") as error:
        imported([documents, tmp_path / "none.csv"], [write("q.jsonl", "no JSON")])
    assert all(name in str(error.value) for name in ("d.csv", "none.csv", "q.jsonl"))


@pytest.mark.parametrize("setting", ["text", "text=", "body=text", "=text"])
def test_a_malformed_field_setting_is_an_error(write, imported, setting):
    with pytest.raises(ConfigError, match="field setting"):
        imported([write("d.csv", "id,text\nd,t\n")], document_fields=[setting])


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
    content = "%PDF-1.4\n"
    places = []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<</Size 7/Root 1 0 R/Info 6 0 R>>\nstartxref\n{len(content)}\n%%EOF\n"
    return f"{content}xref\n0 7\n0000000000 65535 f \n{table}{end}".encode()


def test_a_folder_of_pages(write, imported, caplog):
    """Fields are those of tables: a field of the front matter is never the text."""
    front = "---\ntitle: 1.10\ndate: 2024-02-30\ntags: [a, .inf]\n---\n"
    folder = write("pages/guide.md", f"{front}# Start\n\nUse `<div>` &amp; *go*.<br>\n<aside>Mind.</aside>\n").parent
    write("pages/book.html", "<title>Mills</title><ol><li>1. Start</ol><main><p>They grind.<pre>x</pre></main><p>Print")
    write("pages/sub dir/heading only.md", "Intro.\n\n## Oslo & Bergen\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    write(
        "pages/old.html",
        "<!doctype html><title>K\u00f6ln &amp; more</title><nav>Home</nav><p>An <b>in</b>line &eacute;",
    )
    outside = "<header><h1>Site</h1></header><div role=navigation>Menu</div><aside>Ad</aside><footer>Legal</footer>"
    write("pages/empty main.html", f"{outside}<main></main><article><header>By me.</header><p>Body.</article>tail")
    write("pages/notes.rst", "Notes\n=====\n")
    write("pages/notes_2020.txt", "\ufeffPlain <b> &amp; text\n")
    write("pages/ferries.pdf", pdf("The ferry sails at nine.", "Ferries"))
    write("pages/scan.pdf", pdf(""))
    write("pages/broken.pdf", b"%PDF-1.4 nothing else")
    write("pages/logo.png", b"\x89PNG")
    write("pages/.git/config.txt", "secret")
    with pytest.raises(DataError, match=r"2 of 10 .*\(broken\.pdf\)"):
        imported([folder], max_skipped=0.19)
    book, whole, ferries, guide, rst, notes, old, heading = documents_of(
        imported([folder], document_fields=["text=date"])
    )
    assert (book.title, book.text) == ("Mills", "They grind.\n\nx")
    assert whole == Document("empty_main.html", "Site", "By me.\n\nBody.\n\ntail")
    assert rst == Document("notes.rst", "notes", "Notes\n=====")
    assert ferries == Document("ferries.pdf", "Ferries", "The ferry sails at nine.")
    assert (guide.id, guide.title, guide.text) == ("guide.md", "1.10", "Start\n\nUse <div> & go.\n\nMind.")
    assert guide.metadata == {"date": "2024-02-30", "tags": ["a", ".inf"]}
    assert notes == Document("notes_2020.txt", "notes 2020", "Plain <b> &amp; text")
    assert old == Document("old.html", "K\u00f6ln & more", "An inline \u00e9")
    assert (heading.id, heading.title, "---" in heading.text) == ("sub_dir/heading_only.md", "Oslo & Bergen", False)
    skipped = (
        "pages that cannot be read (broken.pdf)",
        "1 images, fonts, media, styles and scripts (logo.png)",
        "without text (scan.pdf)",
    )
    assert all(one in caplog.text for one in skipped)


def test_a_file_name_that_is_not_utf_8_is_an_id_with_a_broken_character(imported, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("Open at nine.", encoding="utf-8")
    (folder / "tea.txt").write_text("Open at ten.", encoding="utf-8")
    assert [one.id for one in documents_of(imported([folder]))] == ["caf\ufffd.txt", "tea.txt"]


def test_the_texts_of_links_are_kept_with_the_page_that_they_lead_to(write, imported):
    """Not those to other sites, of one word, or with the title of the page."""
    write(
        "pages/a.md",
        "[How mills grind](sub/my%20mill.html#top), [here](sub/my%20mill.html), [My mill](sub/my%20mill.html)",
    )
    folder = write(
        "pages/sub/my mill.html", '<title>My mill</title><a href="http://x/b.md">Another site</a>'
    ).parent.parent
    write("pages/sub/b.md", '[grinding at home](./my%20mill.html) [the first page](../a.md "a")')
    found = {document.id: document.metadata for document in documents_of(imported([folder]))}
    assert found["sub/my_mill.html"] == {"linked_as": ["How mills grind", "grinding at home"]}
    assert found["a.md"] == {"linked_as": ["the first page"]}
    assert found["sub/b.md"] == {}


def test_judgements_without_a_split_are_divided_by_query(write, tmp_path):
    docs = write("d.jsonl", '{"id": "d", "text": "t"}\n')
    queries = write("q.csv", "id,text\n" + "".join(f"q{n},question {n}\n" for n in range(200)))
    qrels = write("all.qrels", "".join(f"q{n} 0 d 1\n" for n in range(200)))
    write_files(tmp_path / "out", [docs], [queries], [str(qrels)])
    sizes = {split: len(qrels) for split, qrels in read_beir(tmp_path / "out", "train", "dev", "test").qrels.items()}
    assert sum(sizes.values()) == 200
    assert sizes["train"] > 4 * max(sizes["dev"], sizes["test"]) > 0


def test_folders_and_tables_become_one_data_set(write, imported):
    """Pages of one name differ by their folders, and each table has one of the names of the text."""
    places = [write(f"{name}/index.md", f"# {name}\n\nText.").parent for name in ("mills", "ferries")]
    places += [write("faq.csv", "q,answer\nWhy?,So.\n"), write("notes.jsonl", '{"id": "n", "body": "Note."}')]
    data = imported(places, document_fields=["title=q", "text=answer+body"], max_skipped=0)
    assert [document.id for document in documents_of(data)] == ["mills/index.md", "ferries/index.md", "1", "n"]
    assert documents_of(data)[2:] == [Document("1", "Why?", "So."), Document("n", "", "Note.")]


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_what_was_imported_is_read(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("any")
    (folder / "d.jsonl").write_text("".join(json.dumps({"title": a, "text": b}) + "\n" for a, b in rows))
    expected = [Document(str(n), a, b) for n, (a, b) in enumerate(rows, 1) if one_line(f"{a} {b}")]
    if not expected:
        with pytest.raises(ConfigError):
            write_files(folder / "out", [folder / "d.jsonl"], max_skipped=1)
        return
    write_files(folder / "out", [folder / "d.jsonl"], max_skipped=1)
    assert documents_of(read_beir(folder / "out")) == expected

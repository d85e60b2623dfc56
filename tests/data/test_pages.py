"""No text of a page is lost or welded without a message, whatever its markup."""

import io
import os
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it.common.html_blocks import block_names
from pypdf import PdfReader, PdfWriter
from test_importer import documents_of, imported, pdf, write  # noqa: F401

from acqo_rl.data.pages import CODE, PageReader
from acqo_rl.errors import DataError

LEFT_OUT = {"base", "basefont", "body", "frame", "frameset", "head", "html", "iframe", "link", "noframes", "title"}
LANDMARKS = {"aside", "footer", "header", "main", "nav"}
OTHERS = {"button-bar", "hgroup", "label", "listing", "marquee", "object", "output", "pre", "textarea", "video"}
SEPARATE = sorted(OTHERS.union(block_names) - LEFT_OUT - LANDMARKS)
VOID = {"col", "hr", "param", "source", "track", "br", "img", "wbr", "menuitem"}


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Reads a page from its content."""
    folder = tmp_path_factory.mktemp("pages")
    with PageReader() as reader:

        def page(content, name="page.html"):
            file = folder / name
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
            return reader.read(file)

        yield page


def markup(tree, words):
    """The HTML of nested elements, with one word before, between and behind them."""
    tag, children = tree
    inside = "".join(f"{next(words)}{markup(child, words)}" for child in children)
    return f"<{tag}>" if tag in VOID else f"<{tag}>{inside}{next(words)}</{tag}>"


TREES = st.recursive(
    st.tuples(st.sampled_from(SEPARATE), st.just(())),
    lambda trees: st.tuples(st.sampled_from(SEPARATE), st.lists(trees, min_size=1, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES, st.booleans())
def test_words_between_elements_are_neither_lost_nor_welded(read, tree, inner):
    """Also in orders that HTML forbids, such as cells without a table."""
    words = (f"word{number}" for number in range(10_000))
    content = f"{next(words)}{markup(tree, words)}{next(words)}"
    expected = Counter(re.findall(r"word\d+", content))
    page = read(f"<article>{content}</article>" if inner else content)
    assert Counter(re.findall(r"\w*word\w*", page["text"])) == expected
    assert page["missing"] == 0


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["", " ", "&nbsp;", "one", "<b></b>", "<pre>\ta</pre>"]), max_size=4), max_size=3)
)
def test_no_sign_of_the_reader_is_left_in_a_table(read, rows):
    table = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    text = read(f"<p>before</p><table>{table}</table>")["text"].replace(CODE, "")
    assert not re.search("[\ufdd0-\ufdef]", text)
    assert text.count("one") == table.count("one")


@pytest.mark.parametrize(
    "content",
    [
        "<div>" * 2000 + "first" + "</div>" * 2000 + "last",
        "<p>first</p><pre>" + "x" * 1_000_001 + "</pre><p>last",
        "<p>first</p></body></html><p>more</html>last",
        "<p " + " ".join(f"a{n}=1" for n in range(300_000)) + ">first</p>last",
        "<main>first</main><p>between<main>last</main>",
        "<nav>first<p>more<p>last",
        "<nav>menu</nav><p>first<aside>more<p>last",
        "<p>first<script>let one = '<nav>'</script><p>last",
        "<h2><button>first</button></h2><div>answer<button>Print</button></div><summary><button>last</button></summary>",
    ],
    ids=[
        "deep",
        "large",
        "stray end",
        "attributes",
        "two mains",
        "open nav",
        "open aside",
        "tag in a script",
        "accordion",
    ],
)
def test_a_page_is_read_to_its_end(read, content):
    page = read(content)
    assert page["text"].startswith("first")
    assert page["text"].endswith("last")
    assert page["missing"] == 0


def test_an_xhtml_page_has_elements_without_contents(read):
    page = read(
        '<?xml version="1.0"?><html><head><title>T</title><script src="a"/></head><body><p>first</p></body></html>'
    )
    assert (page["title"], page["text"], page["missing"]) == ("T", "first", 0)


@pytest.mark.parametrize("start", ["<!-- ", "<script>", "<style>", "<template>", "<title>"])
def test_text_behind_a_part_without_an_end_is_named_as_missing(write, imported, caplog, start):  # noqa: F811
    words = " ".join(f"word{n}" for n in range(100))
    write("pages/whole.html", f"<h1>Whole</h1><p>{words}<p>{words}")
    names = [f"broken{n}.html" for n in range(5)]
    [folder] = {write(f"pages/{name}", f"<h1>{name}</h1><p>{words}{start}<p>{words}").parent for name in names}
    imported([folder])
    assert re.findall(r"Incomplete: (\d) documents, .*\((.*)\)", caplog.text) == [("5", " 50%, ".join(names) + " 50%")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", "<p>WORDS<!-- WORDS"),
        ("page.html", "<p>WORDS<!-- WORDS > end"),
        ("page.html", "<p>WORDS<a href='a.html>b</a> WORDS <a href='b.html'>c</a>"),
        ("page.md", "WORDS\n\n[^1]: WORDS"),
        ("page.md", "WORDS\n\n   [^note]: See\n\n    WORDS"),
        ("page.md", "|a|b|\n|-|-|\n|WORDS|b|WORDS"),
    ],
)
def test_half_of_a_page_that_the_parser_does_not_show_is_missing(read, name, content):
    assert read(content.replace("WORDS", "some words " * 100), name)["missing"] == pytest.approx(0.5, abs=0.02)


@given(st.lists(st.sampled_from(["- ", "1. ", "> "]), min_size=1, max_size=60))
@settings(max_examples=30, deadline=None)
def test_markdown_is_read_at_any_depth(read, signs):
    nested = "".join(f"{''.join(signs[:depth])}word{depth}\n\n" for depth in range(1, len(signs) + 1))
    page = read(f"# First\n\n{nested}\n\nlast", "page.md")
    assert page["text"].split()[-1] == "last"
    assert page["missing"] == 0


FIELDS = {"by": "Mia", "tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("front", "metadata"),
    [
        ("---\ntitle: Mills\nby: Mia\ntags: [a, b]\n---\n", FIELDS),
        ("---\ntitle: Mills\nby: Mia\ntags: [a, b]\n...\n", FIELDS),
        ("\n \n---\ntitle: Mills\nby: Mia\ntags: [a, b]\n---\n", FIELDS),
        ('+++\ntitle = "Mills"\nby = "Mia"\ntags = ["a", "b"]\n+++\n', FIELDS),
        ("+++\ntitle = 'Mills'\nday = 2024-02-03\nn = 1.10\n+++\n", {"day": "2024-02-03", "n": "1.10"}),
        ("Title: Mills\nBy: Mia\n  and Ole\n\n", {"By": "Mia and Ole"}),
    ],
)
def test_front_matter_in_all_its_forms(read, front, metadata):
    page = read(f"{front}# Grinding\n\nThey grind.\n", "page.md")
    assert (page["title"], page["text"]) == ("Mills", "Grinding\n\nThey grind.")
    assert page["metadata"] == metadata


@pytest.mark.parametrize("start", ["Title: what is missing\nhere is text\n", "---\nIntro\n---\n", "Note: this\n\n"])
def test_text_that_resembles_front_matter_is_text(read, start):
    page = read(f"{start}last\n", "page.md")
    assert page["metadata"] == {}
    assert set(re.findall(r"\w+", start)) <= set(re.findall(r"\w+", page["text"]))


def test_pages_of_a_pdf_without_text_are_named(write, imported, caplog):  # noqa: F811
    writer = PdfWriter()
    for text in ("The ferry sails.", "", "", ""):
        writer.append(PdfReader(io.BytesIO(pdf(text))))
    content = io.BytesIO()
    writer.write(content)
    [document] = documents_of(imported([write("scan.pdf", content.getvalue())]))
    assert document.text == "The ferry sails."
    assert "scan.pdf 75%" in caplog.text


BOMB = "\n".join(f"{name}: &{name} [{', '.join(f'*{chr(ord(name) - 1)}' for _ in range(9))}]" for name in "bcdefghij")


def test_a_page_that_needs_too_much_is_named_and_the_next_one_is_read(tmp_path):
    heavy = tmp_path / "heavy.html"
    light = tmp_path / "light.html"
    heavy.write_text("".join(f"<p><font size={n}>" for n in range(20_000)))
    light.write_text("<p>light")
    (tmp_path / "deep.md").write_text(f"+++\na{'.a' * 3000} = 1\n+++\nText.")
    (tmp_path / "bomb.md").write_text(f"---\na: &a [x]\n{BOMB}\n---\nText.")
    with PageReader(seconds=1) as reader:
        with pytest.raises(DataError, match=r"heavy\.html: needs more than 1 s"):
            reader.read(heavy)
        with pytest.raises(DataError, match=r"bomb\.md: .*aliases"):
            reader.read(tmp_path / "bomb.md")
        with pytest.raises(DataError, match=r"deep\.md: .*nested"):
            reader.read(tmp_path / "deep.md")
        assert reader.read(light)["text"] == "light"


@pytest.mark.parametrize("ending", ["html", "md", "txt"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_page_in_utf_16_without_a_mark_is_no_text(read, ending, encoding):
    with pytest.raises(DataError, match="NUL characters"):
        read("plain text".encode(encoding), f"page.{ending}")


def test_links_of_the_file_system_are_not_followed_and_pipes_not_read(write, imported, caplog):  # noqa: F811
    secret = write("private/secret.txt", "secret")
    folder = write("pages/page.txt", "public").parent
    (folder / "notes.txt").symlink_to(secret)
    (folder / "more").symlink_to(secret.parent, target_is_directory=True)
    os.mkfifo(folder / "pipe.md")
    assert [document.text for document in documents_of(imported([folder], max_skipped=0))] == ["public"]
    assert "3 symbolic links, pipes, devices and sockets, which are not read (more, notes.txt, pipe.md)" in caplog.text


@pytest.mark.parametrize(
    ("start", "encoding", "text"),
    [
        ("<meta charset=ISO-8859-1>", "cp1252", "“Süß”"),
        ('<?xml version="1.0" encoding="latin-1"?>', "cp1252", "“Süß”"),
        ('<meta http-equiv=Content-Type content="text/html; charset=iso-8859-2">', "iso-8859-2", "Łódź"),
        ("<meta charset=latin-1>", "utf-8", "“Łódź”"),
    ],
)
def test_a_page_is_read_in_utf_8_or_as_it_declares(tmp_path, start, encoding, text):
    page = tmp_path / "page.html"
    page.write_bytes(f"{start}<p>{text}".encode(encoding))
    with PageReader() as reader:
        assert reader.read(page)["text"] == text


@pytest.fixture
def manual(write):  # noqa: F811
    """A folder of pages with navigation at both ends and repeated content between."""
    for number in range(20):
        title = f"{('Overview', 'Usage')[number % 2]} {number}"
        follows = f"<p><a href=page{(number + 1) % 20}.html>all of topic {number}</a> <a href=index.html>Up</a><p>Legal"
        write(
            f"manual/page{number}.html",
            f"<title>{title} - The Manual</title><p>The Manual</p><h1>{title}</h1><p>Free of latex.<p>Fact {number}."
            f"<ol><li>Click OK.<li>See {number}.</ol>{'<p>[Exit.]' * (number % 3 == 0)}{follows}",
        )
    return write("manual/short.html", "<h2>Steps</h2><h2>Mills</h2>").parent


def test_what_most_pages_begin_or_end_with_is_dropped_and_said(manual, imported, caplog):  # noqa: F811
    documents = {document.id: document for document in documents_of(imported([manual]))}
    page = documents["page1.html"]
    assert (page.title, page.metadata) == ("Usage 1", {"linked_as": ["all of topic 0"]})
    assert page.text.split("\n\n") == ["Usage 1", "Free of latex.", "Fact 1.", "Click OK.\nSee 1."]
    assert documents["page3.html"].text.endswith("[Exit.]")
    assert documents["short.html"].text == "Steps\n\nMills"
    assert "22 lines ('The Manual', 'Legal', 'all of topic 0 Up', ...)" in caplog.text
    assert "1 parts of titles ('The Manual')" in caplog.text


def test_what_stands_in_many_pages_can_be_kept(manual, imported):  # noqa: F811
    documents = {document.id: document for document in documents_of(imported([manual], max_repeated=1))}
    assert documents["page1.html"].title == "Usage 1 - The Manual"
    assert {"The Manual", "Legal"} <= set(documents["page1.html"].text.splitlines())

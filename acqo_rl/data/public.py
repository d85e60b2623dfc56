"""Imports the data sets of the paper's experiments from the Hugging Face Hub as BEIR folders.

The rows come from the caller, so nothing here opens a connection. Answers become metadata, which only the evaluation
uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.data.draw import HELD_OUT, draw, hashed
from acqo_rl.errors import AcqoError, ConfigError, DataError, check_positive
from acqo_rl.files import write_atomic
from acqo_rl.types import Document, Query

Row = Mapping[str, Any]
_SPLITS = (("test", "validation"), ("train", "train"))
"""Split in the folder, and in the source. Papers report on validation, so it becomes test."""


@dataclass(frozen=True)
class JudgedQuery:
    """One question of a source.

    Attributes:
        query: the question, with the conversation before it.
        group: questions of the same group (a conversation) are always in the same split.
        relevant: ids of the relevant passages; empty if they are not known.
        passages: the relevant passages and hard distractors.
        metadata: for evaluation only.
    """

    query: Query
    group: str
    relevant: tuple[str, ...]
    passages: tuple[Document, ...]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A public data set.

    Attributes:
        path: owner/name on the Hub.
        licence: licence stated by the authors.
        judgements: which passages count as relevant.
        read: reads a row of a split.
        config: name of the configuration, if there are several.
        files: split -> JSONL file, for a repository that ``load_dataset`` cannot read directly.
    """

    path: str
    licence: str
    judgements: str
    read: Callable[[str, Row], JudgedQuery]
    config: str | None = None
    files: Mapping[str, str] | None = None


def write_public(
    folder: str | Path,
    name: str,
    open_source: Callable[[Source], Mapping[str, Iterable[Row]]],
    *,
    limit: int | None = None,
    seed: int = 0,
    command: str = "",
) -> None:
    """Writes a public data set as a BEIR folder with its README; the corpus has the passages of its questions.

    Args:
        folder: output folder.
        name: name of the data set.
        open_source: returns the rows of a source by split.
        limit: maximum number of queries per split; all by default.
        seed: seed of the random choice of queries.
        command: command that writes the folder, for its README.

    Raises:
        ConfigError: the data set is unknown, or the limit is out of range.
        DataError: the source has changed, or none of its questions is usable.
    """
    if name not in SOURCES:
        raise ConfigError(f"dataset is {name!r}; use embedded, embedded_more, union, files, {', '.join(SOURCES)}.")
    check_positive("limit", limit)
    source = SOURCES[name]
    rows = open_source(source)
    kept: dict[str, list[JudgedQuery]] = {"train": [], "dev": [], "test": []}
    seen: set[str] = set()
    left_out = 0
    for ours, theirs in _SPLITS:
        for found in _read(source, theirs, rows):
            if found.query.id in seen or not found.relevant or not found.query.text.strip():
                left_out += 1
                continue
            seen.add(found.query.id)
            # Held-out queries do not depend on the seed: a test query in one folder is never a train query in another.
            is_dev = ours == "train" and hashed("held out", found.group) < HELD_OUT
            kept["dev" if is_dev else ours].append(found)
    if not seen:
        raise DataError(f"{name}: none of its {left_out} questions has a known passage; check {source.path}.")
    kept = {split: some if limit is None else draw(some, limit, seed) for split, some in kept.items()}
    chosen = [one for some in kept.values() for one in some]
    passages = {document.id: document for one in chosen for document in one.passages}
    qrels = {split: {one.query.id: dict.fromkeys(one.relevant, 1) for one in some} for split, some in kept.items()}
    metadata = {one.query.id: one.metadata for one in chosen}
    write_beir(folder, passages.values(), [one.query for one in chosen], qrels, metadata)
    counts = ", ".join(f"{len(some):,} {split}" for split, some in kept.items())
    readme = f"""# {name}

{len(passages):,} passages and {counts} queries in BEIR format, written by

`{command}`

- Source: https://huggingface.co/datasets/{source.path}{f", configuration {source.config}" if source.config else ""}.
- Licence: {source.licence}.
- {left_out:,} questions were skipped: no known passage, no text or a repeated id.
- Test is the validation split of the source. Dev is {HELD_OUT:.0%} of its train questions, chosen by a hash.
- Passages: those that come with these questions. Relevant: {source.judgements}.
- `metadata` other than `history` is for evaluation only: it is not used in prompts or training."""
    write_atomic(Path(folder) / "README.md", [readme])


def passage(title: str, text: str) -> Document:
    """A document whose id is a hash of its title and text, so that equal paragraphs become one document."""
    title, text = " ".join(title.split()), " ".join(text.split())
    return Document(hashlib.sha256(f"{title}\0{text}".encode()).hexdigest()[:16], title, text)


def _read_hotpot(_: str, row: Row) -> JudgedQuery:
    """HotpotQA (Yang et al. 2018)."""
    titles, context = row["context"]["title"], row["context"]["sentences"]
    paragraphs = {title: passage(title, " ".join(sentences)) for title, sentences in zip(titles, context, strict=True)}
    supporting = dict.fromkeys(row["supporting_facts"]["title"])
    return JudgedQuery(
        Query(row["id"], row["question"]),
        row["id"],
        tuple(paragraphs[title].id for title in supporting) if supporting.keys() <= paragraphs.keys() else (),
        tuple(paragraphs.values()),
        {"kind": row["type"], "answers": [row["answer"]]},
    )


def _read_topiocqa(split: str, row: Row) -> JudgedQuery:
    """TopiOCQA (Adlakha et al. 2022)."""
    gold = row["Gold_passage"]
    paragraph = passage(gold["title"].replace(" [SEP] ", ": "), gold["text"])
    conversation = f"{split}-{row['Conversation_no']}"
    return JudgedQuery(
        Query(f"{conversation}-{row['Turn_no']}", row["Question"], read_history(row["Context"], row["Question"])),
        conversation,
        (paragraph.id,) if paragraph.text else (),
        (paragraph,),
        {"answers": [row["Answer"]]},
    )


def _read(source: Source, split: str, splits: Mapping[str, Iterable[Row]]) -> Iterator[JudgedQuery]:
    """Yields the questions of a split.

    Raises:
        DataError: the split does not exist, or a row has other columns or types.
    """
    remedy = "The data set has changed since its reader was written; adapt the reader in acqo_rl/data/public.py."
    if split not in splits:
        raise DataError(f"{source.path}: there is no split {split!r}, only {', '.join(splits)}. {remedy}")
    for row in splits[split]:
        try:
            yield source.read(split, row)
        except (KeyError, TypeError, ValueError, AcqoError) as error:
            raise DataError(f"{source.path}, split {split}: {error!r}. {remedy}") from error


SOURCES = {
    "hotpotqa": Source(
        "hotpotqa/hotpot_qa",
        "CC BY-SA 4.0",
        "the paragraphs that hold the supporting facts",
        _read_hotpot,
        config="distractor",
    ),
    "topiocqa": Source(
        "McGill-NLP/TopiOCQA",
        "CC BY-NC-SA 4.0 (no commercial use)",
        "the gold passage of each turn",
        _read_topiocqa,
        # load_dataset refuses repositories with a loading script, but this one also has plain JSONL files.
        files={"validation": "data/topiocqa_valid.jsonl", "train": "data/topiocqa_train.jsonl"},
    ),
}

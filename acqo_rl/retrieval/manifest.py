"""The manifest of an index, with which a wrong or outdated index is detected, and what is known of any index."""

from __future__ import annotations

import hashlib
import json
import zlib
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import MinLen
from pydantic import ConfigDict, TypeAdapter

from acqo_rl.errors import IndexMismatchError
from acqo_rl.files import read_json, write_atomic
from acqo_rl.libraries import reported
from acqo_rl.retrieval import tokens
from acqo_rl.types import Amount, Positive, Share

FORMAT_VERSION = 2
FILE_NAME = "manifest.json"
IDS_NAME = "doc_ids.json"
INDEX_NAME = "index.faiss"
SPANS_NAME = "spans.npy"
FIELDS_NAME = "fields.json"
PASSAGES_NAME = "passages.npy"
STATE_NAME = "state.txt"
BM25_NAME = "bm25"
FILES = (IDS_NAME, INDEX_NAME, SPANS_NAME, FIELDS_NAME, PASSAGES_NAME, f"{BM25_NAME}/*")
"""Patterns of the files of a single index, beside the manifest."""
PARTS = ("dense", "bm25")
"""Folders of the parts of a hybrid index."""
_EXACT = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """Settings of a dense index.

    Attributes:
        encoder: settings for ``load_encoder``; ``None`` for an encoder of another class.
        encoder_fingerprint: fingerprint of the encoder, see ``acqo_rl.roles.Encoder``.
        dimension: embedding dimension.
        factory: FAISS factory string.
        build_parameters: FAISS parameters for the build.
        search_parameters: FAISS parameters for searches.
        normalised: embeddings have L2 norm 1, so the inner product is the cosine.
        metric: similarity measure of the scores.
        passages: ``corpus_hash`` of the passages if documents were split; otherwise empty.
    """

    encoder: dict[str, Any] | None
    encoder_fingerprint: str
    dimension: Positive
    factory: str
    build_parameters: str = ""
    search_parameters: str = ""
    normalised: Literal[True] = True
    metric: Literal["inner_product"] = "inner_product"
    passages: str = ""
    __pydantic_config__ = _EXACT


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """Settings of a BM25 index.

    Attributes:
        language: language of stemmer and stop words.
        k1: term frequency saturation.
        b: strength of the document length normalisation.
        words: version of the tokens, see :mod:`acqo_rl.retrieval.tokens`.
    """

    language: str = "english"
    k1: Amount = 1.5
    b: Share = 0.75
    words: int = tokens.VERSION
    __pydantic_config__ = _EXACT


_SETTINGS = {"dense": DenseSettings, "bm25": Bm25Settings}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents and settings of an index.

    Attributes:
        settings: settings of the index; their type is the kind of index.
        document_count: number of documents.
        corpus_hash: ``acqo_rl.data.beir.corpus_hash`` of the documents.
        checksums: name -> checksum of every file of the index.
    """

    settings: DenseSettings | Bm25Settings
    document_count: Positive
    corpus_hash: str
    checksums: dict[str, str] = field(default_factory=dict)
    __pydantic_config__ = _EXACT

    @property
    def kind(self) -> str:
        """``dense`` or ``bm25``."""
        return next(kind for kind, settings in _SETTINGS.items() if isinstance(self.settings, settings))

    @property
    def fingerprint(self) -> str:
        """Hash of everything that determines the results of a search; includes the encoder's fingerprint."""
        return hashlib.sha256(json.dumps(self._identity(), sort_keys=True).encode()).hexdigest()

    def differences(self, wanted: Manifest) -> list[str]:
        """The differences to the wanted index, one string per setting; empty if the fingerprints are equal."""
        seen = self._identity()
        want = wanted._identity()
        return [
            f"its {key} is {seen.get(key)!r}, expected {want.get(key)!r}"
            for key in want | seen
            if seen.get(key) != want.get(key)
        ]

    def _identity(self) -> dict[str, Any]:
        # without passages, fingerprints are those of indexes that are older than this setting
        return {
            "kind": self.kind,
            "document_count": self.document_count,
            "corpus_hash": self.corpus_hash,
            **{k: v for k, v in asdict(self.settings).items() if k != "encoder" and (v or k != "passages")},
        }


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """Description of an index.

    Attributes:
        kind: ``dense``, ``bm25`` or ``hybrid``.
        fingerprint: see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
        corpus_hash: hash of the documents.
        document_count: number of documents.
        encoder: fingerprint of a dense index's encoder, else empty. Scores of indexes with the same encoder are
            comparable.
    """

    kind: str
    fingerprint: str
    corpus_hash: str
    document_count: int
    encoder: str


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Writes the manifest. It must be the last file written, because it marks the index as complete.

    Args:
        folder: of the index.
        manifest: without checksums.

    Returns:
        The manifest with checksums.
    """
    manifest = replace(manifest, checksums={name: _checksum(folder / name) for name in sorted(_files(folder))})
    row = {"format_version": FORMAT_VERSION, "kind": manifest.kind, **asdict(manifest)}
    write_atomic(folder / FILE_NAME, [json.dumps(row, indent=2, ensure_ascii=False)])
    return manifest


def check_contents(folder: Path, manifest: Manifest) -> None:
    """Checks the contents of the files of an index; takes about 0.2 s per GB.

    Raises:
        IndexMismatchError: a file is missing, has changed since the index was built, or is not in the manifest.
    """
    if unknown := _files(folder) - manifest.checksums.keys():
        raise IndexMismatchError(
            f"{folder / FILE_NAME} has no checksum of {min(unknown)}; delete {folder} and build it again."
        )
    for name, checksum in manifest.checksums.items():
        path = folder / name
        if not path.is_file() or _checksum(path) != checksum:
            raise IndexMismatchError(
                f"{path} is missing or has changed since the index was built; delete {folder} and build it again."
            )


def _files(folder: Path) -> set[str]:
    """Names of the files of an index, without its manifest."""
    return {path.relative_to(folder).as_posix() for name in FILES for path in folder.glob(name)}


def _checksum(path: Path) -> str:
    """CRC-32 of a file's content."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a complete index.

    Raises:
        IndexMismatchError: there is no complete index, or its format or its tokenization has another version.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        raise IndexMismatchError(
            f"{folder} contains no complete index ({FILE_NAME} is missing); fix the path, or build it by acqo index."
        )
    with checked(folder):
        row = read_json(path)
        if row.pop("format_version") != FORMAT_VERSION:
            raise ValueError(f"its format version is not {FORMAT_VERSION}")
        kind = row.pop("kind")
        if kind == "bm25" and row["settings"].get("words") != tokens.VERSION:
            raise ValueError(
                f"its tokens of BM25 have version {row['settings'].get('words')}, expected {tokens.VERSION}"
            )
        manifest = TypeAdapter(Manifest).validate_json(json.dumps(row))
        if manifest.kind != kind:
            raise ValueError(f"its kind is {kind!r}, but its settings are those of {manifest.kind!r}")
        return manifest


def read_ids(folder: Path, manifest: Manifest) -> list[str]:
    """Reads the document id of each entry of an index.

    Raises:
        ValueError: the ids are not those of as many documents as the manifest counts.
    """
    ids = TypeAdapter(list[Annotated[str, MinLen(1)]]).validate_json((folder / IDS_NAME).read_bytes(), strict=True)
    documents = [doc_id for doc_id, _ in groupby(ids)]
    if not len(set(documents)) == len(documents) == manifest.document_count:
        raise ValueError(f"{IDS_NAME} does not have the ids of {manifest.document_count} documents")
    return ids


def checked(folder: Path) -> AbstractContextManager[None]:
    """Reports what is wrong with the files of an index.

    Raises:
        IndexMismatchError: a file is damaged.
    """
    fault = f"{folder} is not an index that can be searched"
    return reported(IndexMismatchError, fault, "; delete it and build it again.")

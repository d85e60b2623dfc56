"""What stands beside an index, so that a wrong or stale one is refused."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import IndexMismatchError
from acqo_rl.retrieval import words

FORMAT_VERSION = 1
FILE_NAME = "manifest.json"

_PACKAGES = (
    "acqo-rl",
    "bm25s",
    "faiss-cpu",
    "faiss-gpu",
    "numpy",
    "semantic-text-splitter",
    "sentence-transformers",
    "torch",
)


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """How a dense index was made.

    Attributes:
        encoder: arguments of ``SentenceTransformerEncoder``; ``None`` for an encoder of another class.
        encoder_fingerprint: of the encoder, see ``acqo_rl.types.Encoder``.
        dimension: length of an embedding.
        factory: FAISS factory string.
        build_parameters: FAISS parameters that shaped the index.
        search_parameters: FAISS parameters of a search.
        normalised: embeddings have length 1 (L2), so the inner product is the cosine.
        metric: what is a score.
        passages: ``corpus_hash`` of the passages that the documents were split into; empty where none was.
    """

    encoder: dict[str, Any] | None
    encoder_fingerprint: str
    dimension: int
    factory: str
    build_parameters: str = ""
    search_parameters: str = ""
    normalised: bool = True
    metric: str = "inner_product"
    passages: str = ""


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """How a BM25 index was made.

    Attributes:
        language: of stemmer and stop words.
        k1: how fast repetitions of a word saturate.
        b: how much long documents are held back.
        words: version of the word segmentation, see ``acqo_rl.retrieval.words``.
    """

    language: str = "english"
    k1: float = 1.5
    b: float = 0.75
    words: int = words.VERSION


@dataclass(frozen=True, slots=True)
class HybridSettings:
    """What an index is that holds others.

    Attributes:
        parts: name of a folder inside that of the index -> fingerprint of the index in it, in the order of fusion.
    """

    parts: dict[str, str]


_SETTINGS = {"dense": DenseSettings, "bm25": Bm25Settings, "hybrid": HybridSettings}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index holds and what it was made with.

    Attributes:
        settings: of the kind of index.
        document_count: number of documents.
        corpus_hash: ``acqo_rl.data.beir.corpus_hash`` of the documents, or for vectors without documents a hash of
            ids and vectors.
        files: name -> size in bytes of every file of the index; of a hybrid one, of the manifests of its parts.
        packages: versions it was built with; they are not part of the fingerprint.
    """

    settings: DenseSettings | Bm25Settings | HybridSettings
    document_count: int
    corpus_hash: str
    files: dict[str, int] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``dense``, ``bm25`` or ``hybrid``."""
        return next(kind for kind, settings in _SETTINGS.items() if isinstance(self.settings, settings))

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides what a search finds; an encoder counts by its own fingerprint."""
        return hashlib.sha256(json.dumps(self._identity(), sort_keys=True).encode()).hexdigest()

    def differences(self, wanted: Manifest) -> list[str]:
        """What distinguishes the index from the wanted one, one reason a line; empty if the fingerprints agree."""
        seen, want = self._identity(), wanted._identity()
        return [
            f"its {key} is {seen.get(key)!r}, wanted {want.get(key)!r}"
            for key in want | seen
            if seen.get(key) != want.get(key)
        ]

    def _identity(self) -> dict[str, Any]:
        settings = asdict(self.settings)
        settings.pop("encoder", None)
        if not settings.get("passages"):  # the fingerprints of indexes that are older than this setting stay
            settings.pop("passages", None)
        return {
            "kind": self.kind,
            "document_count": self.document_count,
            "corpus_hash": self.corpus_hash,
            **settings,
        }


def package_versions() -> dict[str, str]:
    """Versions of the installed packages that an index depends on."""
    installed = {d.name.lower(): d.version for name in _PACKAGES for d in importlib.metadata.distributions(name=name)}
    return dict(sorted(installed.items()))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest, last of all files: a folder without one is unfinished."""
    row = {"format_version": FORMAT_VERSION, "kind": manifest.kind, **asdict(manifest)}
    write_atomic(folder / FILE_NAME, [json.dumps(row, indent=2, ensure_ascii=False)])


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a finished index and checks that its files are there with the sizes they had.

    Raises:
        IndexMismatchError: there is no finished index, its format is newer, its words are split in another way, or a
            file is missing, cut or broken.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        raise IndexMismatchError(f"{folder} holds no finished index ({FILE_NAME} is missing); build it first.")
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        version, kind = row.pop("format_version"), row.pop("kind")
        if version > FORMAT_VERSION:
            raise IndexMismatchError(
                f"{path} has format version {version}, this acqo_rl reads up to {FORMAT_VERSION};"
                " update acqo_rl, or build the index again."
            )
        given = row.pop("settings")
        if kind == "bm25":
            given = {"words": 1, **given}  # indexes without the field were built with version 1
        settings = _SETTINGS[kind](**given)
        if isinstance(settings, Bm25Settings) and settings.words != words.VERSION:
            raise IndexMismatchError(
                f"{folder} was built with version {settings.words} of the word segmentation, this acqo_rl has version"
                f" {words.VERSION}; delete {folder} and build it again (minutes for a million passages)."
            )
        manifest = Manifest(settings, **row)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexMismatchError(f"{path} is broken ({error!r}); delete {folder} and build it again.") from error
    for name, size in manifest.files.items():
        file = folder / name
        seen = f"has {file.stat().st_size:,} bytes" if file.is_file() else "is missing"
        if seen != f"has {size:,} bytes":
            raise IndexMismatchError(f"{file} {seen}, wanted {size:,} bytes; delete {folder} and build it again.")
    return manifest

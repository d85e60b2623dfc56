"""The note that a build writes into the metadata of a collection: the manifest of an engine's index."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from acqo_rl.errors import IndexMismatchError

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Note:
    """What a collection was built from.

    Attributes:
        corpus_hash: ``acqo_rl.data.beir.corpus_hash`` of the documents.
        document_count: number of documents.
        dimension: of the embeddings.
        encoder: settings for ``load_encoder``; ``None`` for an encoder of another class.
        encoder_fingerprint: fingerprint of the encoder.
        finished: whether all documents are written.
        format_version: of this note.
    """

    corpus_hash: str
    document_count: int
    dimension: int
    encoder: dict[str, Any] | None
    encoder_fingerprint: str
    finished: bool = False
    format_version: int = FORMAT_VERSION

    @property
    def fingerprint(self) -> str:
        """Hash of what determines the results of a search."""
        identity = self.corpus_hash, self.document_count, self.dimension, self.encoder_fingerprint
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    def done(self) -> Note:
        """The note of the finished build."""
        return replace(self, finished=True)

    def as_dict(self) -> dict[str, Any]:
        """For the metadata of a collection."""
        return asdict(self)


def read_note(shown: str, note: dict[str, Any]) -> Note:
    """Reads the note of a collection.

    Raises:
        IndexMismatchError: it is damaged, or of a newer version of this package.
    """
    try:
        if note["format_version"] > FORMAT_VERSION:
            raise IndexMismatchError(
                f"{shown} has format version {note['format_version']}, but this acqo_rl reads versions up to"
                f" {FORMAT_VERSION}. Update acqo_rl, or build the index again."
            )
        return Note(**note)
    except (TypeError, KeyError) as error:
        raise IndexMismatchError(
            f"The note of {shown} is damaged ({error!r}); build it in a new collection."
        ) from error

"""Settings of every command that searches an index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acqo_rl.retrieval.gpu import IndexDevice
from acqo_rl.types import Retriever

INDEX_HELP = (
    "Index that scripts/build_index.py wrote, or the URL of a retriever server; several are searched as one, such as "
    "DENSE+BM25."
)


@dataclass(kw_only=True)
class IndexSettings:
    """Where FAISS indexes are searched."""

    index_device: IndexDevice = field(
        default="auto",
        metadata={
            "help": "Where FAISS indexes are searched: cpu; gpu (one per process: each has a whole copy); shards "
            "(split over all visible GPUs); auto: gpu where FAISS sees one and the index type exists there, else cpu. "
            "A retriever server has its own."
        },
    )
    index_float16: bool = field(
        default=False,
        metadata={"help": "Half precision on the GPU: half the memory of a Flat index, slightly different scores."},
    )

    def open_index(self, index: str, **options: Any) -> Retriever:
        """The retriever of an index, where these settings place it; ``options`` as in ``load_retriever``."""
        from acqo_rl.retrieval.build import load_retriever

        return load_retriever(index, device=self.index_device, float16=self.index_float16, **options)

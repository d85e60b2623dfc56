"""Settings shared by all commands that search an index."""

from dataclasses import dataclass
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.roles import Retriever
from acqo_rl.settings import setting
from acqo_rl.types import UNRESTRICTED, Corpus, IndexDevice, Scope

INDEX_HELP = (
    "Index folder written by acqo index, URL of a retriever server, or collection of a search engine: "
    "http+json:TEMPLATE.yaml, postgresql://USER@HOST/DATABASE/TABLE or langchain:MODULE:NAME. Join several by '+' to "
    "search them together, such as DENSE+BM25."
)

RERANKER_HELP = (
    "Reranker after the fusion: cross-encoder:NAME (folder or Hub id, sentence-transformers) or rerank:NAME@URL (a "
    "server that answers at URL/rerank, such as vLLM, TEI, Cohere or Jina)."
)


@dataclass(kw_only=True)
class IndexSettings:
    """The device of FAISS indexes."""

    index_device: IndexDevice = setting(
        "Device that searches FAISS indexes. gpu: each process copies the index to its GPU. "
        "gpu_float16: the same with vectors of half precision. shards: the "
        "index is split over all visible GPUs. auto: gpu if FAISS has a GPU and supports the index type there, "
        "else cpu. A retriever server has its own setting.",
        "auto",
    )

    def open_index(self, index: str, **options: Any) -> Retriever:
        """Loads the retriever of an index with these settings; ``options`` as in ``load_retriever``."""
        from acqo_rl.retrieval.load import load_retriever

        return load_retriever(index, device=self.index_device, **options)

    def open_index_of(self, index: str, corpus: Corpus) -> Retriever:
        """Loads the retriever of an index that must hold a corpus.

        Raises:
            IndexMismatchError: the index was built from another corpus, or is a collection that holds no document of
                it.
        """
        from acqo_rl.data.beir import corpus_hash
        from acqo_rl.retrieval.engines.location import is_engine
        from acqo_rl.retrieval.engines.opening import check_overlap
        from acqo_rl.retrieval.places import parts_of

        retriever = self.open_index(index, expected_corpus_hash=corpus_hash(corpus.values()), expected_ids=corpus)
        for part in filter(is_engine, parts_of(index)):
            check_overlap(part, list(corpus))
        return retriever

    def open_with_documents(
        self, index: str, data: str | None, scope: Scope = UNRESTRICTED
    ) -> tuple[Corpus, Retriever]:
        """Returns the documents of a BEIR folder, or of the search engine of the index, and the retriever.

        Raises:
            ConfigError: there is no folder, and the index contains no documents; or the index has tenants and the scope
                names none, or the reverse; or it cannot be filtered.
            DataError: the documents cannot be read.
            IndexMismatchError: see :meth:`open_index_of`.
        """
        from acqo_rl.data.beir import read_corpus
        from acqo_rl.retrieval.engines.filters import conditions_of
        from acqo_rl.retrieval.engines.location import is_engine
        from acqo_rl.retrieval.engines.opening import documents_of
        from acqo_rl.retrieval.fields import SelectedDocuments
        from acqo_rl.retrieval.places import parts_of, tenant_of

        if data is not None:
            corpus = read_corpus(data)
            retriever = self.open_index_of(index, corpus).restrict(scope)
            where = conditions_of(index, tenant_of(parts_of(index)[0]), scope)
            return (dict(SelectedDocuments(corpus, where)) if where else corpus), retriever
        engines = [*filter(is_engine, parts_of(index))]
        if not engines:
            raise ConfigError(f"The index {index} does not contain the documents; give their BEIR folder: --data.")
        return documents_of(engines[0]).restrict(scope), self.open_index(index).restrict(scope)

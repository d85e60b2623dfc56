r"""Build a search index from a BEIR folder.

    acqo index --data data/my_corpus --output indexes/my_corpus
    acqo index --data data/my_corpus --output indexes/hnsw --faiss.factory HNSW64 \
        --faiss.build_parameters efConstruction=2000 --faiss.search_parameters efSearch=256
    acqo index --data data/my_corpus --output indexes/bm25 --kind bm25
    acqo index --data data/my_corpus --output indexes/both --kind hybrid
    acqo index --data data/my_corpus --embeddings vectors.npz --encoder my/model --output indexes/vectors
    acqo index --data data/my_corpus --output indexes/split --split_passages True
    acqo index --data data/my_corpus --output qdrant://localhost:6333/my_corpus
    acqo index --data data/my_corpus --output indexes/served --encoder openai:BAAI/bge-m3@http://localhost:8080/v1
    accelerate launch --num_processes 4 -m acqo_rl.cli index --data data/my_corpus --output indexes/my_corpus

The same command resumes an interrupted build. A finished index is never overwritten: other settings are rejected. In a
search engine, --update True adds and deletes documents until the collection contains exactly the given corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.cli.fields import group, setting
from acqo_rl.errors import FINITE, ConfigError, check_ranges
from acqo_rl.retrieval.embedding_files import read_embeddings
from acqo_rl.retrieval.encoders import SERVER_SETTINGS, is_on_server
from acqo_rl.retrieval.engines.location import is_engine, read_location

if TYPE_CHECKING:
    from accelerate import PartialState

    from acqo_rl.retrieval import Manifest, SentenceTransformerEncoder
    from acqo_rl.roles import Encoder
    from acqo_rl.types import Document

WHOLE_DOCUMENTS = (
    "A search engine stores whole documents; split long ones in the data, or build an index folder with"
    " --split_passages."
)


@dataclass
class EncodingOptions:
    """Settings of the encoder."""

    revision: str | None = setting("Hub revision of the encoder.", None)
    query_prompt: str | None = setting("Prefix of queries; by default that of the encoder.", None)
    passage_prompt: str | None = setting("Prefix of passages; by default that of the encoder.", None)
    dimensions: int | None = setting(
        "Number of dimensions to request from a server; by default that of the model.", None
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = setting("Precision of the encoder.", "auto")
    batch_size: int = setting("Number of passages encoded at once.", 32)
    shard_size: int = setting("Number of passages per written shard.", 8192)
    max_length: int | None = setting("Maximum number of tokens per passage; by default that of the encoder.", None)


@dataclass
class FaissOptions:
    """Settings of a FAISS index."""

    factory: str = setting("FAISS index: Flat, HNSW64, IVF256,Flat, IVF256,PQ32 ...", "Flat")
    build_parameters: str = setting("FAISS build parameters, such as efConstruction=200.", "")
    search_parameters: str = setting("FAISS search parameters, such as efSearch=128 or nprobe=32.", "")
    threads: int | None = setting("FAISS threads; with 1 thread, an HNSW graph is reproducible.", None)


@dataclass
class Bm25Options:
    """Settings of a BM25 index."""

    language: str = setting("Language of stemming and stop words; none disables both.", "english")
    k1: float = setting("Saturation of term frequency; higher saturates later.", 1.5)
    b: float = setting("Strength of length normalisation, 0 to 1.", 0.75)


@dataclass
class BuildIndexConfig:
    """Settings of the build."""

    output: Address = setting("Folder of the index, or collection of a search engine.")
    data: str = setting("BEIR folder with corpus.jsonl.")
    embeddings: str | None = setting(
        "Precomputed embeddings of the documents: a .npz file with the arrays ids and embeddings.", None
    )
    kind: Literal["dense", "bm25", "hybrid"] = setting(
        "hybrid builds a dense and a BM25 index, which are searched together.", "dense"
    )
    encoder: str = setting(
        "sentence-transformers model (Hub id or folder), or openai:NAME@URL (a server).", "embedded:minilm"
    )
    encoding: EncodingOptions = group("Settings of the encoder, such as --encoding.max_length 128.", EncodingOptions)
    split_passages: bool = setting(
        "Split documents that exceed the encoder's maximum length; the score is that of the best passage.", False
    )
    faiss: FaissOptions = group("Settings of a FAISS index, such as --faiss.factory HNSW64.", FaissOptions)
    bm25: Bm25Options = group("Settings of a BM25 index, such as --bm25.language none.", Bm25Options)
    update: bool = setting("Search engine: change an existing collection to this corpus.", False)


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(BuildIndexConfig, description=__doc__ or "")


def main(config: BuildIndexConfig) -> None:
    """Builds the index; under ``accelerate launch``, all processes encode shards, and the first one indexes them."""
    check(config)
    if is_engine(config.output):
        build_in_engine(config)
        return
    import torch
    from accelerate import PartialState

    from acqo_rl.data.beir import read_corpus
    from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
    from acqo_rl.retrieval.manifest import FILE_NAME
    from acqo_rl.retrieval.shards import Shards
    from acqo_rl.retrieval.splitting import long_documents, split_passages

    state = PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(days=1))  # waits for slow processes
    documents = list(read_corpus(config.data).values())
    encoder = load_encoder_of(config, state) if config.kind != "bm25" else None
    passages = documents
    finished = (Path(config.output) / FILE_NAME).exists()
    dense = Path(config.output, "dense") if config.kind == "hybrid" else Path(config.output)
    wants_lengths = not config.embeddings and (config.split_passages or not finished)
    if isinstance(encoder, SentenceTransformerEncoder) and wants_lengths:
        long = long_documents(documents, encoder)
        passages = split_passages(documents, encoder, long) if config.split_passages else documents
        if long and not finished and state.is_main_process:
            remedy = "Use --split_passages to split them."
            print(length_note(documents, passages, long, encoder, remedy), flush=True)
    if not finished and state.is_main_process:
        warn_of_empty(documents)
    if not finished and not (dense / FILE_NAME).exists() and encoder and not config.embeddings:
        shards = Shards(dense, passages, encoder, config.encoding.shard_size)
        if state.is_main_process:
            print(f"{len(shards.missing()):,} of {shards.total:,} shards must be encoded.", flush=True)
            if cost := cost_of(passages, config.encoder):
                print(cost, flush=True)
        state.wait_for_everyone()
        shards.encode(state.process_index, state.num_processes)
        state.wait_for_everyone()
    if state.is_main_process:
        manifest = build(config, documents, passages, encoder)
        size = sum(path.stat().st_size for path in Path(config.output).rglob("*") if path.is_file()) / 1e6
        print(f"{config.output}: {manifest.document_count:,} documents, {size:,.1f} MB, fingerprint", end=" ")
        print(manifest.fingerprint[:16], "(already exists, nothing to do)" if finished else "(ready to search)")
    if state.num_processes > 1:
        state.destroy_process_group()


def check(config: BuildIndexConfig) -> None:
    """Checks the settings for contradictions before anything is loaded."""
    if config.kind == "bm25" and (config.embeddings or config.split_passages):
        raise ConfigError("A bm25 index is built from whole texts; omit embeddings and split_passages.")
    if config.split_passages and config.embeddings:
        raise ConfigError("Precomputed embeddings cannot be split; omit split_passages, or give only data.")
    if config.update and not is_engine(config.output):
        raise ConfigError("Only a collection of a search engine can be updated; omit update, or build a new index.")
    check_encoder(config)
    if is_engine(config.output):
        check_engine(config)
        return
    check_ranges(config.bm25, {"k1": (0, FINITE), "b": (0, 1)})
    if Path(config.output).resolve() == Path(config.data).resolve():
        raise ConfigError(f"output is the data folder {config.data}; give a folder of its own for the index.")


def check_encoder(config: BuildIndexConfig) -> None:
    """Rejects settings that do not apply to the encoder."""
    on_server = is_on_server(config.encoder)
    given = changed(config.encoding, ("revision", "dtype", "max_length") if on_server else ("dimensions",))
    given += ["split_passages"] * (on_server and config.split_passages)
    if given:
        where = "on a server" if on_server else "in this process"
        raise ConfigError(f"An encoder {where} has no setting {given[0]}; omit it.")


def changed(settings: Any, names: Sequence[str]) -> list[str]:
    """The settings that differ from their defaults."""
    return [f.name for f in fields(settings) if f.name in names and getattr(settings, f.name) != f.default]


def check_engine(config: BuildIndexConfig) -> None:
    """Rejects settings that do not apply to a search engine."""
    read_location(config.output)
    if config.split_passages:
        raise ConfigError(WHOLE_DOCUMENTS)
    groups = {"faiss": config.faiss == FaissOptions(), "bm25": config.bm25 == Bm25Options()}
    if given := [*changed(config, ("kind",)), *(name for name, is_default in groups.items() if not is_default)]:
        raise ConfigError(
            f"A search engine has its own dense and text indexes; omit {', '.join(given)}, and choose"
            " ?mode=dense, text or hybrid when you search."
        )


def build_in_engine(config: BuildIndexConfig) -> None:
    """Writes the corpus to a collection of a search engine."""
    from acqo_rl.data.beir import read_corpus
    from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
    from acqo_rl.retrieval.encoders import load_encoder
    from acqo_rl.retrieval.engines.build import build_engine_index
    from acqo_rl.retrieval.splitting import long_documents

    documents = list(read_corpus(config.data).values())
    encoder = load_encoder(encoder_settings(config))
    embeddings = read_embeddings(config.embeddings, documents) if config.embeddings else None

    def announce() -> None:
        warn_of_empty(documents)
        if embeddings is not None:
            return
        if cost := cost_of(documents, config.encoder):
            print(cost, flush=True)
        if isinstance(encoder, SentenceTransformerEncoder) and (long := long_documents(documents, encoder)):
            print(length_note(documents, documents, long, encoder, WHOLE_DOCUMENTS), flush=True)

    note = build_engine_index(
        config.output, documents, encoder, embeddings=embeddings, update=config.update, announce=announce
    )
    shown = read_location(config.output).shown
    print(f"{shown}: {note.document_count:,} documents, fingerprint {note.fingerprint[:16]} (ready to search)")


def load_encoder_of(config: BuildIndexConfig, state: PartialState) -> Encoder:
    """Loads the encoder; with several processes, each one uses its own device."""
    from acqo_rl.retrieval.encoders import load_encoder

    settings = encoder_settings(config)
    if state.num_processes > 1 and not is_on_server(config.encoder):
        settings["device"] = str(state.device)
    return load_encoder(settings)


def encoder_settings(config: BuildIndexConfig) -> dict[str, Any]:
    """The arguments of the encoder."""
    of_this_process = ("revision", "query_prompt", "passage_prompt", "dtype", "batch_size", "max_length")
    names = SERVER_SETTINGS if is_on_server(config.encoder) else of_this_process
    return {"model": config.encoder, **{name: getattr(config.encoding, name) for name in names}}


def cost_of(passages: Sequence[Document], model: str) -> str:
    """What a server has to embed, with four characters per token; empty for an encoder in this process."""
    from acqo_rl.retrieval.passage import passage_text

    if not is_on_server(model):
        return ""
    tokens = [len(passage_text(passage)) / 4 for passage in passages]
    counted = f"{len(tokens):,} passages, about {sum(tokens) / 1000:,.0f} thousand tokens"
    return f"To be embedded by {model}: {counted}, the longest about {max(tokens):,.0f}."


def warn_of_empty(documents: list[Document]) -> None:
    """Prints the number and the first ids of documents without text, if there are any."""
    from acqo_rl.data.tally import counted, without_text

    if found := without_text(documents):
        print(f"The corpus has {counted(found)}; without a text, a document is found by its title at most.", flush=True)


def length_note(
    documents: list[Document],
    passages: list[Document],
    long: list[int],
    encoder: SentenceTransformerEncoder,
    remedy: str,
) -> str:
    """A note on documents that exceed the maximum length of the encoder, with a remedy if they are not split."""
    counted = f"{len(long):,} of {len(documents):,} passages are longer than {encoder.max_tokens} tokens"
    if len(passages) > len(documents):
        return f"{counted}; they are split, which gives {len(passages):,} passages in total."
    return f"{counted}; the vectors do not cover the text beyond. {remedy}"


def build(
    config: BuildIndexConfig,
    documents: list[Document],
    passages: list[Document],
    encoder: Encoder | None,
) -> Manifest:
    """Builds the index, or returns the manifest of the finished index."""
    from acqo_rl.retrieval.build import build_hybrid_index

    builders: dict[str, Callable[[Path], Manifest]] = {"bm25": partial(build_bm25, config, documents)}
    if encoder is not None:
        builders = {"dense": partial(build_dense, config, documents, passages, encoder), **builders}
    if config.kind == "hybrid":
        return build_hybrid_index(config.output, builders)
    return builders[config.kind](Path(config.output))


def build_bm25(config: BuildIndexConfig, documents: list[Document], folder: Path) -> Manifest:
    """Builds a BM25 index."""
    from acqo_rl.retrieval.build import build_bm25_index

    return build_bm25_index(folder, documents, **asdict(config.bm25))


def build_dense(
    config: BuildIndexConfig,
    documents: list[Document],
    passages: list[Document],
    encoder: Encoder,
    folder: Path,
) -> Manifest:
    """Builds a dense index from precomputed embeddings or with the encoder."""
    from acqo_rl.retrieval.build import build_dense_index

    return build_dense_index(
        folder,
        documents,
        encoder,
        passages=passages,
        embeddings=read_embeddings(config.embeddings, documents) if config.embeddings else None,
        shard_size=config.encoding.shard_size,
        **asdict(config.faiss),
    )

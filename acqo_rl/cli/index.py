r"""Build a search index from a BEIR folder.

    acqo index --data data/my_corpus --output indexes/my_corpus
    acqo index --data data/my_corpus --output indexes/hnsw --faiss.factory HNSW64 \
        --faiss.build_parameters efConstruction=2000 --faiss.search_parameters efSearch=256
    acqo index --data data/my_corpus --output indexes/bm25 --kind bm25
    acqo index --data data/my_corpus --output indexes/both --kind hybrid
    acqo index --data data/my_corpus --output indexes/split --split_passages True
    acqo index --data data/my_corpus --output indexes/served --encoder openai:BAAI/bge-m3@http://localhost:8080/v1
    accelerate launch --num_processes 4 -m acqo_rl.cli index --data data/my_corpus --output indexes/my_corpus

The same command resumes an interrupted build. A finished index is never overwritten: other settings are rejected.

If documents were added, changed or removed, the same command with --update True encodes only new passages:

    acqo index --data data/my_corpus --output indexes/my_corpus --update True

The new state of the index is built beside the old one, which is replaced when it is complete. A running service opens
it by itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from acqo_rl.data.beir import corpus_hash, read_corpus
from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.files import hash_of
from acqo_rl.retrieval.build import Shards, build_bm25_index, build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.encoders import is_on_server, load_encoder
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.fields import lines_of
from acqo_rl.retrieval.load import describe
from acqo_rl.retrieval.manifest import FILE_NAME, PARTS, read_manifest
from acqo_rl.retrieval.places import folder_of
from acqo_rl.retrieval.splitting import long_documents, split_passages
from acqo_rl.retrieval.update import STATES, publish, with_known_vectors
from acqo_rl.roles import Encoder
from acqo_rl.settings import group, setting
from acqo_rl.text import passage_text
from acqo_rl.types import Amount, Document, Positive, Share

if TYPE_CHECKING:
    from accelerate import PartialState


_VECTORS = ("dense", "hybrid")


@dataclass
class EncodingOptions:
    """Settings of the encoder."""

    revision: str | None = setting("Hub revision of the encoder.", None)
    query_prompt: str | None = setting("Prefix of queries; by default that of the encoder.", None)
    passage_prompt: str | None = setting("Prefix of passages; by default that of the encoder.", None)
    dimensions: Positive | None = setting(
        "Number of dimensions to request from a server; by default that of the model.", None
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = setting("Precision of the encoder.", "auto")
    batch_size: Positive = setting("Number of passages encoded at once.", 32)
    shard_size: Positive = setting("Number of passages per written shard.", 8192)
    max_length: Positive | None = setting("Maximum number of tokens per passage; by default that of the encoder.", None)


@dataclass
class FaissOptions:
    """Settings of a FAISS index."""

    factory: str = setting("FAISS index: Flat, HNSW64, IVF256,Flat, IVF256,PQ32 ...", "Flat")
    build_parameters: str = setting("FAISS build parameters, such as efConstruction=200.", "")
    search_parameters: str = setting("FAISS search parameters, such as efSearch=128 or nprobe=32.", "")


@dataclass
class Bm25Options:
    """Settings of a BM25 index."""

    language: str = setting("Language of stemming and stop words; none disables both.", "english")
    k1: Amount = setting("Saturation of term frequency; higher saturates later.", 1.5)
    b: Share = setting("Strength of length normalisation, 0 to 1.", 0.75)


@dataclass
class BuildIndexConfig:
    """Settings of the build."""

    output: str = setting("Folder of the index.")
    data: str = setting("BEIR folder with corpus.jsonl.")
    kind: Literal["dense", "bm25", "hybrid"] = setting(
        "hybrid builds a dense and a BM25 index, which are searched together.", "dense"
    )
    encoder: str = setting(
        "sentence-transformers model (Hub id or folder), or openai:NAME@URL (a server).", "embedded:minilm"
    )
    encoding: EncodingOptions = group(
        "Settings of the encoder, such as --encoding.max_length 128.", EncodingOptions, _VECTORS
    )
    split_passages: bool = setting(
        "Split documents that exceed the encoder's maximum length; the score is that of the best passage.",
        False,
        of=_VECTORS,
    )
    faiss: FaissOptions = group("Settings of a FAISS index, such as --faiss.factory HNSW64.", FaissOptions, _VECTORS)
    update: bool = setting(
        "Bring a finished index up to date with its documents; repeat the other settings of the build. Vectors of "
        "passages that did not change are kept; BM25 and its word statistics are computed again.",
        False,
    )
    bm25: Bm25Options = group(
        "Settings of a BM25 index, such as --bm25.language none.", Bm25Options, ("bm25", "hybrid")
    )


def main(config: BuildIndexConfig) -> None:
    """Builds the index; under ``accelerate launch``, all processes encode shards, and the first one indexes them."""
    check(config)
    import torch
    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(days=1))  # waits for slow processes
    encoder = load_encoder_of(config, state) if config.kind != "bm25" else None
    documents = list(read_corpus(config.data).values())
    output = folder_of(config.output)[0]
    if config.update:
        old = folders_of(config, output)
        check_same(config, old, encoder)
        content = hash_of(corpus_hash(documents), *lines_of(documents))
        output = Path(config.output, STATES, content[:16])
    folders = folders_of(config, output)
    finished = all((folder / FILE_NAME).exists() for folder in folders)
    notes: list[str] = []
    passages = passages_of(config, documents, encoder, notes) if config.split_passages or not finished else documents
    if config.update and encoder and not finished:
        encoder, new = with_known_vectors(encoder, old[0], [*map(passage_text, passages)])
        notes.append(f"{new:,} of {len(passages):,} passages are new and must be encoded.")
    shards = None
    if encoder and not (folders[0] / FILE_NAME).exists():
        shards = Shards(folders[0], passages, encoder, config.encoding.shard_size)
        notes.append(f"{len(shards.missing()):,} of {shards.total:,} shards must be encoded.")
    if not finished and state.is_main_process:
        print("".join(f"{note}\n" for note in notes), end="", flush=True)
    if shards:
        state.wait_for_everyone()
        shards.encode(state.process_index, state.num_processes)
        state.wait_for_everyone()
    if state.is_main_process:
        build(config, folders, documents, passages, encoder)
        if config.update:
            publish(Path(config.output), output)
        info = describe(config.output)
        size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file()) / 1e6
        print(f"{config.output}: {info.document_count:,} documents, {size:,.1f} MB, fingerprint", end=" ")
        print(info.fingerprint[:16], "(already exists, nothing to do)" if finished else "(ready to search)")
    state.destroy_process_group()


def folders_of(config: BuildIndexConfig, output: Path) -> list[Path]:
    """The folders of the single indexes, the dense one first."""
    return [output / part for part in PARTS] if config.kind == "hybrid" else [output]


def check_same(config: BuildIndexConfig, folders: list[Path], encoder: Encoder | None) -> None:
    """Checks that encoder and settings are those of the finished index to update.

    Raises:
        IndexMismatchError: there is no finished index, or it has others.
    """
    given = [{"encoder_fingerprint": encoder.fingerprint, **asdict(config.faiss)}] if encoder else []
    if config.kind != "dense":
        given.append(asdict(config.bm25))
    for folder, wanted in zip(folders, given, strict=True):
        built = asdict(read_manifest(folder).settings)
        wanted["search_parameters"] = wanted.get("search_parameters") or built.get("search_parameters")
        is_split = bool(built.get("passages"))
        if any(built.get(name) != value for name, value in wanted.items()) or is_split > config.split_passages:
            raise IndexMismatchError(f"{folder} was built with other settings; repeat those of its first build.")


def check(config: BuildIndexConfig) -> None:
    """Checks the settings for contradictions before anything is loaded.

    Raises:
        ConfigError: a setting does not apply to the kind of index or of encoder, or the output is no folder of its own.
    """
    if is_engine(config.output):
        raise ConfigError(
            "output is a collection of a search engine; give a folder, or fill the collection with the engine's client."
        )
    if config.split_passages and is_on_server(config.encoder):
        raise ConfigError("split_passages needs an encoder that runs in this process; omit it.")
    if Path(config.output).resolve() == Path(config.data).resolve():
        raise ConfigError(f"output is the data folder {config.data}; give a folder of its own for the index.")


def load_encoder_of(config: BuildIndexConfig, state: PartialState) -> Encoder:
    """Loads the encoder; with several processes, each one uses its own device."""
    default = EncodingOptions(shard_size=config.encoding.shard_size)
    given = {name: value for name, value in asdict(config.encoding).items() if value != getattr(default, name)}
    if state.num_processes > 1 and not is_on_server(config.encoder):
        given["device"] = str(state.device)
    return load_encoder({"model": config.encoder, **given})


def passages_of(
    config: BuildIndexConfig, documents: list[Document], encoder: Encoder | None, notes: list[str]
) -> list[Document]:
    """The documents, or with ``split_passages`` their passages.

    Adds notes on documents without text, and on those that exceed the encoder's maximum length.
    """
    passages = documents
    if empty := [document.id for document in documents if not document.text.strip()]:
        notes.append(
            f"{len(empty):,} documents have no text (such as {empty[0]}); they are found by their titles only."
        )
    if isinstance(encoder, SentenceTransformerEncoder) and (long := long_documents(documents, encoder)):
        remedy = "the vectors do not cover the text beyond. to cover it, build with --split_passages True"
        if config.split_passages:
            passages = split_passages(documents, encoder, long)
            remedy = f"they are split, which gives {len(passages):,} passages in total"
        longer = f"{len(long):,} of {len(documents):,} passages are longer than {encoder.max_tokens} tokens"
        notes.append(f"{longer}; {remedy}.")
    return passages


def build(
    config: BuildIndexConfig,
    folders: list[Path],
    documents: list[Document],
    passages: list[Document],
    encoder: Encoder | None,
) -> None:
    """Builds the index, or both parts of a hybrid one, unless it is finished."""
    if encoder is not None:
        size = config.encoding.shard_size
        build_dense_index(folders[0], documents, encoder, passages=passages, shard_size=size, **asdict(config.faiss))
    if config.kind != "dense":
        build_bm25_index(folders[-1], documents, **asdict(config.bm25))

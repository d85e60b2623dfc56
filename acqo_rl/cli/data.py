r"""Write a data set as a BEIR folder.

    acqo data --dataset embedded --output data/embedded
    acqo data --dataset union --sources data/films data/hotels --limit 800 --output data/both

Your own files:

    acqo data --dataset files --documents handbook/ wiki/ faq.csv --document_fields text=answer --output data/handbook
    acqo data --dataset files --documents articles.csv --queries questions.jsonl \
        --document_fields id=article_no title=headline text=summary+body --query_fields text=question \
        --qrels train=train.tsv dev=dev.tsv --output data/articles
    ir_datasets export vaswani docs --format jsonl > docs.jsonl     (and queries, and qrels --format trec)
    acqo data --dataset files --documents docs.jsonl --queries queries.jsonl --document_fields id=doc_id \
        --query_fields id=query_id --qrels test=qrels.txt --output data/vaswani

The documents of a collection in a search engine, to write questions about it (acqo label):

    acqo data --dataset collection --documents postgresql://me@localhost/wiki/pages --output data/wiki

``embedded`` is generated data in this package, with train, dev, test and other splits. ``embedded_more`` adds 4,500
train questions (train-more), and ``embedded_bridge`` bridge questions (train-bridge, dev-bridge, test-bridge), which
need two or three linked passages.

``union`` merges BEIR folders, to search all of them, or to train one policy for all of them: --limit train queries from
each, and as many dev queries from each as the smallest source has. A source may have no queries.

``files`` reads tables in UTF-8 (.csv and .tsv with a header, .jsonl), and pages or folders of pages (.md, .html, .txt,
.rst, .pdf), into one data set. The fields of a table are called id (or _id), title, text and history, or as
--document_fields and --query_fields say; TARGET=A+B joins two. All others become metadata. --qrels reads BEIR and TREC
formats; without SPLIT=, its queries are divided into train, dev and test (8 : 1 : 1). All errors are reported at once.

A folder that already contains the data set with the same settings is not changed; any other content is an error. A new
folder is either complete or not written at all.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from acqo_rl.addresses import Address
from acqo_rl.data.beir import write_beir
from acqo_rl.data.importer import EMBEDDED, write_embedded, write_files, write_union
from acqo_rl.errors import ConfigError
from acqo_rl.files import atomic_folder, write_atomic
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.settings import setting
from acqo_rl.types import Positive, Seed, Share

OF_FILES = ("documents", "queries", "qrels", "document_fields", "query_fields", "max_skipped", "max_repeated")


@dataclass
class PrepareDataConfig:
    """Settings of a data set."""

    output: str = setting("Folder to write.")
    dataset: Literal["embedded", "embedded_more", "embedded_bridge", "union", "files", "collection"] = setting(
        "Name of the data set, see above.", "embedded"
    )
    limit: Positive | None = setting("maximum number of train queries of a source; by default all.", None, of="union")
    seed: Seed = setting("Seed of the random choices.", 0)
    documents: list[Address] = setting(
        "tables, pages, folders of pages; or the location of the collection.", [], of="files, collection"
    )
    queries: list[str] = setting("tables, or .txt files with one query per line.", [], of="files")
    qrels: list[str] = setting("SPLIT=FILE for each split, or one FILE.", [], of="files")
    document_fields: list[str] = setting("field names of documents: id=NAME, title=NAME, text=NAME.", [], of="files")
    query_fields: list[str] = setting("field names of queries: id=NAME, text=NAME, history=NAME.", [], of="files")
    max_skipped: Share | None = setting(
        "maximum share of files and rows that may be skipped; by default 0.05.", None, of="files"
    )
    max_repeated: Share | None = setting(
        "maximum share of the pages of a folder that may begin or end with the same line, which is dropped if more do; "
        "by default 0.5.",
        None,
        of="files",
    )
    sources: list[str] = setting("BEIR folders to merge.", [], of="union")


def main(config: PrepareDataConfig) -> None:
    """Writes the data set, unless the folder already contains it."""
    folder = Path(config.output).resolve()
    if is_written(folder, config):
        print(f"{folder} already contains the data set.")
        return
    with atomic_folder(folder) as unfinished:
        about = write(unfinished, config)
        write_atomic(unfinished / "README.md", [about, "", f"Written by `{command_of(config)}`."])
    print(f"The data set is in {folder}.")


def is_written(folder: Path, config: PrepareDataConfig) -> bool:
    """Whether the folder contains this data set, according to its README.

    Raises:
        ConfigError: the folder contains something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    readme = folder / "README.md"
    mark = f"`{command_of(config)}`"
    if readme.is_file() and mark in readme.read_text(encoding="utf-8", errors="replace"):
        return True
    raise ConfigError(f"{folder} has other content, or was written with other settings; give another output folder.")


def command_of(config: PrepareDataConfig) -> str:
    """The command that writes the data set, without its output folder."""
    words = {
        key: shlex.join(map(str, value if isinstance(value, list) else [value]))
        for key, value in asdict(config).items()
        if key != "output" and value not in ([], None)
    }
    return " ".join(["acqo data", *(f"--{key} {value}" for key, value in words.items())])


def write(folder: Path, config: PrepareDataConfig) -> str:
    """Writes the data set to a new folder; returns the text of its README."""
    name = config.dataset
    if name in EMBEDDED:
        return write_embedded(folder, name)
    if name == "union":
        return write_union(folder, config.sources, limit=config.limit, seed=config.seed)
    if name == "files":
        return write_files(folder, **{key: getattr(config, key) for key in OF_FILES})
    return write_collection(folder, config.documents)


def write_collection(folder: Path, places: Sequence[Address]) -> str:
    """Writes the documents of a collection in a search engine; returns the text of a README.

    Raises:
        ConfigError: not exactly one collection is given.
    """
    if len(places) != 1 or not is_engine(places[0]):
        given = " ".join(places) or "nothing"
        raise ConfigError(
            f"documents is {given}; give the location of one collection, such as postgresql://USER@HOST/DATABASE/TABLE."
        )
    write_beir(folder, documents_of(places[0]).values(), [], {})
    return "# Documents of a collection"

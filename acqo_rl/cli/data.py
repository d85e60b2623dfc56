r"""Write a data set as a BEIR folder.

    acqo data --dataset embedded --output data/embedded
    acqo data --dataset hotpotqa --limit 2000 --distractors 50000 --output data/hotpotqa
    acqo data --dataset topiocqa --output data/topiocqa
    acqo data --dataset beir/scifact --output data/scifact
    acqo data --dataset union --sources data/hotpotqa data/topiocqa --limit 800 --output data/both
    acqo data --dataset union --sources data/hotpotqa data/nq --limit 800 200 --output data/mixed
    acqo data --dataset union --sources data/hotpotqa data/nq --joined 0 500 --output data/compound

Your own files:

    acqo data --dataset files --documents handbook/ --output data/handbook
    acqo data --dataset files --documents articles.csv --queries questions.jsonl \
        --document_fields id=article_no title=headline text=summary+body --query_fields text=question \
        --qrels train=train.tsv dev=dev.tsv --output data/articles
    acqo data --dataset files --documents disk4/*.gz --queries topics.301-450 \
        --query_fields text=desc --qrels test=qrels.trec7.txt --output data/trec7
    ir_datasets export vaswani docs --format jsonl > docs.jsonl     (and queries, and qrels --format trec)
    acqo data --dataset files --documents docs.jsonl --queries queries.jsonl \
        --qrels qrels.txt --output data/vaswani

``embedded`` is generated from facts that packages on PyPI carry: about 8,400 passages on places, languages and
currencies, and 1,500 / 300 / 500 questions. The same seed gives the same bytes.

The others are streamed from the Hugging Face Hub: hotpotqa, 2wikimultihopqa, musique, multihop_rag, topiocqa, qrecc,
nq, squad, and beir/NAME for any set of BEIR. The whole source is read, so that --limit and --distractors draw from all
of it (54 million passages for qrecc). Source, licence and what was kept stand in the folder's README.md.

``union`` makes one folder of several BEIR folders, to train one policy for all: --limit train queries of each (one
number, or one for each), and as many dev queries of each as the smallest has. --joined puts two queries of a source in
one sentence, so that the policy learns to take apart what asks for two things.

``files`` reads tables (.csv, .tsv, .json, .jsonl), TREC collections and topics, and pages or folders of pages (.md,
.html, .txt, .pdf); tables and TREC files may be gzipped. Markdown, HTML and entities become plain text. Usual names of
fields (id, doc_id, docno, title, headline, text, body, contents, query, question, ...) are known; --document_fields and
--query_fields name others. TARGET=A+B puts two fields one below the other; TARGET=1 is the first column of a table
without a header. All other fields become metadata. Rows without an id are numbered. --qrels reads the columns of BEIR
and of TREC; the queries of a file without SPLIT= are divided into train, dev and test (8 : 1 : 1) by a hash of their
ids. Without queries, the folder can be searched only. All faults are listed at once.

A folder that holds the same data set with the same settings is left as it is, any other content is refused, and a
new folder is there whole or not at all.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError, DataError

if TYPE_CHECKING:
    from acqo_rl.data.public import Table


OF_FILES = ("documents", "queries", "qrels", "document_fields", "query_fields")


@dataclass
class PrepareDataConfig:
    """Settings of a data set."""

    output: str = field(metadata={"help": "Folder to write; one that holds the same data set is left as it is."})
    dataset: str = field(default="embedded", metadata={"help": "Which data set: see above, or beir/NAME."})
    limit: list[int] = field(
        default_factory=list,
        metadata={"help": "Queries a split at most, drawn at random; of a union one number, or one for each source."},
    )
    distractors: int | None = field(
        default=None,
        metadata={"help": "Passages beside those of the queries, drawn at random; without it all are kept."},
    )
    joined: list[int] = field(
        default_factory=list,
        metadata={"help": "Of a union: compound queries made of two train queries each, one number for each source."},
    )
    seed: int = field(default=0, metadata={"help": "Of what is drawn; of the questions and wording of embedded."})
    documents: list[str] = field(
        default_factory=list, metadata={"help": "Of files: tables, TREC collections, pages, folders of pages."}
    )
    queries: list[str] = field(default_factory=list, metadata={"help": "Of files: tables or TREC topics."})
    qrels: list[str] = field(default_factory=list, metadata={"help": "Of files: SPLIT=FILE each, or one FILE."})
    document_fields: list[str] = field(
        default_factory=list,
        metadata={"help": "Of files: id=NAME, title=NAME, text=NAME, where names are not usual."},
    )
    query_fields: list[str] = field(
        default_factory=list, metadata={"help": "Of files: id=NAME, text=NAME, history=NAME, likewise."}
    )
    sources: list[str] = field(default_factory=list, metadata={"help": "BEIR folders that a union is made of."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(PrepareDataConfig, description=__doc__)


def main(config: PrepareDataConfig) -> None:
    """Writes the data set, unless it is there."""
    folder = Path(config.output).resolve()
    if is_there(folder, config):
        print(f"{folder} holds the data set already.")
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as unfinished:
        write(Path(unfinished) / folder.name, config)
        (Path(unfinished) / folder.name).replace(folder)
    print(f"{folder} holds the data set.")


def is_there(folder: Path, config: PrepareDataConfig) -> bool:
    """Whether the folder holds what is asked for, by its README.

    Raises:
        ConfigError: it holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    readme = folder / "README.md"
    made_by = f"Generated with seed {config.seed} from " if config.dataset == "embedded" else f"`{command_of(config)}`"
    if readme.is_file() and made_by in readme.read_text(encoding="utf-8", errors="replace"):
        return True
    raise ConfigError(f"{folder} holds something else, or was made with other settings; give another output folder.")


def command_of(config: PrepareDataConfig) -> str:
    """The command that makes the data set, without its folder."""
    settings = {key: getattr(config, key) for key in ("dataset", "limit", "distractors", "seed")}
    settings |= {key: " ".join(map(str, getattr(config, key))) or None for key in ("limit", "joined")}
    settings |= {key: shlex.join(getattr(config, key)) or None for key in (*OF_FILES, "sources")}
    given = [f"--{key} {value}" for key, value in settings.items() if value is not None]
    return " ".join(["acqo data", *given])


def write(folder: Path, config: PrepareDataConfig) -> None:
    """Writes the data set into a folder that is not there."""
    if (config.sources or config.joined) and config.dataset != "union":
        raise ConfigError(f"sources and joined are for --dataset union, not for {config.dataset}.")
    if config.dataset != "files" and (given := [key for key in OF_FILES if getattr(config, key)]):
        raise ConfigError(f"{' and '.join(given)} are for --dataset files, not for {config.dataset}.")
    if config.dataset == "union":
        from acqo_rl.data.union import write_union

        if config.distractors is not None:
            raise ConfigError("A union keeps all passages of its sources: distractors is for public data sets.")
        write_union(
            folder,
            config.sources,
            limits=config.limit,
            joined=config.joined,
            seed=config.seed,
            command=command_of(config),
        )
    elif config.dataset == "files":
        from acqo_rl.data.files import write_files

        if config.limit or config.distractors is not None:
            raise ConfigError("All documents and queries of files are written: limit and distractors are for others.")
        write_files(folder, **{key: getattr(config, key) for key in OF_FILES}, command=command_of(config))
    elif config.dataset == "embedded":
        from acqo_rl.data.embedded import write_embedded

        if config.limit or config.distractors is not None:
            raise ConfigError("The embedded data set has one size: limit and distractors are for the public ones.")
        write_embedded(folder, config.seed)
    else:
        from acqo_rl.data.public import write_public

        if len(config.limit) > 1:
            raise ConfigError(f"limit is {config.limit}; of one data set it is one number, of a union one for each.")
        write_public(
            folder,
            config.dataset,
            open_table,
            limit=config.limit[0] if config.limit else None,
            distractors=config.distractors,
            seed=config.seed,
            command=command_of(config),
        )


def open_table(table: Table) -> dict[str, Iterator[dict[str, Any]]]:
    """Streams the rows of a table of the Hub, by split; offline, they come from the cache of ``datasets``.

    Raises:
        DataError: it cannot be read.
    """
    from datasets import load_dataset
    from huggingface_hub import hf_hub_download, is_offline_mode

    try:
        files = {split: hf_hub_download(table.path, file, repo_type="dataset") for split, file in table.files}
        source: dict[str, Any] = (
            {"path": "json", "data_files": files} if files else {"path": table.path, "name": table.config}
        )
        splits = load_dataset(**source, streaming=not is_offline_mode())  # a stream does not look into the cache
    except Exception as error:
        raise unreadable(table, error) from error
    return {split: read(rows, table, split) for split, rows in splits.items()}


def read(rows: Iterable[dict[str, Any]], table: Table, split: str) -> Iterator[dict[str, Any]]:
    """The rows, with a progress bar."""
    from tqdm import tqdm

    try:
        yield from tqdm(rows, desc=f"{table.path}, {split}", unit=" rows", mininterval=1)
    except Exception as error:
        raise unreadable(table, error) from error


def unreadable(table: Table, error: Exception) -> DataError:
    """What to do about a table that cannot be read; the Hub's client raises errors of many unrelated classes."""
    name = f"{table.path} (configuration {table.config})" if table.config else table.path
    load = "huggingface_hub.hf_hub_download" if table.files else "datasets.load_dataset"
    return DataError(
        f"{name} cannot be read from the Hugging Face Hub: {type(error).__name__}: {error}\nCheck the name, the network"
        f" and HF_ENDPOINT. Without a network: fill the cache where there is one ({load}, not as a stream), copy it"
        " (HF_HOME), and set HF_HUB_OFFLINE=1."
    )

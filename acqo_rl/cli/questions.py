r"""Write questions about a corpus with a language model: a data set for a corpus that has no queries or judgements.

    acqo data --dataset files --documents handbook/ --output data/handbook
    acqo index --data data/handbook --output indexes/handbook --split_passages True
    acqo questions --data data/handbook --index indexes/handbook --model openai:qwen3@http://localhost:8000/v1 \
        --output data/handbook_questions

The questions are of every kind that a policy must tell apart: simple, several (two requests in one sentence),
comparison, bridge (over two documents, one of which mentions the other), follow_up (in a conversation) and ambiguous (a
name that two documents share).

Filters drop questions that copy their passage or name nothing of it, that are not of their kind, that repeat another
one, and whose documents the index does not find among the first 100. Of the questions whose documents the raw query
ranks first, only as many are kept as --easy allows. Documents are divided into train, dev and test before anything is
written, so that no question of dev or test is about a document of the training questions.

The number of calls and the length of the prompts are printed first; with --plan, the command stops there.

OUTPUT is a BEIR folder with all documents. Its report.md has the counts, the reasons and samples; read it before you
train. Every reply is kept in replies.jsonl, so that the same command continues after an interruption. With other
settings, the replies are used again and the data set is written anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import fusion_named
from acqo_rl.labelling.drafts import KINDS
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import FusionName

_RANGES = {
    "number": (6, FINITE),
    "easy": (0, 1),
    **dict.fromkeys(("longest_copy", "max_new_tokens", "concurrency", "timeout", "generation_batch"), (1, FINITE)),
}


@dataclass
class QuestionsConfig(IndexSettings):
    """Settings of the questions."""

    data: str = field(metadata={"help": "BEIR folder of the corpus; acqo data makes it of your files."})
    index: str = field(metadata={"help": INDEX_HELP})
    output: str = field(metadata={"help": "BEIR folder to write: new, or one of the same command to continue."})
    model: str = field(
        default="embedded:smollm2",
        metadata={"help": "Language model: openai:NAME@URL, anthropic:NAME, embedded:smollm2, a folder or a Hub id."},
    )
    number: int = field(default=600, metadata={"help": "Number of questions to write, before the filters."})
    kinds: list[str] = field(default_factory=lambda: list(KINDS), metadata={"help": "Kinds of questions to write."})
    longest_copy: int = field(
        default=7, metadata={"help": "Maximum number of words in a row that a question may copy from its passage."}
    )
    easy: float = field(
        default=0.5,
        metadata={"help": "Maximum share of questions whose documents the raw query already ranks first."},
    )
    plan: bool = field(default=False, metadata={"help": "Print the number of calls and tokens; write nothing."})
    fusion: FusionName = field(default="rsf", metadata={"help": "How rankings are merged in the search for documents."})
    seed: int = field(default=0, metadata={"help": "Seed of the choice of documents and questions."})
    max_new_tokens: int = field(default=200, metadata={"help": "Maximum number of tokens per reply."})
    timeout: float = field(default=60.0, metadata={"help": "Time limit in seconds of a model server's response."})
    concurrency: int = field(default=8, metadata={"help": "Maximum number of concurrent calls of a model server."})
    generation_batch: int = field(default=16, metadata={"help": "Batch size of a model that runs in this process."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(QuestionsConfig, description=__doc__)


def main(config: QuestionsConfig) -> None:
    """Writes the questions, filters them and reports."""
    from acqo_rl.data.beir import corpus_hash, read_corpus
    from acqo_rl.labelling.drafts import choose_drafts, divide
    from acqo_rl.labelling.filters import sift
    from acqo_rl.labelling.questions import ask, cost_of, write_questions
    from acqo_rl.labelling.writing import conversation_for
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.language_models.recorded import RecordedModel

    check(config)
    corpus, folder = read_corpus(config.data), Path(config.output)
    retriever = config.open_index(config.index, expected_corpus_hash=corpus_hash(corpus.values()))
    splits = divide(corpus.values(), config.seed)
    kinds = [kind for kind in KINDS if kind in config.kinds]
    drafts = choose_drafts(splits, kinds, config.number, retriever, config.seed)
    load = partial(
        load_language_model, config.model, max_new_tokens=config.max_new_tokens, timeout=config.timeout,
        concurrency=config.concurrency, batch_size=config.generation_batch,
    )  # fmt: skip
    model = RecordedModel(config.model, load, folder / "replies.jsonl")
    missing = model.missing([conversation_for(draft) for draft in drafts])
    print(f"{len(drafts):,} questions are to be written by {config.model}: {cost_of(missing)}.", flush=True)
    if config.plan:
        return
    replies = ask(drafts, model)
    sieve = sift(
        replies.questions, retriever, fusion_named(config.fusion),
        longest_copy=config.longest_copy, easy=config.easy, seed=config.seed,
    )  # fmt: skip
    write_questions(folder, corpus, replies, sieve, model=config.model.partition("@")[0], command=command_of(config))
    print(f"{len(sieve.kept):,} questions are kept: {folder}. Read {folder / 'report.md'} before you train.")


def check(config: QuestionsConfig) -> None:
    """Refuses settings that would fail late, and a folder that holds something else.

    Raises:
        ConfigError: a number is out of range, a kind is unknown, or the folder holds something else.
    """
    check_ranges(config, _RANGES)
    if unknown := set(config.kinds) - set(KINDS):
        raise ConfigError(f"kinds names {', '.join(sorted(unknown))}; choose among {', '.join(KINDS)}.")
    folder = Path(config.output)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "replies.jsonl").exists():
        raise ConfigError(f"{folder} is not empty and holds no questions; give another output folder.")
    if folder.resolve() == Path(config.data).resolve():
        raise ConfigError(f"output is the folder of the corpus ({folder}); give another output folder.")


def command_of(config: QuestionsConfig) -> str:
    """The command that writes the data set, without its places."""
    model = config.model.partition("@")[0]
    return (
        f"acqo questions --model {model} --number {config.number} --kinds {' '.join(config.kinds)} --longest_copy"
        f" {config.longest_copy} --easy {config.easy:g} --seed {config.seed}"
    )

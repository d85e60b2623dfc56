r"""Write questions about a corpus with a language model: a data set for a corpus that has no queries or judgements.

    acqo data --dataset files --documents handbook/ --output data/handbook
    acqo index --data data/handbook --output indexes/handbook --split_passages True
    acqo questions --data data/handbook --index indexes/handbook --model openai:qwen3@http://localhost:8000/v1 \
        --output data/handbook_questions

The questions are of the kinds that a policy must distinguish: simple, several (two requests in one sentence),
comparison, bridge (over two documents, one of which mentions the other), follow_up (in a conversation) and ambiguous (a
name that two documents share).

Filters drop questions that copy their passage or share no word with it, that are not of their kind, that repeat another
question, or whose documents are not among the first 100 results of the index. --easy limits the share of questions for
which the raw query already ranks the documents first. Documents are split into train, dev and test before questions are
written, so that no dev or test question is about a document of a training question.

The number of calls and the length of the prompts are printed first; with --plan, the command stops there.

OUTPUT is a BEIR folder with all documents. Its report.md lists the numbers of kept and dropped questions, with
reasons and examples; read it before you train. All replies are stored in replies.jsonl, so the same command continues
an interrupted run. With other settings, the replies are reused and the data set is written again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.fusion import fusion_named
from acqo_rl.labelling.drafts import KINDS
from acqo_rl.language_models.load import without_url
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

    data: str = field(metadata={"help": "BEIR folder of the corpus; acqo data writes one from your files."})
    index: Address = field(metadata={"help": INDEX_HELP})
    output: str = field(
        metadata={"help": "BEIR folder to write: new, or that of the same command, which then continues."}
    )
    model: str = field(
        default="embedded:smollm2",
        metadata={"help": "Language model: openai:NAME@URL, anthropic:NAME, embedded:smollm2, a folder or a Hub id."},
    )
    number: int = field(default=600, metadata={"help": "Number of questions to write, before the filters."})
    kinds: list[str] = field(default_factory=lambda: list(KINDS), metadata={"help": "Kinds of questions to write."})
    longest_copy: int = field(
        default=7, metadata={"help": "Maximum number of consecutive words that a question may copy from its passage."}
    )
    easy: float = field(
        default=0.5,
        metadata={
            "help": "Maximum share of easy questions: those whose relevant documents the raw query already ranks first."
        },
    )
    plan: bool = field(default=False, metadata={"help": "Print the number of calls and tokens; write nothing."})
    fusion: FusionName = field(
        default="rsf", metadata={"help": "Fusion of the rankings in the filter that searches the documents."}
    )
    seed: int = field(default=0, metadata={"help": "Seed for the choice of documents and questions."})
    max_new_tokens: int = field(default=200, metadata={"help": "Maximum number of tokens per reply."})
    timeout: float = field(default=60.0, metadata={"help": "Time limit in seconds of a model server's response."})
    concurrency: int = field(default=8, metadata={"help": "Maximum number of concurrent calls to a model server."})
    generation_batch: int = field(default=16, metadata={"help": "Batch size of a model that runs in this process."})


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(QuestionsConfig, description=__doc__)


def main(config: QuestionsConfig) -> None:
    """Writes the questions, filters them and reports.

    Raises:
        DataError: no document has enough text, or too few questions are left.
    """
    from acqo_rl.data.beir import read_corpus
    from acqo_rl.labelling.drafts import SHORTEST, choose_drafts, divide
    from acqo_rl.labelling.filters import filter_questions
    from acqo_rl.labelling.questions import ask, cost_of, write_questions
    from acqo_rl.labelling.writing import conversation_for
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.language_models.recorded import RecordedModel

    check(config)
    corpus, folder = read_corpus(config.data), Path(config.output)
    retriever = config.open_index_of(config.index, corpus)
    splits = divide(corpus.values(), config.seed)
    kinds = [kind for kind in KINDS if kind in config.kinds]
    drafts = choose_drafts(splits, kinds, config.number, retriever, config.seed)
    if not drafts:
        raise DataError(
            f"No question can be written: {sum(map(len, splits.values())):,} of {len(corpus):,} documents of "
            f"{config.data} have a text of at least {SHORTEST} characters. Give longer documents, or other kinds."
        )
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
    filtered = filter_questions(
        replies.questions, retriever, fusion_named(config.fusion),
        longest_copy=config.longest_copy, easy=config.easy, seed=config.seed,
    )  # fmt: skip
    write_questions(folder, corpus, replies, filtered, model=without_url(config.model), command=command_of(config))
    print(f"{len(filtered.kept):,} questions are kept: {folder}. Read {folder / 'report.md'} before you train.")


def check(config: QuestionsConfig) -> None:
    """Checks settings that would otherwise fail late, and that the output folder has no other contents.

    Raises:
        ConfigError: a number is out of range, a kind is unknown, or the folder contains something else.
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
    """The command that writes the data set, without paths."""
    model = without_url(config.model)
    return (
        f"acqo questions --model {model} --number {config.number} --kinds {' '.join(config.kinds)} --longest_copy"
        f" {config.longest_copy} --easy {config.easy:g} --seed {config.seed}"
    )

r"""Make a data set from documents without queries.

    acqo label --data data/handbook --index indexes/handbook --output data/handbook_questions
    acqo label --data data/handbook --index indexes/handbook --model openai:qwen3@http://localhost:8000/v1 \
        --output data/handbook_questions

The model writes questions of the kinds that a policy must distinguish: simple, several (two requests in one sentence),
comparison, bridge (over two linked documents), follow_up (in a conversation), ambiguous (a name that two documents
share) and topic_change (simple, after a conversation about another document). Questions that copy their passage, do not
fit their kind or are not found are dropped. Without --model, pseudo-questions are made of titles, headings and the
texts of links; they have the words of the documents, not those of users.

OUTPUT is a BEIR folder, divided into train, dev and test, with a report.md: read it before you train. All replies are
stored in it, so the same command continues an interrupted run. If the settings, the documents or the index have
changed, it ends with an error.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from acqo_rl.addresses import Address
from acqo_rl.data.beir import read_corpus
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.labelling.drafts import HEADINGS, KINDS, SHORTEST, choose_drafts, divide
from acqo_rl.labelling.output import write_questions
from acqo_rl.labelling.question_filters import filter_questions
from acqo_rl.labelling.writing import add_topic_changes, extract, questions_of, replies
from acqo_rl.language_models.load import without_url
from acqo_rl.reformulation.load import load_strategy_model
from acqo_rl.reformulation.settings import CallSettings, StrategySettings
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.settings import group, setting
from acqo_rl.training.run_folder import continue_rows, inputs_of, open_run
from acqo_rl.types import Completion, Positive, Seed


@dataclass
class LabelConfig(IndexSettings):
    """Settings of the command."""

    data: str = setting("BEIR folder with the documents.")
    index: Address = setting(INDEX_HELP)
    output: str = setting("BEIR folder to write: new, or that of the same command, which then continues.")
    model: Address = setting(
        "openai:NAME@URL, anthropic:NAME, embedded:smollm2, a folder or a Hub id. By default, questions are made of "
        "titles and headings.",
        Address(HEADINGS),
    )
    strategy: CallSettings = group("Settings of the model's calls, such as --strategy.concurrency 4.", CallSettings)
    limit: Positive = setting("Number of questions to write, before the filters.", 600)
    seed: Seed = setting("Seed for the choice of documents and questions.", 0)


def main(config: LabelConfig) -> None:
    """Writes the questions, filters them and reports; asks the model only for what is missing.

    Raises:
        ConfigError: the output is the data.
        DataError: no document has enough text.
    """
    folder = Path(config.output)
    model = without_url(config.model)
    if folder.resolve() == Path(config.data).resolve():
        raise ConfigError(f"output is the folder {folder} of --data; give another output folder.")
    corpus = read_corpus(config.data)
    retriever = config.open_index_of(config.index, corpus)
    open_run(folder, {**asdict(config), "model": model}, inputs_of(config.data, [], [config.index]), {"strategy"})
    splits = divide(corpus.values(), config.seed)
    kinds = [kind for kind in KINDS if kind != "bridge" or config.model != HEADINGS]
    drafts = choose_drafts(splits, kinds, config.limit, retriever, config.seed)
    if not drafts:
        raise DataError(
            f"No question can be written: {sum(map(len, splits.values())):,} of {len(corpus):,} documents of "
            f"{config.data} have a text of at least {SHORTEST} characters. Give longer documents."
        )
    number = Counter(draft.kind for draft in drafts)
    print(
        f"{len(drafts):,} of {config.limit:,} questions are to be written: "
        f"{', '.join(f'{number[kind]} {kind}' for kind in kinds)}. A kind with fewer than the others has too few "
        "documents that suit it.",
        flush=True,
    )

    def rest(done: int) -> Iterator[Sequence[Completion]]:
        greedy = StrategySettings(**asdict(config.strategy), temperature=0.0, max_new_tokens=200)
        return replies(drafts[done:], load_strategy_model(config.model, greedy))

    if config.model == HEADINGS:
        questions = extract(drafts, config.seed)
    else:
        completions = continue_rows(Completion, folder / "replies.jsonl", len(drafts), rest)
        questions = questions_of(drafts, completions)
    filter_questions(questions, retriever, RankScoreFusion())
    add_topic_changes(questions)
    write_questions(
        folder,
        corpus,
        questions,
        model=model,
        command=f"acqo label --model {model} --limit {config.limit} --seed {config.seed}",
    )
    print(f"{len(questions.kept):,} questions are kept: {folder}. Read {folder / 'report.md'} before you train.")

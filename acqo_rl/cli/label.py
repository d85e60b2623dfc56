r"""Make a data set from documents without queries, or from queries without judgements.

    acqo label --task questions --data data/handbook --index indexes/handbook --output data/handbook_questions
    acqo label --task questions --data data/handbook --index indexes/handbook \
        --model openai:qwen3@http://localhost:8000/v1 --output data/handbook_questions
    acqo label --task judgements --data data/log --index indexes/log \
        --model openai:qwen3@http://localhost:8000/v1 --output data/log_judged --plan True

The number of calls and the length of the prompts are printed first; with --plan, the command stops there. All replies
are stored in OUTPUT, so the same command continues an interrupted run, and with other settings it reuses the replies.
If the documents, the queries or the index have changed, it ends with an error. OUTPUT is a BEIR folder, divided into
train, dev and test, with a report.md: read it before you train.

questions: the model writes questions of the kinds that a policy must distinguish: simple, several (two requests in one
sentence), comparison, bridge (over two linked documents), follow_up (in a conversation), ambiguous (a name that two
documents share) and topic_change (simple, after a conversation about another document). Questions that copy their
passage, do not fit their kind or are not found are dropped. Without --model, pseudo-questions are made of titles,
headings and the texts of links; they have the words of the documents, not those of users.

judgements: the model grades search results for the queries of --data, such as a query log with histories, from 0 to 3;
the grades 2 and 3 are relevant. The first results of the raw query, the rules, the last two turns and the warm start's
candidates are pooled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from acqo_rl.addresses import Address
from acqo_rl.data.beir import read_corpus, read_queries
from acqo_rl.data.draw import draw
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.evaluation.cache import CachedModel
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.labelling import judging, writing
from acqo_rl.labelling.drafts import HEADINGS, KINDS, SHORTEST, choose_drafts, divide
from acqo_rl.labelling.extracts import add_topic_changes, extract
from acqo_rl.labelling.output import write_judged, write_questions
from acqo_rl.labelling.question_filters import filter_questions
from acqo_rl.language_models.load import without_url
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.load import load_strategy_model
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.settings import WithStrategy
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.roles import Retriever
from acqo_rl.settings import setting
from acqo_rl.training.candidates import candidates_in
from acqo_rl.training.run_folder import inputs_of, open_run
from acqo_rl.types import Conversation, Document, Positive, Seed

_QUESTIONS = 600
_DEPTH = 10
"""Number of results of the raw query, the rules and the last two turns in the pool."""
_MOST = 40
"""Maximum number of documents that are judged per query; the best ranks are kept."""


@dataclass
class LabelConfig(WithStrategy, IndexSettings):
    """Settings of the command."""

    task: Literal["questions", "judgements"] = setting("What the model writes; see above.")
    data: str = setting("BEIR folder with the documents, and for judgements with the queries.")
    index: Address = setting(INDEX_HELP)
    output: str = setting("BEIR folder to write: new, or that of the same command, which then continues.")
    model: Address = setting(
        "openai:NAME@URL, anthropic:NAME, embedded:smollm2, a folder or a Hub id. By default, questions are made of "
        "titles and headings.",
        Address(HEADINGS),
    )
    limit: Positive | None = setting(
        f"questions: number to write, before the filters, by default {_QUESTIONS}. judgements: number of queries, "
        "drawn at random, by default all.",
        None,
    )
    plan: bool = setting("Print the number of calls and tokens; call no model.", False)
    seed: Seed = setting("Seed for the choice of documents, questions and queries.", 0)


def main(config: LabelConfig) -> None:
    """Writes the data set, and asks the model only for what is missing."""
    check(config)
    corpus = read_corpus(config.data)
    retriever = config.open_index_of(config.index, corpus)
    if not config.plan:
        inputs = inputs_of(config.data, [], [config.index])
        open_run(config.output, {"task": config.task, "data": config.data}, inputs)
    task = label_questions if config.task == "questions" else judge_queries
    task(config, corpus, retriever)


def check(config: LabelConfig) -> None:
    """Checks settings that would otherwise fail late.

    Raises:
        ConfigError: there is no judge, or the output is the data.
    """
    if config.task == "judgements" and config.model == HEADINGS:
        raise ConfigError("A judge is needed: give --model.")
    if Path(config.output).resolve() == Path(config.data).resolve():
        raise ConfigError(f"output is the folder {config.output} of --data; give another output folder.")


def label_questions(config: LabelConfig, corpus: Mapping[str, Document], retriever: Retriever) -> None:
    """Writes the questions, filters them and reports.

    Raises:
        DataError: no document has enough text.
    """
    splits = divide(corpus.values(), config.seed)
    kinds = [kind for kind in KINDS if kind != "bridge" or config.model != HEADINGS]
    drafts = choose_drafts(splits, kinds, config.limit or _QUESTIONS, retriever, config.seed)
    if not drafts:
        raise DataError(
            f"No question can be written: {sum(map(len, splits.values())):,} of {len(corpus):,} documents of "
            f"{config.data} have a text of at least {SHORTEST} characters. Give longer documents."
        )
    wanted, number = config.limit or _QUESTIONS, Counter(draft.kind for draft in drafts)
    print(
        f"{len(drafts):,} of {wanted:,} questions are to be written: {', '.join(f'{number[k]} {k}' for k in kinds)}. A "
        "kind with fewer than the others has too few documents that suit it.",
        flush=True,
    )
    asked = [writing.conversation_for(draft) for draft in drafts]
    model = None if config.model == HEADINGS else cached(config, asked, max_new_tokens=200)
    if config.plan:
        return
    questions = writing.ask(drafts, model) if model else extract(drafts, config.seed)
    filter_questions(questions, retriever, RankScoreFusion())
    add_topic_changes(questions)
    folder = Path(config.output)
    write_questions(folder, corpus, questions, model=without_url(config.model), command=command_of(config))
    print(f"{len(questions.kept):,} questions are kept: {folder}. Read {folder / 'report.md'} before you train.")


def judge_queries(config: LabelConfig, corpus: Mapping[str, Document], retriever: Retriever) -> None:
    """Pools, judges what is not judged yet, and writes the data set."""
    queries = read_queries(config.data)
    queries = draw(queries, config.limit or len(queries), config.seed)
    candidates = candidates_in(corpus.values(), queries, 3)
    reformulators = PassThrough(), Heuristic(lexicon=Lexicon.of(corpus.values())), RecentTurns()
    pooled = judging.pool(queries, reformulators, candidates, retriever, RankScoreFusion(), depth=_DEPTH, most=_MOST)
    pairs = [
        judging.Pair(query, corpus[doc_id]) for query in queries for doc_id in pooled[query.id] if doc_id in corpus
    ]
    folder = Path(config.output)
    print(f"{len(pairs):,} pairs of {len(queries):,} queries are pooled.", flush=True)
    model = cached(config, [judging.conversation_for(pair) for pair in pairs], max_new_tokens=16)
    if config.plan:
        return
    graded = dict(zip(pairs, judging.judge_by_model(pairs, model), strict=True))
    judge, command = without_url(config.model), command_of(config)
    numbers = write_judged(folder, corpus, queries, graded, judge=judge, command=command)
    print(f"{folder} holds " + ", ".join(f"{n:,} {split}" for split, n in numbers.items()) + " queries.")
    print(f"Read {folder / 'report.md'} before you train.")


def cached(config: LabelConfig, conversations: Sequence[Conversation], max_new_tokens: int) -> CachedModel:
    """The model, which keeps its replies in the output folder; prints what it will be asked."""
    greedy = replace(config.strategy, temperature=0.0, max_new_tokens=max_new_tokens)
    model = CachedModel(
        config.model, partial(load_strategy_model, config.model, greedy), Path(config.output, "replies.sqlite")
    )
    missing = model.missing(conversations)
    characters = sum(len(message["content"]) for conversation in missing for message in conversation)
    print(
        f"{model.name} is to be asked: {len(missing):,} calls, about {characters / 4000:,.0f} thousand tokens of "
        "prompts (four characters each).",
        flush=True,
    )
    return model


def command_of(config: LabelConfig) -> str:
    """The command that makes the data set, without paths."""
    limit = f" --limit {config.limit}" if config.limit else ""
    return f"acqo label --task {config.task} --model {without_url(config.model)}{limit} --seed {config.seed}"

"""Writes a data set of questions about a corpus: drafts, replies, filters, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.evaluation.tables import Table, aligned
from acqo_rl.files import write_atomic
from acqo_rl.labelling import writing
from acqo_rl.labelling.drafts import KINDS, SPLITS, Draft
from acqo_rl.labelling.filters import EASY, NOT_WRITTEN, REASONS, FilteredQuestions
from acqo_rl.labelling.writing import VERSION, Question, read_question
from acqo_rl.roles import LanguageModel
from acqo_rl.text import one_line
from acqo_rl.types import Conversation, Document, Qrels

_SAMPLES = 3
_SHOWN = 160
"""Characters of a question or a reply that the report shows."""
_POOR = 0.5


@dataclass(frozen=True)
class Replies:
    """What the model wrote.

    Attributes:
        questions: those that could be read.
        lost: reason -> drafts without a question.
    """

    questions: list[Question]
    lost: dict[str, list[Draft]]


def ask(drafts: Sequence[Draft], model: LanguageModel) -> Replies:
    """Asks the model once per draft.

    Raises:
        ConfigError: every call failed.
    """
    questions: list[Question] = []
    lost: dict[str, list[Draft]] = {reason: [] for reason in NOT_WRITTEN}
    completions = writing.ask(drafts, model)
    for number, (draft, completion) in enumerate(zip(drafts, completions, strict=True), start=1):
        question = read_question(draft, completion, f"{draft.kind}-{number}")
        if completion.problem is not None:
            lost[NOT_WRITTEN[0]].append(draft)
        elif question is None:
            lost[NOT_WRITTEN[1]].append(draft)
        else:
            questions.append(question)
    if len(lost[NOT_WRITTEN[0]]) == len(drafts):
        raise ConfigError(f"All {len(drafts)} calls of the model failed ({completions[0].problem}); check its server.")
    return Replies(questions, lost)


def cost_of(conversations: Sequence[Conversation]) -> str:
    """The number of calls and a rough number of prompt tokens (four characters each)."""
    characters = sum(len(message["content"]) for conversation in conversations for message in conversation)
    return f"{len(conversations):,} calls, about {characters / 4000:,.0f} thousand tokens of prompts"


def write_questions(
    folder: Path,
    documents: Mapping[str, Document],
    replies: Replies,
    filtered: FilteredQuestions,
    *,
    model: str,
    command: str,
) -> None:
    """Writes the BEIR folder with its report.

    Raises:
        DataError: no question is left for training or for dev.
    """
    qrels: dict[str, Qrels] = {split: {} for split in SPLITS}
    for question in filtered.kept:
        qrels[question.draft.split][question.query.id] = {d.id: 1 for d in question.draft.documents}
    report = report_of(replies, filtered, model=model, command=command)
    write_atomic(folder / "report.md", [report])
    if not qrels["train"] or not qrels["dev"]:
        raise DataError(
            f"{len(qrels['train'])} train and {len(qrels['dev'])} dev questions are left, and both are needed; see "
            f"{folder / 'report.md'} for what was dropped. Write more (--number), or use a better model."
        )
    metadata = {q.query.id: {"kind": q.draft.kind, "written_by": f"{model}, prompts {VERSION}"} for q in filtered.kept}
    write_beir(folder, documents.values(), [q.query for q in filtered.kept], qrels, metadata)
    write_atomic(folder / "README.md", [f"# Questions written by a language model\n\n`{command}`\n\nSee report.md."])


def report_of(replies: Replies, filtered: FilteredQuestions, *, model: str, command: str) -> str:
    """The report in Markdown: counts by kind, what was dropped and why, samples."""
    asked = len(replies.questions) + sum(map(len, replies.lost.values()))
    good = len(filtered.kept) + len(filtered.dropped[EASY])
    lines = [
        f"# Questions written by {model}",
        f"`{command}`",
        f"{len(filtered.kept)} of {asked} questions are kept. {good / asked:.0%} are good (with those that are "
        "too easy).",
    ]
    if good < _POOR * asked:
        lines.append(
            f"**Fewer than {_POOR:.0%} are good, so this model is too weak for this corpus.** Read the samples below, "
            "and use a better model if you can."
        )
    lines += ["## Kept and dropped", aligned(_counts(replies, filtered)), "## Samples of what is kept"]
    for kind in KINDS:
        if some := [q for q in filtered.kept if q.draft.kind == kind][:_SAMPLES]:
            lines.append("\n".join([f"{kind}:", "", *(f"- {_shown(question)}" for question in some)]))
    lines.append("## Samples of what was dropped")
    for reason, some in filtered.dropped.items():
        if some:
            lines.append("\n".join([f"{reason}:", "", *(f"- {q.draft.kind}: {_shown(q)}" for q in some[:_SAMPLES])]))
    return "\n\n".join(lines)


def _counts(replies: Replies, filtered: FilteredQuestions) -> Table:
    dropped = {reason: Counter(draft.kind for draft in drafts) for reason, drafts in replies.lost.items()}
    dropped |= {reason: Counter(q.draft.kind for q in some) for reason, some in filtered.dropped.items()}
    kept = Counter((q.draft.kind, q.draft.split) for q in filtered.kept)
    rows = []
    for kind in KINDS:
        numbers = [*(dropped[reason][kind] for reason in REASONS), *(kept[kind, split] for split in SPLITS)]
        rows.append((kind, str(sum(numbers)), *map(str, numbers)))
    return Table("", "", ("kind", "asked", *REASONS, *SPLITS), tuple(rows))


def _shown(question: Question) -> str:
    turns = [f"{turn} /" for turn in question.query.history]
    titles = "; ".join(document.title or document.id for document in question.draft.documents)
    return f"{one_line(' '.join([*turns, question.query.text]))[:_SHOWN]} ({titles[:_SHOWN]})"

"""Writes a data set of questions: a BEIR folder with a report of what was kept, and what was not and why."""

from collections import Counter
from pathlib import Path

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import DataError
from acqo_rl.evaluation.tables import Table, aligned
from acqo_rl.files import write_atomic
from acqo_rl.labelling.drafts import HEADINGS, KINDS, SPLITS, TOPIC_CHANGE, Question
from acqo_rl.labelling.question_filters import REASONS, FilteredQuestions
from acqo_rl.labelling.writing import VERSION
from acqo_rl.text import one_line
from acqo_rl.types import Corpus, Qrels

_SAMPLES = 3
_SHOWN = 160
"""Characters of a question or a reply that the report shows."""
_POOR = 0.5


def write_questions(folder: Path, documents: Corpus, filtered: FilteredQuestions, *, model: str, command: str) -> None:
    """Writes the data set of questions. ``model`` is the writer, or ``HEADINGS``.

    Raises:
        DataError: no question is left for training or for dev; the report is written.
    """
    qrels: dict[str, Qrels] = {split: {} for split in SPLITS}
    for question in filtered.kept:
        qrels[question.draft.split][question.query.id] = {d.id: 1 for d in question.draft.documents}
    is_written = model != HEADINGS
    writer = f"{model}, prompts {VERSION}" if is_written else model
    metadata = {q.query.id: {"kind": q.draft.kind, "written_by": writer} for q in filtered.kept}
    asked = len(filtered.kept) + sum(map(len, filtered.dropped.values()))
    report = [
        f"# Questions {f'written by {model}' if is_written else 'made of titles and headings'}",
        f"`{command}`",
        f"{len(filtered.kept)} of {asked} questions are kept.",
    ]
    if not is_written:
        report.append(
            "These are pseudo-questions: they have the words of the documents, not those of users. Use them to start; "
            "questions of a language model, or of users, are better."
        )
    elif len(filtered.kept) < _POOR * asked:
        report.append(
            f"**Fewer than {_POOR:.0%} are kept, so this model is too weak for this corpus.** Read the samples below, "
            "and use a better model if you can."
        )
    report += ["## Kept and dropped", _counts(filtered), "## Samples"]
    for name, some in {"kept": filtered.kept, **filtered.dropped}.items():
        samples = [q for kind in (*KINDS, TOPIC_CHANGE) for q in [q for q in some if q.draft.kind == kind][:_SAMPLES]]
        if samples:
            report.append("\n".join([f"{name}:", "", *(f"- {q.draft.kind}: {_shown(q)}" for q in samples)]))
    write_atomic(folder / "report.md", ["\n\n".join(report)])
    if not qrels["train"] or not qrels["dev"]:
        raise DataError(
            f"{len(qrels['train'])} train and {len(qrels['dev'])} dev questions are left, and both are needed; see "
            f"{folder / 'report.md'} for what was left out. Give more documents, "
            + ("write more (--limit), or use a better model." if is_written else "or a language model (--model).")
        )
    write_beir(folder, documents.values(), [q.query for q in filtered.kept], qrels, metadata)


def _counts(filtered: FilteredQuestions) -> str:
    """A table of the questions by kind: why they were dropped, and the splits of those that are kept."""
    dropped = {reason: Counter(q.draft.kind for q in filtered.dropped.get(reason, ())) for reason in REASONS}
    kept = Counter((q.draft.kind, q.draft.split) for q in filtered.kept)
    rows = [
        (kind, *(str(dropped[reason][kind]) for reason in REASONS), *(str(kept[kind, split]) for split in SPLITS))
        for kind in (*KINDS, TOPIC_CHANGE)
    ]
    return aligned(Table("", "", ("kind", *REASONS, *SPLITS), tuple(rows)))


def _shown(question: Question) -> str:
    said = [*(f"{turn} /" for turn in question.query.history), question.query.text]
    titles = "; ".join(document.title or document.id for document in question.draft.documents)
    return f"{one_line(' '.join(said))[:_SHOWN]} ({titles[:_SHOWN]})"

"""Asks a language model for questions about a corpus, adds changes of topic, and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.tables import Table, aligned
from acqo_rl.labelling.drafts import HEADINGS, KINDS, SPLITS, TOPIC_CHANGE, Draft
from acqo_rl.labelling.extracts import answer_of
from acqo_rl.labelling.filters import CALL_FAILED, EASY, NOT_READABLE, REASONS, FilteredQuestions
from acqo_rl.labelling.output import write_labelled
from acqo_rl.labelling.writing import VERSION, Question, complete, read_question
from acqo_rl.roles import LanguageModel
from acqo_rl.text import one_line
from acqo_rl.types import Document, Qrels, Query, Turn

_SAMPLES = 3
_SHOWN = 160
"""Characters of a question or a reply that the report shows."""
_POOR = 0.5


def ask(drafts: Sequence[Draft], model: LanguageModel) -> FilteredQuestions:
    """Asks the model once per draft. A dropped question has the problem or the reply as its text.

    Raises:
        ConfigError: every call failed.
    """
    asked = FilteredQuestions([], {CALL_FAILED: [], NOT_READABLE: []})
    completions = complete(drafts, model)
    for number, (draft, completion) in enumerate(zip(drafts, completions, strict=True), start=1):
        query_id = f"{draft.kind}-{number}"
        if completion.problem is not None:
            asked.dropped[CALL_FAILED].append(Question(draft, Query(query_id, completion.problem)))
        elif question := read_question(draft, completion, query_id):
            asked.kept.append(question)
        else:
            asked.dropped[NOT_READABLE].append(Question(draft, Query(query_id, completion.text)))
    if len(asked.dropped[CALL_FAILED]) == len(drafts):
        raise ConfigError(f"All {len(drafts)} calls of the model failed ({completions[0].problem}); check its server.")
    return asked


def add_topic_changes(filtered: FilteredQuestions) -> None:
    """Adds simple questions again, each after a conversation about another document of the same split."""
    follow_ups = [question for question in filtered.kept if question.query.history]
    simple = [question for question in filtered.kept if question.draft.kind == "simple"]
    for number, before in enumerate(follow_ups, start=1):
        draft = before.draft
        others = (q for q in simple if q.draft.split == draft.split and q.draft.documents != draft.documents)
        if other := next(others, None):
            simple.remove(other)
            history = (*before.query.history, Turn("user", before.query.text), answer_of(draft))
            query = Query(f"{TOPIC_CHANGE}-{number}", other.query.text, history)
            filtered.kept.append(Question(replace(other.draft, kind=TOPIC_CHANGE), query))


def write_questions(
    folder: Path, documents: Mapping[str, Document], filtered: FilteredQuestions, *, model: str, command: str
) -> None:
    """Writes the BEIR folder with its report. ``model`` is the writer, or ``HEADINGS``.

    Raises:
        DataError: no question is left for training or for dev.
    """
    qrels: dict[str, Qrels] = {split: {} for split in SPLITS}
    for question in filtered.kept:
        qrels[question.draft.split][question.query.id] = {d.id: 1 for d in question.draft.documents}
    writer = model if model == HEADINGS else f"{model}, prompts {VERSION}"
    metadata = {q.query.id: {"kind": q.draft.kind, "written_by": writer} for q in filtered.kept}
    report = report_of(filtered, model=model, command=command)
    write_labelled(folder, documents, [q.query for q in filtered.kept], qrels, report, metadata)


def report_of(filtered: FilteredQuestions, *, model: str, command: str) -> list[str]:
    """The paragraphs of the report in Markdown: counts by kind, what was dropped and why, samples."""
    asked = len(filtered.kept) + sum(map(len, filtered.dropped.values()))
    good = len(filtered.kept) + len(filtered.dropped[EASY])
    lines = [
        f"# Questions {'made of titles and headings' if model == HEADINGS else f'written by {model}'}",
        f"`{command}`",
        f"{len(filtered.kept)} of {asked} questions are kept. {good / asked:.0%} are good (with those that are "
        "too easy).",
    ]
    if model == HEADINGS:
        lines.append(
            "These are pseudo-questions: they have the words of the documents, not those of users. Use them to start; "
            "questions of a language model, or of users, are better."
        )
    elif good < _POOR * asked:
        lines.append(
            f"**Fewer than {_POOR:.0%} are good, so this model is too weak for this corpus.** Read the samples below, "
            "and use a better model if you can."
        )
    lines += ["## Kept and dropped", aligned(_counts(filtered)), "## Samples"]
    samples = {f"kept, {kind}": [q for q in filtered.kept if q.draft.kind == kind] for kind in (*KINDS, TOPIC_CHANGE)}
    for name, some in (samples | filtered.dropped).items():
        if some:
            lines.append("\n".join([f"{name}:", "", *(f"- {q.draft.kind}: {_shown(q)}" for q in some[:_SAMPLES])]))
    return lines


def _counts(filtered: FilteredQuestions) -> Table:
    dropped = {r: Counter(q.draft.kind for q in filtered.dropped.get(r, ())) for r in REASONS}
    kept = Counter((q.draft.kind, q.draft.split) for q in filtered.kept)
    rows = []
    for kind in (*KINDS, TOPIC_CHANGE):
        numbers = [*(dropped[reason][kind] for reason in REASONS), *(kept[kind, split] for split in SPLITS)]
        rows.append((kind, str(sum(numbers)), *map(str, numbers)))
    return Table("", "", ("kind", "asked", *REASONS, *SPLITS), tuple(rows))


def _shown(question: Question) -> str:
    turns = [f"{turn} /" for turn in question.query.history]
    titles = "; ".join(document.title or document.id for document in question.draft.documents)
    return f"{one_line(' '.join([*turns, question.query.text]))[:_SHOWN]} ({titles[:_SHOWN]})"

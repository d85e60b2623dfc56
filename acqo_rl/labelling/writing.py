"""Prompts a language model for questions of every kind that a policy must tell apart, and reads its replies."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.conversations import Turn
from acqo_rl.labelling.drafts import Draft, Kind, name_of
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.replies.fields import read_fields, read_search, read_text
from acqo_rl.replies.thoughts import said_by
from acqo_rl.types import Completion, Conversation, Query

VERSION = "1"
"""Version of the prompts, for the metadata of the questions."""

_ALL = """\
Write for a person who searches a collection of documents and has not seen the passages. Use your own words: copy no \
sentence, and do not mention "the passage", "the text" or "the document". Write in the language of the passages. \
Reply with {form} and nothing else."""

_QUESTION = "one line that starts with 'Question:'"
_TASKS: dict[Kind, str] = {
    "simple": "Write one short question that the passage answers.",
    "several": "Write one sentence that asks for two separate things: a fact of passage 1 and a fact of passage 2. "
    "Name what each of them is about.",
    "comparison": "Write one question that compares what the two passages are about, so that both passages are needed "
    "for the answer. Name both.",
    "bridge": "Passage 1 mentions {other}, which passage 2 is about. Write one question that asks for a fact of "
    "passage 2. It must describe {other} only by what passage 1 says, without its name.",
    "follow_up": "Write a short conversation: a question that the passage answers and that names what it is about, its "
    "answer in one sentence, and a second, short question that the passage answers too. The second question refers to "
    "the first one by a pronoun, without the name.",
    "ambiguous": "Both passages are about something called {name}. Write one short question about {name} that both "
    "passages answer, each in its own way, and that does not say which of the two is meant.",
}
_FERRY = "Passage 1 (Marken ferry): The Marken ferry crosses the lake in 25 minutes. It has sailed since 1962."
_MILL = "The Veld mill was built by Anna Smit in 1790. It grinds mustard seed."
_TWO = f"{_FERRY}\nPassage 2 (Veld mill): {_MILL}"
_LINKED = f"Passage 1 (Veld mill): {_MILL}\nPassage 2 (Anna Smit): Anna Smit, an engineer, died in Hoorn in 1811."
_NAMESAKES = """\
Passage 1 (Marken (ferry)): The ferry Marken sails from April to October.
Passage 2 (Marken (hotel)): The hotel Marken is closed in January and February."""
_TALK = """\
Question: How long does the Marken ferry take?
Answer: It takes 25 minutes.
Second question: When did it start?"""
_EXAMPLES: dict[Kind, tuple[str, str]] = {
    "simple": (_FERRY, "Question: How long does the crossing with the Marken ferry take?"),
    "several": (_TWO, "Question: Since when has the Marken ferry sailed, and what is ground in the Veld mill?"),
    "comparison": (_TWO, "Question: Which is older, the Marken ferry or the Veld mill?"),
    "bridge": (_LINKED, "Question: Where did the builder of the Veld mill die?"),
    "follow_up": (_FERRY, _TALK),
    "ambiguous": (_NAMESAKES, "Question: In which months is Marken open?"),
}


@dataclass(frozen=True)
class Question:
    """A question with the documents that answer it.

    Attributes:
        draft: what it was written about.
        query: the question, with the conversation before it.
    """

    draft: Draft
    query: Query


def conversation_for(draft: Draft) -> Conversation:
    """The prompt for a draft; passages are made safe for a prompt."""
    form = _QUESTION
    if draft.kind == "follow_up":
        form = "three lines that start with 'Question:', 'Answer:' and 'Second question:'"
    names = {"name": name_of(draft.documents[0].title), "other": name_of(draft.documents[-1].title)}
    task = _TASKS[draft.kind].format(**{key: untrusted(name) for key, name in names.items()})
    passages = [
        f"Passage {i} ({untrusted(document.title)}): {untrusted(passage)}"
        for i, (document, passage) in enumerate(zip(draft.documents, draft.passages, strict=True), start=1)
    ]
    return with_examples(f"{task} {_ALL.format(form=form)}", [_EXAMPLES[draft.kind]], "\n".join(passages))


def read_question(draft: Draft, completion: Completion, query_id: str) -> Question | None:
    """Reads a reply; ``None`` if it has no usable question."""
    fields = read_fields(said_by(completion).text)
    first = read_search(fields.get("question"))
    if draft.kind != "follow_up":
        return Question(draft, Query(query_id, first)) if first else None
    answer, second = read_text(fields.get("answer")), read_search(fields.get("second_question"))
    if not (first and answer and second):
        return None
    return Question(draft, Query(query_id, second, (Turn("user", first), Turn("assistant", answer))))

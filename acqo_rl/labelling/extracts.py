"""Questions made of other texts: pseudo-questions of titles, headings and links, and changes of topic.

Pseudo-questions need no language model. They are what documents call their own parts, not what users ask. A heading
that is a question, or names its document, is used as it is; others follow the name. A ``bridge`` cannot be made: it
describes a document without its name.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.data.importer import LINKED_AS
from acqo_rl.labelling.drafts import TOPIC_CHANGE, Draft, Question, name_of, subject_of
from acqo_rl.labelling.question_filters import NOT_READABLE, FilteredQuestions
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Document, Query, Turn

_WORDS = 7
"""Maximum words of a heading; a longer line is a sentence."""
_SENTENCE = (".", ",", ";", ":", "!")
_LINKS = (" and ", ", and ", ", and also ", "; ", "? ")
_ANSWER = 200
"""Characters of a passage that stand for an answer in a conversation."""


def extract(drafts: Sequence[Draft], seed: int) -> FilteredQuestions:
    """Makes one question per draft. Without a title or heading that fits its kind, the draft counts as not readable."""
    made = FilteredQuestions([], {NOT_READABLE: []})
    for number, draft in enumerate(drafts, start=1):
        query_id = f"{draft.kind}-{number}"
        query = _query(draft, query_id, random.Random(f"{seed} {query_id}"))
        place = made.kept if query.text else made.dropped[NOT_READABLE]
        place.append(Question(draft, query))
    return made


def headings(document: Document) -> list[str]:
    """The lines of a text that stand alone and are no sentence, without the title."""
    lines = [block.strip() for block in document.text.split("\n\n")]
    short = [line for line in lines if "\n" not in line and 0 < len(line.split()) <= _WORDS]
    return [line for line in short if not line.endswith(_SENTENCE) and normalised(line) != normalised(document.title)]


def _answer_of(draft: Draft) -> Turn:
    """The start of the passage, as the answer of a conversation about it."""
    return Turn("assistant", one_line(draft.passages[0])[:_ANSWER])


def add_topic_changes(filtered: FilteredQuestions) -> None:
    """Adds simple questions again, each after a conversation about another document of the same split."""
    follow_ups = [question for question in filtered.kept if question.query.history]
    simple = [question for question in filtered.kept if question.draft.kind == "simple"]
    for number, before in enumerate(follow_ups, start=1):
        draft = before.draft
        others = (q for q in simple if q.draft.split == draft.split and q.draft.documents != draft.documents)
        if other := next(others, None):
            simple.remove(other)
            history = (*before.query.history, Turn("user", before.query.text), _answer_of(draft))
            query = Query(f"{TOPIC_CHANGE}-{number}", other.query.text, history)
            filtered.kept.append(Question(replace(other.draft, kind=TOPIC_CHANGE), query))


def _query(draft: Draft, query_id: str, generator: random.Random) -> Query:
    """A query of the draft's kind; its text is empty if there is none."""
    documents = draft.documents
    names = [name_of(document.title) for document in documents]
    asked = [_asked(document, generator) for document in documents]
    is_named = all(name and not name.endswith("?") for name in names)
    if not all(asked) or not (is_named or draft.kind in ("simple", "several")):
        return Query(query_id, "")
    if draft.kind == "several":
        return Query(query_id, f"{asked[0].rstrip(' ?')}{generator.choice(_LINKS)}{asked[1]}")
    if draft.kind == "comparison":
        return Query(query_id, f"{names[0]} vs {names[1]}")
    if draft.kind == "ambiguous":
        return Query(query_id, names[0])
    if draft.kind == "follow_up":
        rest = [one_line(heading.replace(names[0], "")) for heading in headings(documents[0])]
        history = (Turn("user", subject_of(documents[0].title)), _answer_of(draft))
        return Query(query_id, generator.choice(rest or [""]), history)
    return Query(query_id, asked[0])


def _asked(document: Document, generator: random.Random) -> str:
    """A heading of the document, or what links to it say; the title, if it is a question or there are none."""
    subject, links = subject_of(document.title), list(document.metadata.get(LINKED_AS, ()))
    found = [*headings(document), *links]
    if document.title.endswith("?") or not found:
        return document.title if document.title.endswith("?") else subject
    heading = generator.choice(found)
    is_whole = heading in links or heading.endswith("?") or normalised(subject) in normalised(heading)
    return heading if is_whole else f"{subject} {heading}"

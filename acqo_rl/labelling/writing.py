"""Makes the questions of drafts: a language model writes them, or they are made of titles, headings and links.

The latter are pseudo-questions: what documents call their own parts, not what users ask. A heading that is a question,
or names its document, is used as it is; others follow the name. A ``bridge`` cannot be made: it describes a document
without its name.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tqdm import tqdm

from acqo_rl.data.importer import LINKED_AS
from acqo_rl.errors import ConfigError
from acqo_rl.labelling.drafts import TOPIC_CHANGE, Draft, Kind, Question, name_of, subject_of
from acqo_rl.labelling.question_filters import CALL_FAILED, NOT_READABLE, FilteredQuestions
from acqo_rl.language_models.structured import Reply, example, fields, read_reply, text
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.roles import LanguageModel
from acqo_rl.text import compatible, normalised, one_line
from acqo_rl.types import Completion, Conversation, Document, Query, Turn

VERSION = "2"
"""Version of the prompts, for the metadata of the questions."""

_BATCH = 32
"""Maximum number of questions that are asked at once, and lost by an interruption."""
_ALL = """\
Write for a person who searches a collection of documents and has not seen the passages. Use your own words: copy no \
sentence, and do not mention "the passage", "the text" or "the document". Write in the language of the passages. \
Reply with JSON."""

_QUESTION = fields(question=text())
_FOLLOW_UP = fields(question=text(), answer=text(500), second_question=text())
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
_EXAMPLES: dict[Kind, tuple[str, str]] = {
    "simple": (_FERRY, example(question="How long does the crossing with the Marken ferry take?")),
    "several": (_TWO, example(question="Since when has the Marken ferry sailed, and what is ground in the Veld mill?")),
    "comparison": (_TWO, example(question="Which is older, the Marken ferry or the Veld mill?")),
    "bridge": (
        f"Passage 1 (Veld mill): {_MILL}\nPassage 2 (Anna Smit): Anna Smit, an engineer, died in Hoorn in 1811.",
        example(question="Where did the builder of the Veld mill die?"),
    ),
    "follow_up": (
        _FERRY,
        example(
            question="How long does the Marken ferry take?",
            answer="It takes 25 minutes.",
            second_question="When did it start?",
        ),
    ),
    "ambiguous": (
        "Passage 1 (Marken (ferry)): The ferry Marken sails from April to October.\n"
        "Passage 2 (Marken (hotel)): The hotel Marken is closed in January and February.",
        example(question="In which months is Marken open?"),
    ),
}

_WORDS, _CHARACTERS = 7, 60
"""Maximum words and characters of a heading; a longer line is a sentence, also in scripts without spaces."""
_SENTENCE = (".", ",", ";", ":", "!", "\u3002")
_LINKS = (" and ", ", and ", ", and also ", "; ", "? ")
_ANSWER = 200
"""Characters of a passage that stand for an answer in a conversation."""


def conversation_for(draft: Draft) -> Conversation:
    """The prompt for a draft; passages are made safe for a prompt."""
    names = {"name": name_of(draft.documents[0].title), "other": name_of(draft.documents[-1].title)}
    task = _TASKS[draft.kind].format(**{key: untrusted(name) for key, name in names.items()})
    passages = [
        f"Passage {i} ({untrusted(document.title)}): {untrusted(passage)}"
        for i, (document, passage) in enumerate(zip(draft.documents, draft.passages, strict=True), start=1)
    ]
    return with_examples(f"{task} {_ALL}", [_EXAMPLES[draft.kind]], "\n".join(passages))


def replies(drafts: Sequence[Draft], model: LanguageModel) -> Iterator[list[Completion]]:
    """Asks the model once per draft; yields the completions in batches, in input order.

    Raises:
        ConfigError: every call of a batch failed.
    """
    for start in tqdm(range(0, len(drafts), _BATCH), desc="ask the model", unit="batch"):
        batch = drafts[start : start + _BATCH]
        found: dict[int, Completion] = {}
        for form in (_QUESTION, _FOLLOW_UP):
            if places := [place for place, draft in enumerate(batch) if _form_of(draft) is form]:
                conversations = [conversation_for(batch[place]) for place in places]
                found |= zip(places, model.generate(conversations, form.model_json_schema()), strict=True)
        completions = [found[place] for place in range(len(batch))]
        if all(completion.problem is not None for completion in completions):
            raise ConfigError(
                f"{len(batch)} calls of the model in a row failed ({completions[0].problem}); check its server, and "
                "run the same command again to continue."
            )
        yield completions


def questions_of(drafts: Sequence[Draft], completions: Sequence[Completion]) -> FilteredQuestions:
    """The question of each draft. A dropped question has the problem or the reply as its text."""
    asked = FilteredQuestions([], {CALL_FAILED: [], NOT_READABLE: []})
    for number, (draft, completion) in enumerate(zip(drafts, completions, strict=True), start=1):
        query_id = f"{draft.kind}-{number}"
        if completion.problem is not None:
            asked.dropped[CALL_FAILED].append(Question(draft, Query(query_id, completion.problem)))
        elif question := read_question(draft, completion, query_id):
            asked.kept.append(question)
        else:
            asked.dropped[NOT_READABLE].append(Question(draft, Query(query_id, completion.text)))
    return asked


def read_question(draft: Draft, completion: Completion, query_id: str) -> Question | None:
    """Reads a reply; ``None`` if it has no usable question."""
    reply = read_reply(completion, _form_of(draft))
    if reply is None:
        return None
    if draft.kind != "follow_up":
        return Question(draft, Query(query_id, reply["question"]))
    turns = (Turn("user", reply["question"]), Turn("assistant", reply["answer"]))
    return Question(draft, Query(query_id, reply["second_question"], turns))


def _form_of(draft: Draft) -> Reply:
    return _FOLLOW_UP if draft.kind == "follow_up" else _QUESTION


def extract(drafts: Sequence[Draft], seed: int) -> FilteredQuestions:
    """Makes one question per draft. Without a title or heading that fits its kind, the draft counts as not readable."""
    made = FilteredQuestions([], {NOT_READABLE: []})
    for number, draft in enumerate(drafts, start=1):
        query_id = f"{draft.kind}-{number}"
        query = _query(draft, query_id, random.Random(f"{seed} {query_id}"))
        (made.kept if query.text else made.dropped[NOT_READABLE]).append(Question(draft, query))
    return made


def headings(document: Document) -> list[str]:
    """The lines of a text that stand alone and are no sentence, without the title."""
    lines = [block.strip() for block in document.text.split("\n\n")]
    short = [one for one in lines if "\n" not in one and 0 < len(one) <= _CHARACTERS and len(one.split()) <= _WORDS]
    return [
        one
        for one in short
        if not compatible(one).endswith(_SENTENCE) and normalised(one) != normalised(document.title)
    ]


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
    subject = subject_of(document.title)
    links = list(document.metadata.get(LINKED_AS, ()))
    found = [*headings(document), *links]
    if document.title.endswith("?") or not found:
        return document.title if document.title.endswith("?") else subject
    heading = generator.choice(found)
    is_whole = heading in links or heading.endswith("?") or normalised(subject) in normalised(heading)
    return heading if is_whole else f"{subject} {heading}"

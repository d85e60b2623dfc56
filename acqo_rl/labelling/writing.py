"""Prompts a language model for questions of every kind that a policy must tell apart, and reads its replies."""

from collections.abc import Iterator, Sequence

from tqdm import tqdm

from acqo_rl.errors import ConfigError
from acqo_rl.labelling.drafts import Draft, Kind, Question, name_of
from acqo_rl.labelling.question_filters import CALL_FAILED, NOT_READABLE, FilteredQuestions
from acqo_rl.language_models.structured import example, fields, read_reply, text
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Conversation, Query, Schema, Turn

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
        for schema in (_QUESTION, _FOLLOW_UP):
            if some := [place for place, draft in enumerate(batch) if _schema_of(draft) == schema]:
                found |= zip(some, model.generate([conversation_for(batch[i]) for i in some], schema), strict=True)
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
    reply = read_reply(completion, _schema_of(draft))
    if reply is None:
        return None
    if draft.kind != "follow_up":
        return Question(draft, Query(query_id, reply["question"]))
    turns = (Turn("user", reply["question"]), Turn("assistant", reply["answer"]))
    return Question(draft, Query(query_id, reply["second_question"], turns))


def _schema_of(draft: Draft) -> Schema:
    return _FOLLOW_UP if draft.kind == "follow_up" else _QUESTION

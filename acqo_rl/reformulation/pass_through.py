"""Baselines without a model: the raw query, alone or after the last turns of its conversation.

The raw query is also what all reformulators do with greetings and thanks. The last turns are used for the first search.
Given reformulations walk the same path.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from acqo_rl.reformulation.languages import Languages, can_read, with_language_note
from acqo_rl.roles import Reformulator
from acqo_rl.text import compatible, drop_middle, folded, one_line
from acqo_rl.types import Query, Reformulation, SubQuery, Turn

_TURN_CHARACTERS = 240
"""Maximum characters per turn: an encoder reads only the first 128 to 512 tokens, and the query comes last."""
_TEXTS = frozenset(
    """
hi|hello|hey|hello there|good morning|good afternoon|good evening|good night|how are you|bye|goodbye|see you
thanks|thank you|thank you very much|thank you so much|many thanks|thanks a lot|thx|ok thanks|ok thank you
great thanks|great thank you|no thanks|no thank you|thanks bye|that is all|that's all|you're welcome
hallo|danke|vielen dank|bonjour|merci|merci beaucoup|hola|gracias|muchas gracias|ciao|grazie|obrigado|你好|谢谢
""".strip()
    .replace("\n", "|")
    .split("|")
)


def pass_through(query: Query, made_by: str, problem: str | None = None) -> Reformulation:
    """A reformulation whose only sub-query is the raw query."""
    return Reformulation(query, "pass", (SubQuery(query.text, "original"),), made_by, problem=problem)


class PassThrough(Reformulator):
    """Searches every raw query."""

    name = "raw"

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order: the raw query."""
        return [pass_through(query, self.name) for query in queries]


class Given(Reformulator):
    """Returns given reformulations; their queries have different ids."""

    name = "given"

    def __init__(self, made: Iterable[Reformulation]) -> None:
        self._made = {one.query.id: one for one in made}

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order: that of its id."""
        return [self._made[query.id] for query in queries]


def is_small_talk(text: str) -> bool:
    """Whether a text is one of a few greetings or thanks; case, commas and closing punctuation do not matter."""
    return folded(one_line(compatible(text)).replace("\u2019", "'").replace(",", "")).strip(" .!?。") in _TEXTS


def past_small_talk(
    queries: Sequence[Query],
    reformulate: Callable[[list[Query]], Sequence[Reformulation]],
    name: str,
    languages: Languages = None,
) -> list[Reformulation]:
    """Returns one reformulation per query, in input order: small talk passes, the others go to ``reformulate``.

    Args:
        queries: the queries.
        reformulate: returns one reformulation per query.
        name: name of the reformulator.
        languages: languages that the reformulator reads; queries in other ones pass too, with a note.
    """
    asked = [i for i, query in enumerate(queries) if not is_small_talk(query.text) and can_read(query, languages)]
    answers = dict(zip(asked, reformulate([queries[i] for i in asked]), strict=True)) if asked else {}
    return [
        answers[i] if i in answers else with_language_note(pass_through(query, name), languages)
        for i, query in enumerate(queries)
    ]


@dataclass
class RecentTurns(Reformulator):
    """Searches the last turns and the query as one text; without a history, the raw query.

    It makes the first search for feedback, with two turns.

    The turns keep their speaker marks ("U:", "S:"), which gave better results.

    Attributes:
        turns: number of turns.
        repeats: how often the query stands after them, so that it weighs more.
    """

    turns: int = 2
    repeats: int = 1

    name = "turns"

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; small talk passes."""
        return past_small_talk(queries, lambda asked: [self._reformulate(query) for query in asked], self.name)

    def _reformulate(self, query: Query) -> Reformulation:
        if not query.history:
            return pass_through(query, self.name)
        text = with_turns(query, self._turns(query), self.repeats)
        return Reformulation(query, "disambiguate", (SubQuery(text, "reading"),), self.name)

    def _turns(self, query: Query) -> Sequence[Turn]:
        return query.history[-self.turns :]


class FirstQuestion(RecentTurns):
    """Searches the first turn of the user and the query as one text; without a history, the raw query."""

    def _turns(self, query: Query) -> Sequence[Turn]:
        return [turn for turn in query.history if turn.speaker == "user"][:1]


def with_last_turns(query: Query) -> str:
    """The last two turns, each shortened to 240 characters, and the query."""
    return with_turns(query, query.history[-2:])


def with_turns(query: Query, turns: Sequence[Turn], repeats: int = 1) -> str:
    """Some turns, each shortened to 240 characters, and then the query, once or several times."""
    return " ".join([*(drop_middle(str(turn), _TURN_CHARACTERS) for turn in turns), *[query.text] * repeats])


def shortens_a_turn(query: Query, text: str) -> bool:
    """Whether a text contains only both ends of a turn, as :func:`with_last_turns` shortened it."""
    turns = list(map(str, query.history))
    return any(len(turn) > _TURN_CHARACTERS and drop_middle(turn, _TURN_CHARACTERS) in text for turn in turns)

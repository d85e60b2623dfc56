"""Baselines without a model: the raw query, alone or after the last turns of its conversation.

The raw query is also what all reformulators do with greetings and thanks. The last turns are used for the first search.
Given reformulations walk the same path.
"""

from collections.abc import Callable, Iterable, Sequence

from acqo_rl.reformulation.languages import Languages, can_read, with_language_note
from acqo_rl.roles import Reformulator
from acqo_rl.text import compatible, drop_middle, folded, one_line
from acqo_rl.types import Query, Reformulation, SubQuery

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


class RecentTurns(Reformulator):
    """Searches the last turns and the query as one text; without a history, the raw query.

    It makes the first search for feedback, with two turns.

    The turns keep their speaker marks ("U:", "S:"), which gave better results.
    """

    name = "turns"

    def __init__(self, turns: int = 2) -> None:
        self.turns = turns

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; small talk passes."""
        return past_small_talk(queries, lambda asked: [self._reformulate(query) for query in asked], self.name)

    def _reformulate(self, query: Query) -> Reformulation:
        if not query.history:
            return pass_through(query, self.name)
        text = with_last_turns(query, self.turns)
        return Reformulation(query, "disambiguate", (SubQuery(text, "reading"),), self.name)


def with_last_turns(query: Query, turns: int = 2) -> str:
    """The last turns, each shortened to 240 characters, and the query."""
    return " ".join([*(drop_middle(str(turn), _TURN_CHARACTERS) for turn in query.history[-turns:]), query.text])


def shortens_a_turn(query: Query, text: str) -> bool:
    """Whether a text contains only both ends of a turn, as :func:`with_last_turns` shortened it."""
    turns = list(map(str, query.history))
    return any(len(turn) > _TURN_CHARACTERS and drop_middle(turn, _TURN_CHARACTERS) in text for turn in turns)

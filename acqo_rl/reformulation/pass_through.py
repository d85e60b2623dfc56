"""Searches the raw query: the baseline of all comparisons, and what all reformulators do with greetings and thanks."""

from collections.abc import Callable, Sequence

from acqo_rl.roles import Reformulator
from acqo_rl.text import compatible, folded, one_line
from acqo_rl.types import Query, Reformulation, SubQuery

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


def is_small_talk(text: str) -> bool:
    """Whether a text is one of a few greetings or thanks; case, commas and closing punctuation do not matter."""
    return folded(one_line(compatible(text)).replace("\u2019", "'").replace(",", "")).strip(" .!?。") in _TEXTS


def past_small_talk(
    queries: Sequence[Query], reformulate: Callable[[list[Query]], Sequence[Reformulation]], name: str
) -> list[Reformulation]:
    """Returns one reformulation per query, in input order: small talk passes, the others go to ``reformulate``.

    Args:
        queries: the queries.
        reformulate: returns one reformulation per query.
        name: name of the reformulator.
    """
    asked = [i for i, query in enumerate(queries) if not is_small_talk(query.text)]
    answers = dict(zip(asked, reformulate([queries[i] for i in asked]), strict=True)) if asked else {}
    return [answers.get(i) or pass_through(query, name) for i, query in enumerate(queries)]

"""Reformulation by prompting a language model with one or several strategies.

A strategy is a prompt, the schema of the reply, and what its fields search. Sources: multi-query is RAG-Fusion; HyDE is
arXiv 2212.10496 (Gao et al. 2022), step-back 2310.06117 (Zheng et al. 2023), rewrite 2305.14283 (Ma et al. 2023).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from acqo_rl.language_models.structured import (
    Reply,
    example,
    fields,
    one_of,
    problem_of,
    read_reply,
    searched,
    several,
)
from acqo_rl.reformulation.pass_through import pass_through, past_small_talk
from acqo_rl.reformulation.prompt import partly_read, untrusted, with_examples
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.text import drop_middle, known_share, normalised, one_line, text_of
from acqo_rl.time_limit import concurrently
from acqo_rl.types import (
    Completion,
    Conversation,
    FeedbackSpec,
    Query,
    Reformulation,
    Route,
    SubQuery,
    SubQueryKind,
)

Examples = Mapping[str, Mapping[str, Any]]
"""Question, perhaps after earlier turns -> fields of its reply."""

UNCHANGED = "unchanged"
"""What a model writes in place of a rewrite if the query is searched as it is."""
_TURNS = 6
_MOST_TERMS, _MOST_PROMPTED = 6, 3

_ROUTES: dict[str, tuple[Route, SubQueryKind]] = {
    "simple": ("pass", "original"),
    "ambiguous": ("disambiguate", "reading"),
    "compound": ("decompose", "part"),
}
_LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Strategy:
    """A prompted strategy.

    Attributes:
        name: in results and on the command line.
        task: the instructions; they say that the reply is JSON.
        examples: worked examples.
        form: of the reply; see :mod:`acqo_rl.language_models.structured`.
        texts: returns the texts to search, from the query and the fields of a reply.
        kind: of the sub-queries.
        route: of the reformulation. If a reply has the field ``kind`` (simple, ambiguous or compound), that determines
            route and kind.
        weight: of each sub-query in the fusion; with 0, the model is not asked.
        original_weight: of the raw query; 0 drops it.
        temperature: replaces the temperature of the model.
        max_new_tokens: replaces the token limit of the model.
        adds_words: whether a search need not share a word with the question.
    """

    name: str
    task: str
    examples: Examples
    form: Reply
    texts: Callable[[Query, Mapping[str, Any]], Sequence[str]] = field(repr=False)
    kind: SubQueryKind
    route: Route = "expand"
    weight: float = 1.0
    original_weight: float = 1.0
    temperature: float | None = None
    max_new_tokens: int | None = None
    adds_words: bool = True

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for a query."""
        return ask(self.task, self.examples, query)

    def read(self, query: Query, reply: Mapping[str, Any]) -> tuple[Route, list[SubQuery]]:
        """Returns route and sub-queries of a reply of its form, without the raw query."""
        route, kind = _ROUTES[reply["kind"]] if "kind" in reply else (self.route, self.kind)
        if UNCHANGED in reply.values():
            route = "pass"
        found = [] if route == "pass" else self.texts(query, reply)
        return route, [SubQuery(text, kind, self.weight) for text in found]


class Prompted(Reformulator):
    """Prompts a language model; falls back to the raw query if a completion cannot be used, and reports the problem.

    The sub-queries of all strategies are searched in addition to the raw query. A rewrite that shares no content word
    with query, conversation and feedback, such as a refusal, or that is copied from the feedback alone, is not searched
    and reported as a problem. If it shares fewer than half of its words, or all that it shares with the feedback, the
    raw query is searched as well.
    """

    def __init__(
        self,
        model: LanguageModel,
        strategies: Sequence[Strategy],
        name: str = "",
        feedback: FeedbackSpec = Reformulator.feedback,
    ) -> None:
        """Creates the reformulator.

        Args:
            model: the language model for all strategies.
            strategies: prompts and forms of replies; each one adds sub-queries.
            name: name of the reformulator; by default the names of the strategies, joined by ``+``.
            feedback: see :class:`acqo_rl.roles.Reformulator`.
        """
        self.name = name or "+".join(strategy.name for strategy in strategies)
        self.feedback = feedback
        self.max_calls = len(strategies)
        self._asked = [
            (model.with_sampling(strategy.temperature, strategy.max_new_tokens), strategy) for strategy in strategies
        ]

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, with one batched model call per strategy.

        Small talk passes.
        """
        return past_small_talk(queries, self._reformulate, self.name)

    def _reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        calls = [partial(complete, model, [*map(one.conversation, queries)], one.form) for model, one in self._asked]
        written = concurrently(lambda call: call(), calls, len(calls))
        return [self._read(query, completions) for query, *completions in zip(queries, *written, strict=True)]

    def _read(self, query: Query, completions: Sequence[Completion]) -> Reformulation:
        routes: list[Route] = []
        found: list[SubQuery] = []
        original_weights: list[float] = []
        problems = []
        for (_, strategy), completion in zip(self._asked, completions, strict=True):
            reply = None if completion.problem else read_reply(completion, strategy.form)
            if reply is None:
                problems.append(f"{strategy.name}: {problem_of(completion)}")
                continue
            route, sub_queries = strategy.read(query, reply)
            shares = {s: 1.0 if strategy.adds_words else _share(s.text, query) for s in sub_queries}
            if strange := [one for one, share in shares.items() if not share]:
                problems.append(f"{strategy.name}: {strange[0].text[:80]!r} has no word that the question calls for")
                sub_queries = [one for one in sub_queries if one not in strange]
            if sub_queries:
                routes.append(route)
                found += sub_queries
                is_doubtful = min(shares[one] for one in sub_queries) < _LEAST_SHARE
                original_weights.append(1.0 if is_doubtful else strategy.original_weight)
            elif route != "pass" and not strange:
                problems.append(f"{strategy.name}: nothing to search in {completion.text[:80]!r}")
        route = "decompose" if "decompose" in routes else next(iter(routes), "pass")
        searched = _paths(query, max(original_weights, default=1.0), found)
        if {s.kind for s in searched} == {"original"}:
            searched = pass_through(query, self.name).sub_queries
        return Reformulation(
            query,
            route,
            searched,
            self.name,
            completion="\n\n".join(c.text for c in completions),
            tokens=sum(c.tokens for c in completions),
            problem="; ".join(problems) or None,
            calls=len(completions),
            failed_calls=sum(c.problem is not None for c in completions),
            notes=partly_read(query, self._asked[0][1].conversation(query)),
        )


def _share(text: str, query: Query) -> float:
    """The share of a rewrite's words that query, conversation and feedback have.

    If the query and the conversation have none of them, those of the feedback count half, and a rewrite of them alone
    counts 0: a document that gives instructions does not become the search.
    """
    share = known_share(text, text_of(query))
    if known_share(text, text_of(replace(query, feedback=()))):
        return share
    return 0.0 if share == 1.0 else share / 2


def complete(model: LanguageModel, conversations: Sequence[Conversation], form: Reply | None) -> list[Completion]:
    """Calls a language model.

    Raises:
        ValueError: it does not return one completion per conversation.
    """
    completions = model.generate(conversations, form.model_json_schema() if form else None)
    if len(completions) != len(conversations):
        raise ValueError(
            f"{len(completions)} completions for {len(conversations)} prompts; a model must return one per prompt"
        )
    return completions


def _paths(query: Query, original_weight: float, found: Iterable[SubQuery]) -> tuple[SubQuery, ...]:
    """The raw query, then the sub-queries without repetitions; a repeated sub-query gets its greatest weight."""
    key = normalised(query.text)
    by_key = {key: SubQuery(query.text, "original", original_weight)} if original_weight > 0 else {}
    for sub_query in found:
        its_key = normalised(sub_query.text)
        if its_key == key:
            sub_query = replace(sub_query, text=query.text, kind="original")
        first = by_key.setdefault(its_key, sub_query)
        by_key[its_key] = replace(first, weight=max(first.weight, sub_query.weight))
    return tuple(by_key.values())


def ask(task: str, examples: Examples, query: Query) -> Conversation:
    """Builds a prompt: instructions, worked examples, then the query."""
    shown = [(content, example(**reply)) for content, reply in examples.items()]
    return with_examples(task, shown, question_text(query))


def question_text(query: Query) -> str:
    """The last turns, the feedback and the query, one a line, without special tokens; long ones keep both ends."""
    turns = [drop_middle(untrusted(str(turn)), 500) for turn in query.history[-_TURNS:]]
    found = [f"- {untrusted(s.title)[:200]}: {untrusted(s.text)[:500]}" for s in query.feedback]
    return "\n".join([*turns, *found, f"Question: {drop_middle(untrusted(query.text), 1000)}"])


def strategies_for(settings: StrategySettings) -> dict[str, Strategy]:
    """The strategies by name."""
    by_name = {strategy.name: strategy for strategy in _strategies(settings)}
    for name, strategy in by_name.items():
        if settings.original_weight is not None and strategy.original_weight:  # some strategies have no raw query
            by_name[name] = replace(strategy, original_weight=settings.original_weight)
    for name, temperature in settings.temperatures.items():
        by_name[name] = replace(by_name[name], temperature=temperature)
    for name, limit in settings.token_limits.items():
        by_name[name] = replace(by_name[name], max_new_tokens=limit)
    return by_name


def _expanded(query: Query, reply: Mapping[str, Any]) -> list[str]:
    """The query with the terms that are not in it."""
    there = f" {normalised(query.text)} "
    terms = [term for term in reply["terms"] if f" {normalised(term)} " not in there]
    return [" ".join([one_line(query.text), *terms])] if terms else []


def _strategies(settings: StrategySettings) -> list[Strategy]:
    domain = settings.domain
    of = f" of {domain}" if domain else ""
    last = f" Write the last one in {settings.translate_to}." if settings.translate_to else ""
    return [
        Strategy(
            "multi_query",
            f"You write search queries{f' for {domain}' if domain else ''}. Write {settings.num_variants} searches for "
            "the last question, as JSON. Keep its meaning and its language. Each is complete in itself and takes "
            "another angle: other words, a property or number that the answer would state, the situation it arises in."
            + last,
            {
                "Question: Which bike for a hilly commute?": {
                    "searches": [
                        "lightweight commuter bicycle with low gears",
                        "best bicycle for steep hills in the city",
                        "electric bike hill climbing range and motor torque",
                    ]
                }
            },
            fields(searches=several(searched(), settings.num_variants)),
            lambda _, reply: reply["searches"],
            "variant",
            weight=0.8,
        ),
        Strategy(
            "hyde",
            f"Write the passage of a reference work{f' about {domain}' if domain else ''} that answers the last "
            "question, in its language: 2 to 4 plain sentences that state facts, as JSON. No introduction, no advice, "
            "no doubt.",
            {
                "Question: Why do leaves turn red in autumn?": {
                    "sentences": [
                        "In autumn leaves stop producing chlorophyll and its green colour fades.",
                        "Many trees then form anthocyanins from the sugars left in the leaf.",
                        "These pigments are red, and they protect the leaf from light on cold days.",
                    ]
                }
            },
            fields(sentences=several(searched(500), 4)),
            lambda _, reply: [" ".join(reply["sentences"])],
            "hypothetical",
            weight=1.5,
            original_weight=0.5 if settings.hyde_include_original else 0.0,
        ),
        Strategy(
            "step_back",
            f"Write one search{of} that is more general than the last question, in its language, "
            "as JSON: the principle, the mechanism or the wider topic that an answer rests on.",
            {
                "Question: Why does my sourdough collapse after a night at 28 degrees?": {
                    "search": "temperature and dough fermentation"
                },
                "Question: Could Bach have met Vivaldi in Venice?": {"search": "travels of Johann Sebastian Bach"},
            },
            fields(search=searched()),
            lambda _, reply: [reply["search"]],
            "step_back",
            weight=0.0 if settings.step_back_combine == "original" else 0.8,
            original_weight=0.0 if settings.step_back_combine == "step_back" else 1.0,
        ),
        Strategy(
            "decomposition",
            f"Split the last question into the searches{of} that its answer needs, at most {settings.max_parts}, "
            "as JSON. Each asks one thing and is complete in itself: repeat names, times and places in it. Keep the "
            "language. A question that asks one thing is repeated as it is.",
            {
                "Question: Compare rent and wages in Vienna and Graz in 2020": {
                    "searches": [
                        "average rent in Vienna in 2020",
                        "average rent in Graz in 2020",
                        "average wages in Vienna in 2020",
                        "average wages in Graz in 2020",
                    ]
                },
                "Question: How tall is the Eiffel Tower?": {"searches": ["How tall is the Eiffel Tower?"]},
            },
            fields(searches=several(searched(), settings.max_parts)),
            lambda _, reply: reply["searches"],
            "part",
            "decompose",
            adds_words=False,
        ),
        Strategy(
            "expansion",
            f"List at most {_MOST_TERMS} synonyms, technical terms{of} and spelled-out abbreviations that "
            "texts answering the last question would use and that it does not. In its language, as JSON.",
            {
                "Question: heart attack signs in women": {
                    "terms": ["myocardial infarction", "symptoms", "chest pain", "female patients"]
                }
            },
            fields(terms=several(searched(60), _MOST_TERMS)),
            _expanded,
            "expansion",
            weight=0.8,
        ),
        Strategy(
            "rewrite",
            f"Write the one search{of} that finds what the last question asks for, in its language, as "
            "JSON. Correct its spelling, and take names and words that fit from what stands before it: earlier turns, "
            f"and lines that a first search found. It is {UNCHANGED!r} if the question stays as it is.",
            {
                "Question: How tall is the Eiffel Tower?": {"search": UNCHANGED},
                "Question: whats that brige in frisco, the red one": {"search": "Golden Gate Bridge San Francisco"},
                "- Gustav Klimt: painter, born near Vienna in 1862\nQuestion: home town of The Kiss' painter": {
                    "search": "Gustav Klimt birthplace"
                },
            },
            fields(search=searched()),
            lambda _, reply: [reply["search"]],
            "variant",
            original_weight=0.0,
            adds_words=False,
        ),
        Strategy(
            "prompted",
            "Classify the last question, then write what to search for, as JSON.\n"
            "simple - one need, clear as it stands; no searches\n"
            "ambiguous - it leans on the conversation or a name has several meanings; complete searches\n"
            f"compound - it asks several things; one complete search for each, at most {_MOST_PROMPTED}",
            {
                "Question: How tall is the Eiffel Tower?": {"kind": "simple", "searches": []},
                "U: Who painted Guernica?\nS: Pablo Picasso painted it.\nQuestion: Where was he born?": {
                    "kind": "ambiguous",
                    "searches": ["Pablo Picasso birthplace"],
                },
                "Question: Compare the moons of Mars and Jupiter": {
                    "kind": "compound",
                    "searches": ["moons of Mars", "moons of Jupiter"],
                },
            },
            fields(kind=one_of(*_ROUTES), searches=several(searched(), _MOST_PROMPTED, least=0)),
            lambda _, reply: reply["searches"],
            "original",
            original_weight=0.0,
            temperature=0.0,  # greedy, so that results are reproducible
            adds_words=False,
        ),
    ]

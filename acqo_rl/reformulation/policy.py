"""The trained policy: prompt, language model, parser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError, GrammarError
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.reformulation import grammar, prompt
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.reformulation.small_talk import past_small_talk
from acqo_rl.text import distinct
from acqo_rl.types import FeedbackSpec, LanguageModel, Query, Reformulation, SubQuery

SETTINGS_FILE = "acqo.json"

RANGES = {
    **dict.fromkeys(("history_tokens", "feedback_results"), (0, FINITE)),
    **dict.fromkeys(("max_sub_queries", "query_tokens", "feedback_words", "max_new_tokens"), (1, FINITE)),
    "raw_lead": (0, FINITE),
}
"""Least and most of a policy's settings."""


@dataclass(frozen=True)
class PolicySettings:
    """What a model was trained with and must be served with; stored beside its weights.

    Attributes:
        max_sub_queries: searches a query.
        history_tokens: prompt budget of the conversation.
        query_tokens: prompt budget of the query.
        feedback_results: results of a first search in the prompt; 0 is the paper's policy.
        feedback_words: words of each of them.
        max_new_tokens: limit of a completion.
        raw_lead: readings are searched beside the raw query, whose list counts where its best cosine is above theirs
            by more than this: a question that stands on its own is searched best as it is. ``None``, and with
            retrievers whose scores are no cosines: readings alone.
        grammar_version: see :mod:`acqo_rl.reformulation.grammar`.
        prompt_version: see :mod:`acqo_rl.reformulation.prompt`.
    """

    max_sub_queries: int = 3
    history_tokens: int = 256
    query_tokens: int = 128
    feedback_results: int = 0
    feedback_words: int = 28
    max_new_tokens: int = 64
    raw_lead: float | None = None
    grammar_version: str = grammar.VERSION
    prompt_version: str = prompt.VERSION

    def save(self, folder: str | Path) -> None:
        """Writes the settings beside a model's weights."""
        Path(folder, SETTINGS_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: str | Path) -> PolicySettings:
        """Reads the settings of an exported model.

        Raises:
            GrammarError: the file is damaged, or the model was trained for another grammar or prompt.
        """
        try:
            stored = {"raw_lead": None, **json.loads(Path(file).read_text(encoding="utf-8"))}
            settings = cls(**stored)
            for name, default in asdict(cls()).items():
                optional = name == "raw_lead"
                types = (float, int, type(None)) if optional else (type(default),)
                if type(stored[name]) not in types:
                    wanted = "a number or null" if optional else f"like {default!r}"
                    raise ValueError(f"{name} is {stored[name]!r}; it must be {wanted}")
            check_ranges(settings, RANGES)
        except KeyError as error:
            raise GrammarError(f"{file} lacks {error}; export the model again.") from error
        except (ValueError, TypeError, ConfigError) as error:
            raise GrammarError(
                f"{file} does not hold the settings of a policy ({error}); mend it, or export the model again."
            ) from error
        for what, seen, wanted in (
            ("grammar", settings.grammar_version, grammar.VERSION),
            ("prompt", settings.prompt_version, prompt.VERSION),
        ):
            if seen != wanted:
                raise GrammarError(
                    f"The model of {file} was trained for {what} version {seen}, this code has version {wanted}; "
                    f"use the acqo_rl release it was trained with, or train it again."
                )
        return settings


class Policy:
    """A language model that answers in the grammar; a bad completion falls back to the raw query and says why."""

    def __init__(self, model: LanguageModel, prompt: Prompt, settings: PolicySettings, name: str = "policy") -> None:
        self.model = model
        self.prompt = prompt
        self.settings = settings
        self.grammar = Grammar(settings.max_sub_queries)
        self.name = name

    @classmethod
    def from_pretrained(cls, path: str | Path, *, name: str = "policy", **generation: Any) -> Policy:
        """Loads an exported policy (adapter or merged) from a folder or the Hub.

        Args:
            path: a folder, a Hub id or ``trained:NAME`` (:mod:`acqo_rl.embedded`).
            name: how it is called in reports.
            generation: ``temperature``, ``top_p``, ``batch_size``, ``max_new_tokens``; greedy by default.

        Raises:
            ConfigError: there is no trained policy of that name.
            GrammarError: it is no policy, or one of another grammar or prompt version.
        """
        from acqo_rl.embedded import resolve
        from acqo_rl.language_models.local import TransformersModel

        path = resolve(str(path))
        settings = PolicySettings.load(settings_file(path))
        options = {"max_new_tokens": settings.max_new_tokens, "words_once": True, **generation}
        model = TransformersModel.from_pretrained(path, **options)
        return cls.of(model, settings, name=name)

    @classmethod
    def of(cls, model: Any, settings: PolicySettings, *, name: str = "policy") -> Policy:
        """A policy around a :class:`~acqo_rl.language_models.local.TransformersModel`."""
        return cls(model, prompt_of(settings, model.count_tokens), settings, name)

    @property
    def feedback(self) -> FeedbackSpec:
        """What it was trained to read of a first search."""
        return FeedbackSpec(self.settings.feedback_results, self.settings.feedback_words)

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation per query, in input order, from one batched call of the model; small talk passes."""
        return past_small_talk(queries, self._reformulate, self.name)

    def _reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        completions = self.model.generate([self.prompt.render(query) for query in queries])
        answers = []
        for query, completion in zip(queries, completions, strict=True):
            parsed = self.grammar.parse_tolerantly(completion.text, query)
            answer = Reformulation(
                query,
                parsed.route,
                parsed.sub_queries,
                self.name,
                completion.text,
                completion.tokens,
                completion.problem or parsed.problem,
                calls=1,
                failed_calls=int(completion.problem is not None),
            )
            answers.append(as_searched(answer, self.settings.raw_lead, self.settings.max_sub_queries))
        return answers


def settings_file(path: str) -> str:
    """The file of a policy's settings, in a folder or on the Hub.

    Raises:
        GrammarError: there is none.
    """
    from transformers.utils import cached_file

    from acqo_rl.language_models.local import is_missing_folder

    try:
        if is_missing_folder(path):
            raise FileNotFoundError("no such folder")
        if Path(path).is_dir() and not Path(path, SETTINGS_FILE).is_file():
            raise FileNotFoundError(f"the folder holds {sorted(p.name for p in Path(path).iterdir())[:8]}")
        return str(cached_file(path, SETTINGS_FILE))
    except OSError as error:
        raise GrammarError(
            f"{path!r} is no exported policy: {SETTINGS_FILE} cannot be found in it ({error}). "
            f"Give the folder or Hub id that training or scripts/push_to_hub.py wrote."
        ) from error


def as_searched(written: Reformulation, raw_lead: float | None, max_sub_queries: int) -> Reformulation:
    """What is searched of what a policy wrote, in training as in serving.

    Readings get the raw query beside them (see ``PolicySettings.raw_lead``) unless as many as are allowed were written.
    """
    if raw_lead is None or written.route != "disambiguate" or len(written.sub_queries) >= max_sub_queries:
        return written
    raw = SubQuery(written.query.text, "original", lead=raw_lead)
    return replace(written, sub_queries=distinct([*written.sub_queries, raw]))


def prompt_of(settings: PolicySettings, count_tokens: Any) -> Prompt:
    """The prompt that goes with a model's settings."""
    return Prompt(
        count_tokens,
        settings.max_sub_queries,
        settings.history_tokens,
        settings.query_tokens,
        settings.feedback_words,
    )

"""The trained policy: prompt, language model and parser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError, GrammarError
from acqo_rl.files import read_json
from acqo_rl.language_models.cache import checksums
from acqo_rl.reformulation import grammar, prompt
from acqo_rl.reformulation.grammar import TAGS, Grammar
from acqo_rl.reformulation.pass_through import past_small_talk
from acqo_rl.reformulation.prompt import Prompt, partly_read
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.text import distinct
from acqo_rl.types import Amount, Count, FeedbackSpec, Positive, Query, Reformulation, SubQuery

SETTINGS_FILE = "acqo.json"
WORDS_FILE = "words.txt"

ONLY_ITSELF = "The policy wrote no other sub-query than the query itself, so the query was passed."


@dataclass(frozen=True)
class PolicySettings:
    """Settings that a policy was trained with and must be served with; stored with its weights.

    Attributes:
        max_sub_queries: maximum number of sub-queries per query.
        history_tokens: token budget of the history in the prompt.
        query_tokens: token budget of the query in the prompt; a longer query keeps both ends.
        feedback_results: number of feedback results in the prompt; 0 as in the paper.
        feedback_words: words per feedback result.
        max_new_tokens: maximum number of tokens per completion.
        raw_query_margin: on the route ``disambiguate``, the raw query is searched as well. Its ranking is used only if
            its top cosine exceeds that of the other sub-queries by more than this margin, because a self-contained
            question is searched best in its raw form. ``None`` disables this; it is also off if scores are not cosines.
        languages: codes (ISO 639-1) of the languages of the policy; queries in another one pass, see
            :mod:`acqo_rl.reformulation.languages`. ``None``, or no such entry in the file, stands for any language.
        words: the words that sub-queries may contain beside those of the prompt; ``None`` allows any word. Stored in a
            file of their own, one per line.
        grammar_version: see :mod:`acqo_rl.reformulation.grammar`.
        prompt_version: see :mod:`acqo_rl.reformulation.prompt`.
    """

    max_sub_queries: Positive = 3
    history_tokens: Count = 256
    query_tokens: Positive = 128
    feedback_results: Count = 0
    feedback_words: Positive = 28
    max_new_tokens: Positive = 64
    raw_query_margin: Amount | None = None
    grammar_version: str = grammar.VERSION
    prompt_version: str = prompt.VERSION
    languages: tuple[str, ...] | None = None
    words: frozenset[str] | None = None

    @property
    def grammar(self) -> Grammar:
        """The grammar of the policy's completions."""
        return Grammar(self.max_sub_queries, self.words)

    @property
    def feedback(self) -> FeedbackSpec:
        """What the policy reads of a first search."""
        return FeedbackSpec(self.feedback_results, self.feedback_words)

    def save(self, folder: str | Path) -> None:
        """Writes the settings, with the checksums of the weights and the words, to the folder of these."""
        stored = asdict(self)
        if words := stored.pop("words"):
            Path(folder, WORDS_FILE).write_text("".join(f"{word}\n" for word in sorted(words)), encoding="utf-8")
        files = [*sorted(Path(folder).glob("*.safetensors")), *Path(folder).glob(WORDS_FILE)]
        stored["checksums"] = {path.name: checksum for path, checksum in zip(files, checksums(files), strict=True)}
        Path(folder, SETTINGS_FILE).write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: str | Path) -> PolicySettings:
        """Reads the settings of an exported model, and its words from the same folder; checks both and the weights.

        Raises:
            ConfigError: the weights or the words are damaged.
            GrammarError: the file is damaged, or the model was trained with another grammar or prompt version.
        """
        from pydantic import ConfigDict, create_model

        strict = ConfigDict(extra="forbid", strict=True)
        required: dict[str, Any] = {item.name: (item.type, ...) for item in fields(cls) if item.name != "words"}
        required |= {"languages": (required["languages"][0], None), "checksums": (dict[str, str], {})}
        try:
            stored = create_model(cls.__name__, __config__=strict, **required).model_validate_json(
                json.dumps(read_json(file))
            )
            listed = Path(file).with_name(WORDS_FILE)
            words = frozenset(listed.read_text(encoding="utf-8").split()) if listed.is_file() else None
            content = stored.model_dump()
            saved = content.pop("checksums")
            paths = [path for path in map(Path(file).with_name, saved) if path.exists()]
            settings = cls(**content, words=words)
        except (ValueError, ConfigError) as error:
            raise GrammarError(
                f"{file} does not contain valid settings of a policy ({error}); fix it, or export the model again."
            ) from error
        damaged = [path.name for path, seen in zip(paths, checksums(paths), strict=True) if seen != saved[path.name]]
        if WORDS_FILE in saved and words is None:
            damaged.append(WORDS_FILE)
        if damaged:
            raise ConfigError(
                f"{', '.join(damaged)} in {Path(file).parent} is damaged or missing: its checksum differs from"
                f" {SETTINGS_FILE}; copy or export the model again."
            )
        for what, seen, wanted in (
            ("grammar", settings.grammar_version, grammar.VERSION),
            ("prompt", settings.prompt_version, prompt.VERSION),
        ):
            if seen != wanted:
                raise GrammarError(
                    f"The model of {file} was trained for {what} version {seen}; this acqo_rl has version {wanted}. "
                    f"Use the acqo_rl release that it was trained with, or train it again."
                )
        return settings


@dataclass(eq=False)
class Policy(Reformulator):
    """A trained reformulator; an invalid completion falls back to the raw query and is reported in ``problem``."""

    model: LanguageModel
    prompt: Prompt
    settings: PolicySettings
    name: str = "policy"

    max_calls = 1

    def __post_init__(self) -> None:
        self.feedback = self.settings.feedback

    @classmethod
    def from_pretrained(cls, path: str | Path, *, name: str = "policy", **generation: Any) -> Policy:
        """Loads an exported policy (adapter or merged) from a folder or the Hub.

        Args:
            path: a folder, a Hub id or ``trained:NAME`` (:mod:`acqo_rl.language_models.embedded`); with ``openvino:``
                before it, the model runs with OpenVINO on a CPU.
            name: name in results.
            generation: ``batch_size``, ``max_new_tokens`` or (not with OpenVINO) ``temperature`` and ``top_p``; by
                default greedy.

        Raises:
            ConfigError: the name or the model is unknown, or the model cannot be loaded.
            GrammarError: it is not a policy, or it has another grammar or prompt version.
        """
        from acqo_rl.language_models.local import TransformersModel
        from acqo_rl.language_models.openvino import PREFIX, OpenVinoModel

        settings = read_settings(str(path))
        with_openvino = str(path).startswith(PREFIX)
        engine: Any = OpenVinoModel if with_openvino else TransformersModel
        regex = settings.grammar.ascii_regex if with_openvino else settings.grammar.regex
        options = {"max_new_tokens": settings.max_new_tokens, "regex": regex, **generation}
        return cls.of(engine.from_pretrained(str(path).removeprefix(PREFIX), **options), settings, name=name)

    @classmethod
    def of(cls, model: Any, settings: PolicySettings, *, name: str = "policy") -> Policy:
        """Creates a policy from a model in this process and its settings."""
        return cls(model, prompt_of(settings, model.chat.count_tokens), settings, name)

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from one batched model call; small talk passes."""
        return past_small_talk(queries, self._reformulate, self.name, self.settings.languages)

    def _reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        prompts = [self.prompt.render(query) for query in queries]
        answers = []
        for query, rendered, completion in zip(queries, prompts, self.model.generate(prompts), strict=True):
            parsed = self.settings.grammar.parse_tolerantly(completion.text, query)
            notes = partly_read(query, rendered)
            if parsed.route == "pass" and parsed.problem is None and completion.text not in (TAGS["pass"], ""):
                notes = (*notes, ONLY_ITSELF)
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
                notes=notes,
            )
            answers.append(as_searched(answer, self.settings.raw_query_margin, self.settings.max_sub_queries))
        return answers


def read_settings(model: str) -> PolicySettings:
    """Reads the settings of a policy, named as in :meth:`Policy.from_pretrained`, without loading its weights.

    Raises:
        ConfigError: the name of an embedded policy is unknown.
        GrammarError: it is not a policy, or it has another grammar or prompt version.
    """
    from acqo_rl.language_models.embedded import resolve
    from acqo_rl.language_models.local import file_of, is_missing_folder
    from acqo_rl.language_models.openvino import PREFIX

    path = resolve(model.removeprefix(PREFIX))
    try:
        if is_missing_folder(path):
            raise FileNotFoundError("no such folder")
        if Path(path).is_dir() and not Path(path, SETTINGS_FILE).is_file():
            raise FileNotFoundError(f"the folder contains {sorted(p.name for p in Path(path).iterdir())[:8]}")
        file_of(path, WORDS_FILE, required=False)
        file = str(file_of(path, SETTINGS_FILE))
    except OSError as error:
        raise GrammarError(
            f"{path!r} is not an exported policy: {SETTINGS_FILE} was not found ({error}). "
            f"Give the folder or Hub id that training or acqo push wrote."
        ) from error
    return PolicySettings.load(file)


def as_searched(written: Reformulation, raw_query_margin: float | None, max_sub_queries: int) -> Reformulation:
    """Adds the raw query to the sub-queries of the route ``disambiguate``, in both training and serving.

    See ``PolicySettings.raw_query_margin``. Nothing is added if the policy wrote the maximum number of sub-queries.
    """
    if raw_query_margin is None or written.route != "disambiguate" or len(written.sub_queries) >= max_sub_queries:
        return written
    raw = SubQuery(written.query.text, "original", min_margin=raw_query_margin)
    return replace(written, sub_queries=distinct([*written.sub_queries, raw]))


def prompt_of(settings: PolicySettings, count_tokens: Any) -> Prompt:
    """Creates the prompt for a policy's settings."""
    return Prompt(
        count_tokens,
        settings.max_sub_queries,
        settings.history_tokens,
        settings.query_tokens,
        settings.feedback_words,
    )

"""Handles differences between chat models: the system role, the token that ends a turn, and thoughts before a reply.

For example, turns of Gemma end with "<end_of_turn>" and those of a Qwen base model with "<|im_end|>"; neither is the
``eos_token``. Gemma's template has no system role.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acqo_rl.addresses import masked
from acqo_rl.errors import ConfigError
from acqo_rl.files import read_json
from acqo_rl.text import one_line
from acqo_rl.types import Completion, Conversation

_OPEN, _CLOSE = "<think>", "</think>"
"""Ends of the thoughts of reasoning models before a reply; other forms of thoughts are not recognised."""
_PROBE = "acqo-probe"
_WHITE_SPACE = " \n\r\t\u2581"
"""White space in texts and in tokens; SentencePiece writes a space as "\u2581"."""
_FOLDED = (
    "{%- if messages and messages[0]['role'] == 'system' -%}"
    "{%- set rest = messages[1:] -%}"
    "{%- if rest and rest[0]['role'] == 'user' -%}"
    "{%- set first = messages[0]['content'] + '\\n\\n' + rest[0]['content'] -%}{%- set rest = rest[1:] -%}"
    "{%- else -%}{%- set first = messages[0]['content'] -%}{%- endif -%}"
    "{%- set messages = [{'role': 'user', 'content': first}] + rest -%}"
    "{%- endif -%}"
)


class Chat:
    """Writes conversations as prompts and reads completions, with the tokenizer of a model.

    Attributes:
        tokenizer: a tokenizer with a chat template.
        ends: ids of the tokens that end a completion.
    """

    def __init__(self, tokenizer: Any, generation_config: Any = None) -> None:
        self.tokenizer = tokenizer
        self.ends = end_tokens(tokenizer, generation_config)

    def prompt_ids(self, conversation: Conversation) -> list[int]:
        """Token ids of a conversation as a prompt."""
        options = {"add_generation_prompt": True, "tokenize": True, "return_dict": True}
        return list(self.tokenizer.apply_chat_template(conversation, **options)["input_ids"])

    def completion(self, ids: Sequence[int]) -> Completion:
        """The text of a completion, without its end token and its thoughts."""
        return _completion(ids, self.ends, self.tokenizer.decode)

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text, without special tokens."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])


class StoredChat:
    """What :class:`Chat` does for prompts of a system and a user message, from files and without transformers.

    Attributes:
        ends: ids of the tokens that end a completion.
    """

    def __init__(self, folder: Path) -> None:
        """Reads what :func:`save_chat` has written."""
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        stored = read_json(folder / "chat.json")
        self.ends: list[int] = stored["ends"]
        self._before, self._between, self._after = stored["frame"]

    def prompt_ids(self, conversation: Conversation) -> list[int]:
        """Token ids of a system and a user message as a prompt."""
        system, user = (message["content"] for message in conversation)
        return self._ids(f"{self._before}{system}{self._between}{user}{self._after}")

    def completion(self, ids: Sequence[int]) -> Completion:
        """The text of a completion, without its end token and its thoughts."""
        return _completion(ids, self.ends, self._tokenizer.decode)

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text, without special tokens."""
        return len(self._ids(text))

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def save_chat(chat: Chat, folder: Path) -> None:
    """Writes the tokenizer, the end tokens and what the chat template writes around a system and a user message."""
    chat.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    talk = [{"role": "system", "content": f"{_PROBE} 1"}, {"role": "user", "content": f"{_PROBE} 2"}]
    before, _, rest = _written(chat.tokenizer, talk, add_generation_prompt=True).partition(f"{_PROBE} 1")
    between, _, after = rest.partition(f"{_PROBE} 2")
    stored = {"ends": chat.ends, "frame": [before, between, after]}
    (folder / "chat.json").write_text(json.dumps(stored), encoding="utf-8")


def _completion(ids: Sequence[int], ends: Sequence[int], decode: Any) -> Completion:
    length = first_end(ids, ends)
    finished = length < len(ids)
    return completion_of(decode(ids[:length], skip_special_tokens=True), length + finished, finished=finished)


def prepare_template(tokenizer: Any, name: str) -> None:
    """Adapts a chat template so that it accepts plain texts and a system message.

    If the template has no system role, the system text is put at the beginning of the first user turn. The token that
    ends a turn becomes a special token, and also the padding token if there is neither one nor an ``eos_token``. The
    tokenizer is changed in place, and the changed template is saved with it.

    Raises:
        ConfigError: the tokenizer has no chat template, the template cannot render a conversation, or no token ends a
            turn.
    """
    if not tokenizer.chat_template:
        raise ConfigError(
            f"The tokenizer of {name!r} has no chat template, which is needed to write prompts. Use the"
            f" instruction-tuned model of the same family, or add a chat_template.jinja to the folder of its tokenizer."
        )
    try:
        if fault := _fault(tokenizer, "user"):
            raise ValueError(fault)
        if _fault(tokenizer, "system"):
            tokenizer.chat_template = _FOLDED + tokenizer.get_chat_template()
    except ValueError as error:
        raise ConfigError(
            f"The chat template of {name!r} cannot be used ({error}); fix its chat_template.jinja, or use another one."
        ) from error
    end = _turn_end(tokenizer)
    if end is not None and end not in tokenizer.all_special_ids:
        tokenizer.add_tokens([tokenizer.convert_ids_to_tokens(end)], special_tokens=True)
    ends = end_tokens(tokenizer)
    if not ends:
        raise ConfigError(
            f"The tokenizer of {name!r} has no eos_token, and its chat template writes no token at the end of a turn,"
            " so completions would never end; set eos_token in its tokenizer_config.json."
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(ends[0])


def folded(conversation: Conversation) -> Conversation:
    """Moves the system message to the beginning of the first user turn."""
    first, second, *rest = conversation
    return [{"role": "user", "content": f"{first['content']}\n\n{second['content']}"}, *rest]


def end_tokens(tokenizer: Any, generation_config: Any = None) -> list[int]:
    """Ids of all tokens that end a completion, from the chat template, the tokenizer and the generation config.

    Args:
        tokenizer: tokenizer with a chat template.
        generation_config: generation config of the model.
    """
    configured = getattr(generation_config, "eos_token_id", None)
    several = configured if isinstance(configured, (list, tuple)) else [configured]
    found = (_turn_end(tokenizer), tokenizer.eos_token_id, *several)
    return list(dict.fromkeys(int(token) for token in found if token is not None))


def first_end(ids: Sequence[int], ends: Sequence[int]) -> int:
    """Position of the first end token of a completion; the length of the completion if it has none."""
    return next((n for n, token in enumerate(ids) if token in ends), len(ids))


def missing_end(tokenizer: Any) -> str:
    """The text to append to a training target: ``eos_token`` if the template does not end turns, else ""."""
    return str(tokenizer.eos_token or "") if _turn_end(tokenizer) is None else ""


def _turn_end(tokenizer: Any) -> int | None:
    """The first added token after the text of an assistant turn; ``None`` if there is none.

    White space is skipped, because it is an added token of some tokenizers (Gemma, GPT-NeoX) but also occurs in texts.
    """
    talk = [{"role": "user", "content": "?"}, {"role": "assistant", "content": _PROBE}]
    try:
        behind = _written(tokenizer, talk).rpartition(_PROBE)[2]
    except ValueError:  # the template only writes prompts, which end with the user's turn
        return None
    added = tokenizer.added_tokens_decoder
    ids = tokenizer(behind, add_special_tokens=False)["input_ids"]
    return next((token for token in ids if token in added and added[token].content.strip(_WHITE_SPACE)), None)


def _fault(tokenizer: Any, role: str) -> str:
    """Why the template does not write the messages of a role; empty if it does."""
    talk = [{"role": role, "content": _PROBE}]
    if role != "user":
        talk.append({"role": "user", "content": "?"})
    try:
        written = _written(tokenizer, talk, add_generation_prompt=True)
    except ValueError as error:
        return str(error)
    return "" if _PROBE in written else f"it does not write the {role}'s message"


def _written(tokenizer: Any, talk: Conversation, *, add_generation_prompt: bool = False) -> str:
    """The text that the template writes.

    Raises:
        ValueError: the template fails, or there are several templates, and none is the default.
    """
    from jinja2 import TemplateError

    try:
        return str(tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=add_generation_prompt))
    except (TemplateError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def without_thoughts(text: str) -> str:
    """The text after the thoughts at its start, ``<think>...</think>``; empty if their block is not closed.

    A text that closes a block that it did not open starts inside it, because some chat templates open the block.
    """
    thoughts, closed, reply = text.partition(_CLOSE)
    begins = thoughts.lstrip().startswith(_OPEN)
    if closed and (begins or _OPEN not in thoughts):
        return reply.lstrip()
    return "" if begins else text


def completion_of(text: str, tokens: int, *, finished: bool) -> Completion:
    """A completion without its thoughts; a token limit that left no answer is its problem."""
    said = without_thoughts(text)
    problem = None if said or finished else "the token limit left no answer; raise max_new_tokens"
    return Completion(said, tokens, finished, problem)


def failed(why: str) -> Completion:
    """The completion of a call that returned no text; passwords and keys in the message are masked."""
    return Completion("", 0, finished=False, problem=one_line(masked(why))[:300])

"""Guided decoding: completions that match a regular expression or a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence, Set
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from acqo_rl.text import AROUND, word_key
from acqo_rl.types import Schema

if TYPE_CHECKING:
    import torch

_DECODERS = ("ByteLevel", "ByteFallback")
_ON_ONE_LINE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class GuidedDecoding:
    """Forbids every token after which a completion could no longer match.

    A completion that reaches the token limit is the beginning of a match.

    Attributes:
        tokenizer: tokenizer of the model; see :meth:`supports`.
        ends: ids of the tokens that end a completion; they are forbidden until the completion matches.
        form: a regular expression; or a JSON schema, for JSON on one line with the fields in the order of the schema.
        vocabulary: number of logits of the model; may be larger than the number of tokens.
    """

    def __init__(self, tokenizer: Any, ends: Sequence[int], form: str | Schema, vocabulary: int) -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        self.form = form
        self.vocabulary = vocabulary

    def __call__(self, written: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the ids of the tokens that are forbidden as the next token.

        Args:
            written: token ids of the completion so far, a beginning of a match.
        """
        self._matcher.reset()
        self._matcher.consume_tokens(list(written))
        return np.flatnonzero(np.frombuffer(self._matcher.compute_logit_bias(), dtype=np.uint8) == 0)

    @staticmethod
    def supports(tokenizer: Any) -> bool:
        """Whether the texts of single tokens are known: those of byte-level BPE, and of SentencePiece with bytes."""
        return tokenizer.is_fast and any(kind in str(tokenizer.backend_tokenizer.decoder) for kind in _DECODERS)

    @cached_property
    def _matcher(self) -> Any:
        from llguidance import LLMatcher

        tokens = _tokens(self.tokenizer, tuple(self.ends), self.vocabulary)
        if isinstance(self.form, str):
            return LLMatcher(tokens, LLMatcher.grammar_from_regex(self.form))
        form = {**self.form, "x-guidance": _ON_ONE_LINE}
        return LLMatcher(tokens, LLMatcher.grammar_from_json_schema(form))


class KnownWords:
    """Keeps sampled completions to the words that a policy may write; the first line, the route, is free.

    The likeliest tokens are tried first. If any of them is allowed, all others are forbidden, so a step costs little.

    Attributes:
        tokenizer: tokenizer of the model; see :meth:`GuidedDecoding.supports`.
        ends: ids of the tokens that end a completion.
        known: text of a prompt -> keys of the words that may be written (:func:`acqo_rl.text.word_key`).
    """

    TRIED = 64
    PUNCTUATION = 3
    """Most characters of punctuation around a word, so that a model cannot write punctuation for ever."""

    def __init__(self, tokenizer: Any, ends: Sequence[int], known: Callable[[str], Set[str]]) -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        self.known = known
        self._of_prompt = lru_cache(maxsize=256)(self._words)

    def restrict(self, scores: torch.Tensor, prompt: Sequence[int], written: Sequence[int]) -> None:
        """Forbids the tokens that would write another word, unless none is left.

        Args:
            scores: float[vocabulary], the logits of the next token; those of forbidden tokens become minus infinity.
            prompt: token ids of the prompt.
            written: token ids of the completion so far.
        """
        text = self.tokenizer.decode(written)
        if "\n" not in text:
            return
        known, beginnings = self._of_prompt(tuple(prompt))
        begun = self._last_words(text.rpartition("\n")[2], known, beginnings)
        for tried in (self.TRIED, len(scores)):
            values, tokens = scores.topk(min(tried, len(scores)))
            possible = tokens[values.isfinite()].tolist()
            if allowed := [token for token in possible if self._allows(begun, token, known, beginnings)]:
                kept = scores[allowed]
                scores.fill_(-np.inf)
                scores[allowed] = kept
                return

    def _words(self, prompt: tuple[int, ...]) -> tuple[Set[str], Set[str]]:
        """The known words of a prompt, and their beginnings."""
        known = self.known(self.tokenizer.decode(prompt, skip_special_tokens=True))
        beginnings = {word[:end] for word in known for end in range(len(word) + 1)}
        # A token may end within the bytes of a character, which are decoded as U+FFFD.
        parts = {word[:i] + "\ufffd" for word in known for i, letter in enumerate(word) if not letter.isascii()}
        return known, beginnings | parts

    def _allows(self, begun: Sequence[str], token: int, known: Set[str], beginnings: Set[str]) -> bool:
        """Whether a token may follow one of the words that the line may end with."""
        written = "\n" if token in self.ends else self.tokenizer.decode([token])
        for word in begun:
            *lines, last = [self._last_words(line, known, beginnings) for line in (word + written).split("\n")]
            if last and all(any(not end or word_key(end) in known for end in ends) for ends in lines):
                return True
        return False

    def _last_words(self, line: str, known: Set[str], beginnings: Set[str]) -> list[str]:
        """The last words, known or begun, that a line may end with; none if it has another word.

        There may be several, because a known word may contain spaces, and a line may end with one.
        """
        starts = [0]
        for i, character in enumerate(line):
            if character == " " and any(start == i or word_key(line[start:i]) in known for start in starts):
                starts.append(i + 1)
        return [last for start in starts if self._is_begun(last := line[start:], known, beginnings)]

    def _is_begun(self, word: str, known: Set[str], beginnings: Set[str]) -> bool:
        is_word = word_key(word) in known or word.lstrip(AROUND).casefold() in beginnings
        return is_word and len(word) - len(word.strip(AROUND)) <= self.PUNCTUATION


@lru_cache(maxsize=8)
def _tokens(tokenizer: Any, ends: tuple[int, ...], vocabulary: int) -> Any:
    """The tokenizer as llguidance needs it."""
    from llguidance import LLTokenizer

    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    backend |= {"truncation": None, "padding": None}
    decoders = (backend["decoder"] or {}).get("decoders", [])
    if byte_level := [decoder for decoder in decoders if decoder["type"] == "ByteLevel"]:
        # Tokenizers that transformers reads from GGUF files have decoders of two kinds of vocabularies.
        backend["decoder"] = byte_level[0]
    return LLTokenizer(json.dumps(backend), n_vocab=vocabulary, eos_token=list(ends))

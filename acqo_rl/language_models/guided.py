"""Guided decoding: completions that match a regular expression or a JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from acqo_rl.text import AROUND, word_key, words_of
from acqo_rl.types import Schema

if TYPE_CHECKING:
    import torch

_DECODERS = ("ByteLevel", "ByteFallback")
_PUNCTUATION = 3
"""Most signs before and after a word, so that a model cannot write punctuation for ever."""
_ON_ONE_LINE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


@dataclass(eq=False)
class GuidedDecoding:
    """Forbids every token after which a completion could no longer match.

    A completion that reaches the token limit is the beginning of a match.

    Attributes:
        tokenizer: tokenizer of the model; see :meth:`supports`.
        ends: ids of the tokens that end a completion; they are forbidden until the completion matches.
        form: a regular expression; or a JSON schema, for JSON on one line with the fields in the order of the schema.
        vocabulary: number of logits of the model; may be larger than the number of tokens.
    """

    tokenizer: Any
    ends: Sequence[int]
    form: str | Schema
    vocabulary: int

    def __call__(self, written: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the ids of the tokens that are forbidden as the next token.

        Args:
            written: token ids of the completion so far; none is forbidden after one that is no beginning of a match.
        """
        self._matcher.reset()
        if not self._matcher.consume_tokens(list(written)):
            del self._matcher  # it would keep the error
            return np.empty(0, np.int64)
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

    Attributes:
        tokenizer: tokenizer of the model; see :meth:`GuidedDecoding.supports`.
        ends: ids of the tokens that end a completion.
        known: text of a prompt -> keys of the words that may be written (:func:`acqo_rl.text.word_key`).
    """

    def __init__(self, tokenizer: Any, ends: Sequence[int], known: Callable[[str], Set[str]]) -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        self.known = known
        self._of_prompt = lru_cache(maxsize=64)(self._guide)  # about 4 MB each

    def restrict(self, scores: torch.Tensor, prompt: Sequence[int], written: Sequence[int]) -> None:
        """Forbids the tokens that would write another word, unless none is left.

        Args:
            scores: float[vocabulary], the logits of the next token; those of forbidden tokens become minus infinity.
            prompt: token ids of the prompt.
            written: token ids of the completion so far.
        """
        guide = self._of_prompt(tuple(prompt), len(scores))
        kept = scores.clone()
        kept[guide(written)] = -np.inf
        if kept.isfinite().any():
            scores.copy_(kept)

    def _guide(self, prompt: tuple[int, ...], vocabulary: int) -> GuidedDecoding:
        text = self.tokenizer.decode(prompt, skip_special_tokens=True)
        known = self.known(text)
        as_read = {word.strip(AROUND) for word in words_of(text) if word_key(word) in known}  # "Stra\u00dfe"
        around = f"[{re.escape(AROUND)}]{{0,{_PUNCTUATION}}}"
        word = f"{around}(?i:{'|'.join(map(re.escape, sorted(known | as_read)))}){around}"
        return GuidedDecoding(self.tokenizer, self.ends, rf"[^\n]*(\n{word}( {word})*)*", vocabulary)


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

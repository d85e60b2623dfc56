"""Guided decoding: completions that match a regular expression or a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from acqo_rl.types import Schema

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
        return LLMatcher(tokens, LLMatcher.grammar_from_json_schema({**self.form, "x-guidance": _ON_ONE_LINE}))


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

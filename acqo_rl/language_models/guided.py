"""Guided decoding: completions that match a regular expression."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

_DECODERS = ("ByteLevel", "ByteFallback")


class GuidedDecoding:
    """Forbids every token after which a completion could no longer match a regular expression.

    A completion that reaches the token limit is the beginning of a match.

    Attributes:
        tokenizer: tokenizer of the model; see :meth:`supports`.
        ends: ids of the tokens that end a completion; they are forbidden until the completion matches.
        regex: regular expression.
        vocabulary: number of logits of the model; may be larger than the number of tokens.
    """

    def __init__(self, tokenizer: Any, ends: Sequence[int], regex: str, vocabulary: int) -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        self.regex = regex
        self.vocabulary = vocabulary

    def __call__(self, prompt: Sequence[int], written: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the ids of the tokens that are forbidden as the next token.

        Args:
            prompt: token ids of the prompt; not used.
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
        from llguidance import LLMatcher, LLTokenizer

        backend = json.loads(self.tokenizer.backend_tokenizer.to_str())
        backend |= {"truncation": None, "padding": None}
        decoders = (backend["decoder"] or {}).get("decoders", [])
        if byte_level := [decoder for decoder in decoders if decoder["type"] == "ByteLevel"]:
            # Tokenizers that transformers reads from GGUF files have decoders of two kinds of vocabularies.
            backend["decoder"] = byte_level[0]
        tokenizer = LLTokenizer(json.dumps(backend), n_vocab=self.vocabulary, eos_token=list(self.ends))
        return LLMatcher(tokenizer, LLMatcher.grammar_from_regex(self.regex))

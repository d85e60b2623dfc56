"""The language of a query, detected by py3langid, which needs no network."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

_SURE = 0.5
"""Of 3,200 English questions, two were taken for another language with this probability."""


def in_another_language(text: str, languages: Collection[str]) -> bool:
    """Whether a text is surely in none of some languages.

    Args:
        text: a query.
        languages: codes of ISO 639-1, such as ``en``.
    """
    language, probability = detector().classify(text)
    return language not in languages and bool(probability >= _SURE)


@cache
def detector() -> Any:
    """The detector, which takes about 0.3 s to load."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

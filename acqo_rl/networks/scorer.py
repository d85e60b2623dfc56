"""Small networks that choose one of several options by its features."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat, TypeAdapter

from acqo_rl.errors import ConfigError
from acqo_rl.files import read_json, sha256_of
from acqo_rl.language_models.embedded import resolve
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.features import FeatureTable
from acqo_rl.reformulation.languages import Languages
from acqo_rl.types import Document

SETTINGS, WEIGHTS = "acqo_scorer.json", "scorer.safetensors"
CLIP = 5.0
"""Limit of a standardised feature."""
_LANGUAGES = TypeAdapter(Languages)
_SHARE = TypeAdapter(FiniteFloat | None)
_HARM = TypeAdapter(tuple[tuple[FiniteFloat, FiniteFloat], ...])
_SHOWN = 5
"""Maximum number of features that an error names."""


@dataclass(frozen=True)
class Scorer:
    """Several networks of two hidden layers each; the score of an option is the mean of their scores.

    Attributes:
        features: names of the features that the networks read, in their order. They are saved with the weights.
        mean: of each feature in training, float32[features].
        scale: standard deviation of each feature in training, float32[features].
        layers: weights and biases, float32[networks, in, out] and float32[networks, 1, out].
        margin: added to the score of the first option, which another option must exceed. Useless searches cost more
            than they seem to in training, where the best of many options is partly chance. In the order of documents,
            by how much a document must exceed one before it.
        languages: codes (ISO 639-1) of the languages of the questions of its training; other queries pass it. ``None``,
            or no such entry in the file, stands for any language.
        columns: place of each feature in the table; empty if they are those of the table in its order.
        harm: margins, and the share of queries that become worse than with the first option; with each margin, the
            share is at most this one with 95 % confidence.
        clipped: share of the features of its training that are clipped; ``None`` if it is not known.
        read: number of features that this process has read, and of those that were clipped, because they are outside
            the range of the training. Threads that read at once may lose a few.
    """

    features: tuple[str, ...]
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    margin: float = 0.0
    languages: Languages = None
    columns: Sequence[int] = ()
    harm: Sequence[tuple[float, float]] = ()
    clipped: float | None = None
    read: Counter[str] = field(default_factory=Counter, compare=False)

    def within(self, max_harm: float) -> Scorer:
        """The scorer with the smallest margin with which at most this share of queries becomes worse.

        Raises:
            ConfigError: no margin is large enough, or the scorer was not calibrated.
        """
        margins = [margin for margin, share in self.harm if share <= max_harm]
        if not margins:
            reason = "this network was not calibrated"
            if self.harm:
                reason = f"the least that was measured is {min(share for _, share in self.harm):.3f}"
            raise ConfigError(f"max_harm {max_harm:g} cannot be promised: {reason}; see train-scorer --calibration.")
        return replace(self, margin=min(margins))

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of each option, float32[options], from the features of the table, float32[options, features]."""
        standardised = (features[:, self.columns or slice(None)] - self.mean) / self.scale
        self.read.update(features=standardised.size, clipped=int((np.abs(standardised) > CLIP).sum()))
        hidden = np.clip(standardised, -CLIP, CLIP)[None]
        for number, (weight, bias) in enumerate(self.layers):
            hidden = hidden @ weight + bias
            if number < len(self.layers) - 1:
                hidden = np.maximum(hidden, 0.0)
        scores = hidden[..., 0].mean(axis=0)
        scores[0] += self.margin
        return np.asarray(scores)

    def networks(self) -> list[Scorer]:
        """The networks, each as a scorer."""
        count = len(self.layers[0][0])
        return [replace(self, layers=tuple((w[i : i + 1], b[i : i + 1]) for w, b in self.layers)) for i in range(count)]

    def best(self, options: Sequence[NDArray[np.float32]]) -> list[int]:
        """The place of the best option of each query, in input order."""
        return [int(self.score(features).argmax()) for features in options]

    def save(self, folder: Path) -> None:
        """Writes weights, names of the features and settings."""
        from safetensors.numpy import save

        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"mean": self.mean, "scale": self.scale}
        for number, (weight, bias) in enumerate(self.layers):
            tensors |= {f"weight.{number}": weight, f"bias.{number}": bias}
        # safetensors writes the memory of an array, whose order is another one if the array is transposed
        contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
        (folder / WEIGHTS).write_bytes(save(contiguous, {"features": json.dumps(self.features)}))
        settings = {
            "layers": len(self.layers),
            "margin": self.margin,
            "languages": self.languages,
            "harm": self.harm,
            "clipped": self.clipped,
            "checksum": sha256_of(folder / WEIGHTS),
        }
        (folder / SETTINGS).write_text(json.dumps(settings, indent=2), encoding="utf-8")

    @classmethod
    def load(cls, path: str, table: FeatureTable) -> Scorer:
        """Loads a scorer from a folder, or an embedded one such as ``trained:hop``.

        Args:
            path: the folder.
            table: the features that the scorer must read.

        Raises:
            ConfigError: there is no scorer, or it is damaged or reads other features.
        """
        from safetensors import SafetensorError, safe_open
        from safetensors.numpy import load_file

        folder = Path(resolve(path))
        try:
            settings = read_json(folder / SETTINGS)
            layers, margin = settings["layers"], float(settings["margin"])
            languages = _LANGUAGES.validate_python(settings.get("languages")) or None
            harm = _HARM.validate_python(settings.get("harm", ()))
            clipped = _SHARE.validate_python(settings.get("clipped"))
            if sha256_of(folder / WEIGHTS) != settings["checksum"]:
                raise ValueError(f"{WEIGHTS} is not the one that was saved with {SETTINGS}")
            with safe_open(folder / WEIGHTS, "numpy") as file:
                names = tuple(json.loads((file.metadata() or {}).get("features", "[]")))
            tensors = load_file(folder / WEIGHTS)
            pairs = tuple((tensors[f"weight.{i}"], tensors[f"bias.{i}"]) for i in range(layers))
            scorer = cls(names, tensors["mean"], tensors["scale"], pairs, margin, languages, harm=harm, clipped=clipped)
            width = len(names or scorer.mean)
            shapes: list[tuple[int, ...]] = [(width,), (width,)]
            for weight, _ in pairs:
                shapes += [(len(pairs[0][0]), width, weight.shape[-1]), (len(pairs[0][0]), 1, weight.shape[-1])]
                width = weight.shape[-1]
            given = [scorer.mean, scorer.scale, *(tensor for pair in pairs for tensor in pair)]
            if [tensor.shape for tensor in given] != shapes or width != 1 or len(tensors) != len(given):
                raise ValueError("the shapes of its tensors do not fit together")
            if {tensor.dtype.name for tensor in given} != {"float32"} or scorer.scale.min() <= 0:
                raise ValueError("its numbers are not float32, or those of the scale are not positive")
            with np.errstate(all="ignore"):
                extremes = np.concatenate([scorer.mean + sign * CLIP * scorer.scale for sign in (-1, 0, 1)])
                if not np.isfinite(scorer.score(extremes.reshape(3, -1))).all():
                    raise ValueError("its scores are not finite")
        except (OSError, ValueError, LookupError, TypeError, SafetensorError) as error:
            raise ConfigError(f"{path} is not a scorer ({error!r}); train one with acqo train-scorer.") from error
        known = table.names
        if set(names) != set(known):
            lacks = [name for name in known if name not in names]
            adds = [name for name in names if name not in known]
            raise ConfigError(
                f"{path} was trained with other features than those of this version: {_some('it lacks', lacks)}"
                f"{_some('it also has', adds)}train it again with acqo train-scorer, or give another network."
            )
        return replace(scorer, columns=[known.index(name) for name in names], read=Counter())


class NetworkStep:
    """A step of the search path that reads results and asks a network."""

    def __init__(self, scorer: Scorer | None, corpus: Mapping[str, Document], words: CorpusWords) -> None:
        """Creates a step.

        Args:
            scorer: scores the options; ``None`` to read options only.
            corpus: document id -> document.
            words: titles and word weights of the corpus.
        """
        self.languages = scorer.languages if scorer else None
        self._given = scorer
        self._corpus = corpus
        self._words = words

    @property
    def _scorer(self) -> Scorer:
        if self._given is None:
            raise ValueError("This step has no scorer; it only reads options.")
        return self._given


def _some(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{what} {', '.join(names[:_SHOWN])}{more}; " if names else ""

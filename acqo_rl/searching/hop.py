"""A hop: one more search for a name in the results, chosen by a small trained network, or none.

The network scores the option to stop and each candidate (:mod:`acqo_rl.searching.hop_candidates`). A chosen name is
searched alone and after the question, and the two rankings are fused with all earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.embedded import resolve
from acqo_rl.roles import Hop, RemoteCorpus
from acqo_rl.searching.hop_candidates import FEATURES, CandidateReader, CorpusWords, question_of
from acqo_rl.text import distinct
from acqo_rl.types import Document, Ranking, Reformulation, SubQuery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SETTINGS, WEIGHTS = "acqo_hop.json", "hop.safetensors"
MOST_HOPS = 3
CLIP = 5.0
"""Limit of a standardised feature."""
VERSION = 1
"""Version of the features; weights of another version are refused."""


@dataclass(frozen=True)
class HopScorer:
    """Several networks of two hidden layers each; the score of an option is the mean of their scores.

    Attributes:
        mean: of each feature in training, float32[features].
        scale: standard deviation of each feature in training, float32[features].
        layers: weights and biases, float32[networks, in, out] and float32[networks, 1, out].
        margin: added to the score of stopping. A name must exceed it, because useless searches cost more than they
            seem to in training, where the best of many names is partly chance.
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    margin: float = 0.0

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of each option, float32[options]."""
        import numpy as np

        hidden = np.clip((features - self.mean) / self.scale, -CLIP, CLIP)[None]
        for number, (weight, bias) in enumerate(self.layers):
            hidden = hidden @ weight + bias
            if number < len(self.layers) - 1:
                hidden = np.maximum(hidden, 0.0)
        scores = hidden[..., 0].mean(axis=0)
        scores[0] += self.margin
        return np.asarray(scores)

    def network(self, number: int) -> HopScorer:
        """The scorer that consists of one of the networks."""
        return replace(self, layers=tuple((w[number : number + 1], b[number : number + 1]) for w, b in self.layers))

    def save(self, folder: Path) -> None:
        """Writes weights and settings."""
        from safetensors.numpy import save

        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"mean": self.mean, "scale": self.scale}
        for number, (weight, bias) in enumerate(self.layers):
            tensors |= {f"weight.{number}": weight, f"bias.{number}": bias}
        (folder / WEIGHTS).write_bytes(save(tensors))
        settings = {"version": VERSION, "layers": len(self.layers), "margin": self.margin}
        (folder / SETTINGS).write_text(json.dumps(settings, indent=2), encoding="utf-8")

    @classmethod
    def load(cls, path: str) -> HopScorer:
        """Loads a scorer from a folder, or ``trained:hop``.

        Raises:
            ConfigError: there is no scorer, or it is damaged or of another version.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        folder = Path(resolve(path))
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            version, layers, margin = settings["version"], settings["layers"], float(settings["margin"])
            tensors = load_file(folder / WEIGHTS)
            pairs = tuple((tensors[f"weight.{i}"], tensors[f"bias.{i}"]) for i in range(layers))
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise ConfigError(f"{path} is not a scorer of hops ({error!r}); train one with acqo train-hop.") from error
        if version != VERSION or len(tensors["mean"]) != FEATURES:
            raise ConfigError(f"{path} has version {version}, this program reads version {VERSION}; train it again.")
        return cls(tensors["mean"], tensors["scale"], pairs, margin)


@dataclass(frozen=True, slots=True)
class Hops:
    """The step between fusion and reranking.

    Attributes:
        hop: chooses a name in the results, or none.
        most: maximum number of hops, 1 to 3. Each reads the results of all searches before it.

    Raises:
        ConfigError: ``most`` is out of range.
    """

    hop: Hop
    most: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.most <= MOST_HOPS:
            raise ConfigError(f"hops is {self.most}; it must be between 1 and {MOST_HOPS}.")


class LearnedHop(Hop):
    """Chooses the next search by a trained scorer."""

    name = "learned"

    def __init__(self, scorer: HopScorer, corpus: Mapping[str, Document], words: CorpusWords) -> None:
        """Creates a hop.

        Args:
            scorer: scores the options.
            corpus: document id -> document.
            words: titles and word weights of the corpus.
        """
        self._scorer = scorer
        self._reader = CandidateReader(corpus, words)

    def choose(self, searched: Sequence[Reformulation], fused: Sequence[Ranking]) -> list[str | None]:
        """Returns the name to search next for each query, or ``None`` to stop; in input order.

        Args:
            searched: the searches so far, including those of earlier hops.
            fused: the fused results of these searches.
        """
        chosen: list[str | None] = []
        for options in self._reader.read(searched, fused):
            best = int(self._scorer.score(options.features).argmax())
            chosen.append(options.names[best - 1] if best else None)
        return chosen


def with_name(made: Reformulation, name: str) -> Reformulation:
    """Adds the searches of a name: the name, and the question followed by the name; the reasoning says so."""
    more = (SubQuery(name, "part"), SubQuery(f"{question_of(made)} {name}", "expansion"))
    reason = f"The results name {name}, which is searched too."
    reasoning = f"{made.reasoning} {reason}".strip()
    return replace(made, sub_queries=distinct((*made.sub_queries, *more)), reasoning=reasoning)


@dataclass(kw_only=True)
class HopSettings:
    """Settings of the hops, shared by all commands that search."""

    hops: int = field(
        default=0,
        metadata={
            "help": f"Maximum number of further searches, 0 to {MOST_HOPS}: a small trained network reads the results "
            "and searches a name in them, or stops."
        },
    )
    hop: str = field(default="trained:hop", metadata={"help": "Folder of the network that chooses the names."})

    def open_hops(self, corpus: Mapping[str, Document]) -> Hops | None:
        """Loads the network and reads the titles of a local corpus; ``None`` without hops.

        Raises:
            ConfigError: the number is out of range, or the folder contains no such network.
        """
        if not self.hops:
            return None
        words = CorpusWords() if isinstance(corpus, RemoteCorpus) else CorpusWords.of(corpus)
        return Hops(LearnedHop(HopScorer.load(self.hop), corpus, words), self.hops)

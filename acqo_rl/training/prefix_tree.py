"""Log-probabilities of many completions in one pass over the tree of their prefixes.

Rows of a batch begin alike: all share the instructions, the rollouts of a group their prompt. A pass over padded rows
reads these beginnings once a row, and padding besides; a pass over the tree reads each distinct prefix once. A token
sees its ancestors alone and stands at its depth, so that values and gradients are those of separate rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from acqo_rl.language_models.decoding import common_length

_NODES = {"cpu": 512, "cuda": 2048}
"""Tokens of a forward pass: attention is quadratic in it; 512 was the fastest on two CPU cores, a GPU wants more."""


@dataclass(frozen=True)
class PrefixTree:
    """The distinct prefixes of some rows, parents before children.

    Attributes:
        tokens: the last token of each prefix, [nodes].
        depths: its position, [nodes].
        parents: the node before it, -1 at the root, [nodes].
        paths: the nodes of each row, [rows][tokens].
    """

    tokens: list[int]
    depths: list[int]
    parents: list[int]
    paths: list[list[int]]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> PrefixTree:
        """The tree of some rows of token ids."""
        children: dict[tuple[int, int], int] = {}
        tree = cls([], [], [], [])
        for row in rows:
            path: list[int] = []
            node = -1
            for depth, token in enumerate(row):
                parent, node = node, children.setdefault((node, token), len(tree.tokens))
                if node == len(tree.tokens):
                    tree.tokens.append(token)
                    tree.depths.append(depth)
                    tree.parents.append(parent)
                path.append(node)
            tree.paths.append(path)
        return tree

    def visible(self) -> torch.Tensor:
        """bool[nodes, nodes]: which nodes each node attends to, its ancestors and itself."""
        mask = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                mask[node, :node] = mask[parent, :node]
        return mask


def log_probs(
    model: Any, rows: Sequence[Sequence[int]], starts: Sequence[int], temperature: float = 1.0
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Log-probability (with a graph) and entropy (without) of each row's tokens from ``starts`` on.

    Args:
        model: a causal language model whose attention takes any mask and has no sliding window.
        rows: token ids.
        starts: where the tokens asked about begin, at least 1.
        temperature: divides the logits.

    Returns:
        Two lists of float[tokens asked about], one of each a row.
    """
    values: dict[int, torch.Tensor] = {}
    entropies: dict[int, torch.Tensor] = {}
    for part in _passes(rows, _NODES.get(next(model.parameters()).device.type, _NODES["cpu"])):
        tree = PrefixTree.of([rows[i] for i in part])
        before = [path[starts[i] - 1 : -1] for i, path in zip(part, tree.paths, strict=True)]
        asked = sorted({node for path in before for node in path})
        logits = _logits(model, tree, asked)[0].float() / temperature
        logs = logits.log_softmax(dim=-1)
        with torch.no_grad():
            entropy = -(logs.exp() * logs).sum(dim=-1)
        place = {node: number for number, node in enumerate(asked)}
        for i, path in zip(part, before, strict=True):
            at = torch.tensor([place[node] for node in path], dtype=torch.long, device=logs.device)
            values[i] = logs[at, torch.tensor(rows[i][starts[i] :], dtype=torch.long, device=logs.device)]
            entropies[i] = entropy[at]
    return [values[i] for i in range(len(rows))], [entropies[i] for i in range(len(rows))]


def completion_log_probs(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, completion_length: int, temperature: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for padded rows.

    Args:
        model: see :func:`log_probs`.
        input_ids: int[rows, prompt + completion]; prompts padded on the left, completions on the right.
        attention_mask: int[rows, prompt + completion]; 0 at padding.
        completion_length: number of columns that are completion.
        temperature: divides the logits.

    Returns:
        Two float[rows, completion]; 0 at padding.
    """
    inside = attention_mask.bool()
    rows = [ids[kept].tolist() for ids, kept in zip(input_ids, inside, strict=True)]
    lengths = inside[:, -completion_length:].sum(dim=1).tolist()
    starts = [len(row) - length for row, length in zip(rows, lengths, strict=True)]
    padded = []
    for some in log_probs(model, rows, starts, temperature):
        filled = torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
        padded.append(torch.nn.functional.pad(filled, (0, completion_length - filled.shape[1])))
    return padded[0], padded[1]


def _passes(rows: Sequence[Sequence[int]], most: int) -> Iterator[list[int]]:
    """Splits rows into forward passes of about ``most`` nodes; rows that share most of their tokens stay together."""
    part: list[int] = []
    nodes = 0
    last: Sequence[int] = ()
    for i in sorted(range(len(rows)), key=lambda i: list(rows[i])):
        shared = common_length(last, rows[i])
        if nodes + len(rows[i]) - shared > most and 2 * shared < len(rows[i]):
            if part:
                yield part
            part, nodes, shared = [], 0, 0
        part.append(i)
        nodes += len(rows[i]) - shared
        last = rows[i]
    if part:
        yield part


def _logits(model: Any, tree: PrefixTree, asked: list[int]) -> torch.Tensor:
    """float[1, asked, vocabulary]: the logits after some nodes."""
    weight = next(model.parameters())
    device = weight.device
    hidden = torch.zeros(len(tree.tokens), len(tree.tokens), dtype=weight.dtype)
    hidden.masked_fill_(~tree.visible(), torch.finfo(weight.dtype).min)
    return model(
        input_ids=torch.tensor([tree.tokens], device=device),
        position_ids=torch.tensor([tree.depths], device=device),
        attention_mask=hidden[None, None].to(device),
        logits_to_keep=torch.tensor(asked, device=device),
        use_cache=False,
    ).logits

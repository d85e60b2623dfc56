"""Log-probabilities of many completions in one pass over the tree of their prefixes.

The rows of a batch have common prefixes: all rows share the instructions, and the rollouts of a group share their
prompt. A pass over padded rows processes these prefixes once per row. A pass over the tree processes each distinct
prefix once, without padding. Each token attends only to its ancestors, and its position is its depth, so values and
gradients equal those of separate rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers.integrations import is_deepspeed_zero3_enabled

_NODES = {"cpu": 512, "cuda": 2048}
"""Tokens per forward pass. Attention is quadratic in this number; 512 was the fastest value on two CPU cores."""


@dataclass(frozen=True)
class PrefixTree:
    """The distinct prefixes of several rows; each prefix is a node. Parents come before their children.

    Attributes:
        tokens: the last token of each prefix, [nodes].
        depths: position of that token, [nodes].
        parents: index of the parent node, -1 at the root, [nodes].
        paths: the nodes of each row, [rows][tokens].
    """

    tokens: list[int]
    depths: list[int]
    parents: list[int]
    paths: list[list[int]]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> PrefixTree:
        """Builds the tree of rows of token ids."""
        children: dict[tuple[int, int], int] = {}
        tree = cls([], [], [], [])
        for row in rows:
            path: list[int] = []
            node = -1
            for depth, token in enumerate(row):
                parent = node
                node = children.setdefault((node, token), len(tree.tokens))
                if node == len(tree.tokens):
                    tree.tokens.append(token)
                    tree.depths.append(depth)
                    tree.parents.append(parent)
                path.append(node)
            tree.paths.append(path)
        return tree

    def visible(self) -> torch.Tensor:
        """The attention mask, bool[nodes, nodes]: each node attends to its ancestors and to itself."""
        mask = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                mask[node, :node] = mask[parent, :node]
        return mask


def log_probs(
    model: Any, rows: Sequence[Sequence[int]], starts: Sequence[int], temperature: float = 1.0
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The log-probability (with gradient) and the entropy (without) of the last tokens of each row.

    The processes of a training make equally many forward passes, because wrappers of the model may communicate in each
    of them. All processes must call this.

    Args:
        model: a causal language model that accepts any attention mask and has no sliding window.
        rows: token ids.
        starts: for each row, the position of the first token to score, at least 1.
        temperature: divides the logits.

    Returns:
        Two lists with one float[scored tokens] per row.
    """
    values: dict[int, torch.Tensor] = {}
    entropies: dict[int, torch.Tensor] = {}
    passes = _passes(rows, _NODES.get(next(model.parameters()).device.type, _NODES["cpu"]))
    missing = max(gather_object([len(passes)])) - len(passes)
    for part in passes:
        tree = PrefixTree.of([rows[i] for i in part])
        before = [path[starts[i] - 1 : -1] for i, path in zip(part, tree.paths, strict=True)]
        needed = sorted({node for path in before for node in path})
        logits = _logits(model, tree, needed)[0].float() / temperature
        logs = logits.log_softmax(dim=-1)
        with torch.no_grad():
            entropy = -(logs.exp() * logs).sum(dim=-1)
        position = {node: number for number, node in enumerate(needed)}
        for i, path in zip(part, before, strict=True):
            at = torch.tensor([position[node] for node in path], dtype=torch.long, device=logs.device)
            values[i] = logs[at, torch.tensor(rows[i][starts[i] :], dtype=torch.long, device=logs.device)]
            entropies[i] = entropy[at]
    for _ in range(missing):
        no_logits = _logits(model, PrefixTree.of([rows[0][:1]]), [])
        values[0] = values[0] + no_logits.sum()  # 0, and so are its gradients
    return [values[i] for i in range(len(rows))], [entropies[i] for i in range(len(rows))]


def completion_log_probs(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, completion_length: int, temperature: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Like :func:`log_probs`, for padded rows.

    Args:
        model: see :func:`log_probs`.
        input_ids: int[rows, prompt + completion]; prompts are padded on the left, completions on the right.
        attention_mask: int[rows, prompt + completion]; 0 for padding.
        completion_length: number of columns of the completions.
        temperature: divides the logits.

    Returns:
        Log-probabilities and entropies, each float[rows, completion]; 0 for padding.
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


def is_sharded(trainer: Any) -> bool:
    """Whether each process has only a share of the weights, and calls of the model gather them: FSDP and ZeRO-3.

    Such trainings make the passes of their library. Prefix trees are untested with them.
    """
    return trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled()


def _passes(rows: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """Splits rows into forward passes of about ``most`` nodes; rows with mostly common tokens stay together."""
    parts: list[list[int]] = []
    nodes = 0
    last: Sequence[int] = []
    for i in sorted(range(len(rows)), key=lambda i: list(rows[i])):
        shared = _common_length(last, rows[i])
        if not parts or (nodes + len(rows[i]) - shared > most and 2 * shared < len(rows[i])):
            parts.append([])
            nodes = shared = 0
        parts[-1].append(i)
        nodes += len(rows[i]) - shared
        last = rows[i]
    return parts


def _logits(model: Any, tree: PrefixTree, nodes: list[int]) -> torch.Tensor:
    """The logits after the given nodes, float[1, nodes, vocabulary]."""
    weight = next(model.parameters())
    device = weight.device
    hidden = torch.zeros(len(tree.tokens), len(tree.tokens), dtype=weight.dtype)
    hidden.masked_fill_(~tree.visible(), torch.finfo(weight.dtype).min)
    return model(
        input_ids=torch.tensor([tree.tokens], device=device),
        position_ids=torch.tensor([tree.depths], device=device),
        attention_mask=hidden[None, None].to(device),
        logits_to_keep=torch.tensor(nodes, dtype=torch.long, device=device),
        use_cache=False,
    ).logits


def _common_length(first: Sequence[int], second: Sequence[int]) -> int:
    shortest = min(len(first), len(second))
    return next((n for n in range(shortest) if first[n] != second[n]), shortest)

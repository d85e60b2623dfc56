r"""Adapts a policy to an index by the reward of its own completions, and compares three losses on the same completions.

    python benchmarks/adapt.py --data BEIR_DIR --index INDEX --model trained:four_sets --output_dir outputs/adapted
    python benchmarks/adapt.py --data BEIR_DIR --index INDEX --model trained:four_sets --output_dir outputs/adapted \
        --limit 304 --losses expected imitate grpo --first_layer 16

For each training question, OpenVINO writes a greedy completion and samples of the starting policy. The list of the
question also has variants of them: with the words of the question, without them, and with the question as a second
search. The reward scores each completion as it would be served. Then each loss trains the adapter of the policy:

- *expected*: the expected reward, if the policy could only write the completions of the list. It is exact, so it has no
  noise of sampling. The probabilities are raised to --power first, so that unlikely completions count.
- *grpo*: the advantages against the mean of the samples, with a clipped ratio.
- *imitate*: the log-likelihood of the best completion, or of the greedy one if no other is clearly better.

The layers below --first_layer stay as they are, so their results are computed only once per question. In the layers
above, gradients flow through the completions only, which saves a third of the time. The command prints the nDCG@10 of
the greedy completions on dev, and the difference to the starting policy with its 95 % interval. The same command
continues an interrupted run.
"""

from __future__ import annotations

import copy
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from acqo_rl.cli import command
from acqo_rl.reformulation.grammar import ORIGINAL, TAGS
from acqo_rl.settings import setting
from acqo_rl.training.settings import PathSettings
from acqo_rl.types import Amount, Count, Positive, Query

if TYPE_CHECKING:
    import torch

    from acqo_rl.language_models.openvino import OpenVinoModel
    from acqo_rl.reformulation.policy import Policy, PolicySettings
    from acqo_rl.training.materials import Materials
    from acqo_rl.training.prefix_tree import PrefixTree
    from acqo_rl.training.rewards import Reward

TEMPERATURE, TOP_P = 0.8, 0.95
CLEARLY = 0.05
"""Reward by which a completion must beat the greedy one to be imitated."""
LEAST_SPREAD = 0.02
"""Questions whose listed rewards differ less teach nothing."""
CLIP = 0.8, 1.28
VARIED = 3
"""The commonest completions of a list that have variants."""
_QUESTIONS = 16


@dataclass
class AdaptConfig(PathSettings):
    """Settings of the comparison."""

    losses: list[Literal["expected", "grpo", "imitate"]] = setting("One or several; see above.", ["expected"])
    samples: Positive = setting("Samples per training question.", 4)
    epochs: Positive = setting("Passes over the lists.", 3)
    batch: Positive = setting("Questions per step.", 8)
    learning_rate: Amount = setting("Learning rate of the adapter.", 3e-4)
    power: Amount = setting("Power of the probabilities in the expected reward.", 0.5)
    kl: Amount = setting("Weight of the divergence from the starting policy.", 0.02)
    first_layer: Count = setting("Only the layers from this one are trained.", 0)


@dataclass(frozen=True)
class Listed:
    """The completions of a question.

    Attributes:
        query_id: id of the question.
        greedy: greedy completion.
        samples: sampled completions; equal ones are repeated.
        rewards: completion -> reward; also of the greedy completion, of ``pass`` and of the variants.
    """

    query_id: str
    greedy: str
    samples: list[str]
    rewards: dict[str, float]


def main(config: AdaptConfig) -> None:
    """Samples, trains with each loss, and prints one row per policy."""
    from acqo_rl.language_models.openvino import OpenVinoModel
    from acqo_rl.reformulation.policy import Policy, read_settings
    from acqo_rl.training.materials import open_materials
    from acqo_rl.training.run_folder import continue_rows
    from acqo_rl.training.settings import RewardSettings

    folder = Path(config.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    settings = read_settings(config.model)
    materials = open_materials(config, settings.feedback)
    reward = materials.reward("converge", RewardSettings(), settings)
    options = {"max_new_tokens": settings.max_new_tokens, "batch_size": 64, "regex": settings.grammar.ascii_regex}
    start = Policy.of(OpenVinoModel.from_pretrained(config.model, **options), settings, name="start")

    def rest(done: int) -> Iterator[list[Listed]]:
        for first in range(done, len(materials.train), _QUESTIONS):
            yield listed(materials.train[first : first + _QUESTIONS], start, reward, materials, config.samples, first)
            print(f"{first + _QUESTIONS} questions, {time.process_time():.0f} s of CPU time", flush=True)

    lists = continue_rows(Listed, folder / "lists.jsonl", len(materials.train), rest)
    describe(lists)
    before = measured(folder / "start.json", lambda: start, materials)
    print(f"start: nDCG@10 {before.mean():.4f} on {len(before)} dev questions", flush=True)
    train(config, lists, materials, settings, options, before)


def listed(
    queries: Sequence[Query], policy: Policy, reward: Reward, materials: Materials, samples: int, seed: int
) -> list[Listed]:
    """Samples completions and scores them as they would be served."""
    greedy = [made.completion if made.calls else "pass" for made in policy.reformulate(queries)]
    drawn = sample(policy, queries, samples, seed)
    texts = []
    for first, others in zip(greedy, drawn, strict=True):
        common = [text for text, _ in Counter([first, *others]).most_common(VARIED)]
        texts.append(dict.fromkeys([first, "pass", *others, *(text for one in common for text in variants(one))]))
    rows = [(query, text) for query, some in zip(queries, texts, strict=True) for text in some]
    served = []
    for query, text in rows:
        parsed = reward.grammar.parse_tolerantly(text, query)
        served.append(reward.grammar.render(parsed.route, parsed.sub_queries, query))
    values = iter(reward.of([query for query, _ in rows], served, materials.qrels))
    rewards = [{text: next(values) for text in some} for some in texts]
    return [Listed(q.id, *parts) for q, *parts in zip(queries, greedy, drawn, rewards, strict=True)]


def variants(completion: str) -> list[str]:
    """A completion with one search: with the words of the question, without them, and with the question as well."""
    tag, _, searched = completion.partition("\n")
    if tag != TAGS["disambiguate"] or not searched.strip(f"{ORIGINAL} ") or "\n" in searched:
        return []
    words = searched.removeprefix(f"{ORIGINAL} ")
    return [f"{tag}\n{ORIGINAL} {words}", f"{tag}\n{words}", f"{completion}\n{ORIGINAL}"]


def sample(policy: Policy, queries: Sequence[Query], samples: int, seed: int) -> list[list[str]]:
    """Samples with OpenVINO; each sample is a request of its own.

    With ``num_return_sequences``, OpenVINO GenAI 2026.4 constrains only the first sequence to the grammar.
    """
    model: Any = policy.model
    generation = model._config
    generation.do_sample, generation.temperature, generation.top_p = True, TEMPERATURE, TOP_P
    handles = []
    for i, query in enumerate(queries):
        prompt = model.chat.prompt_ids(policy.prompt.render(query))
        for j in range(samples):
            generation.rng_seed = (seed + i) * samples + j
            handles.append(model._add(prompt))
    while model._pipeline.has_non_finished_requests():
        model._pipeline.step()
    generation.do_sample = False
    texts = [model.chat.completion(list(handle.read_all()[0].generated_ids)).text for handle in handles]
    return [texts[i * samples : (i + 1) * samples] for i in range(len(queries))]


def describe(lists: Sequence[Listed]) -> None:
    """Prints the mean rewards."""
    greedy = np.mean([one.rewards[one.greedy] for one in lists])
    drawn = np.mean([np.mean([one.rewards[text] for text in one.samples]) for one in lists])
    best = np.mean([max(one.rewards[text] for text in one.samples) for one in lists])
    passed = np.mean([one.rewards["pass"] for one in lists])
    print(
        f"reward of {len(lists)} training questions: pass {passed:.3f}, greedy {greedy:.3f}, sampled {drawn:.3f}, "
        f"best of {len(lists[0].samples)} {best:.3f}",
        flush=True,
    )


def measured(file: Path, policy: Callable[[], Policy], materials: Materials) -> np.ndarray:
    """nDCG@10 of each dev question; read from the file if it exists."""
    from acqo_rl.evaluation.run import evaluate
    from acqo_rl.types import FeedbackSpec

    if not file.exists():
        # the queries already have their feedback
        path = replace(materials.path, reformulator=policy(), feedback=FeedbackSpec(0))
        evaluation = evaluate(path, materials.dev, materials.qrels, name=file.stem, measures=["nDCG@10"])
        file.write_text(json.dumps({r.reformulation.query.id: r.measures["nDCG@10"] for r in evaluation.results}))
    values = json.loads(file.read_text())
    return np.array([values[query.id] for query in materials.dev])


class Upper:
    """The log-probabilities of listed completions; the layers below the trained ones are computed once per question."""

    def __init__(self, model: Any, first_layer: int) -> None:
        self._head = model.get_base_model()
        self._core = self._head.model
        self._first = first_layer
        self._below: dict[str, Any] = {}
        for name, weights in model.named_parameters():
            layer = int(name.split(".layers.")[1].split(".")[0]) if ".layers." in name else -1
            weights.requires_grad_("lora_" in name and layer >= first_layer)
        self.trained = [weights for weights in model.parameters() if weights.requires_grad]

    def __call__(self, key: str, prompt: list[int], completions: Sequence[list[int]]) -> list[torch.Tensor]:
        """One float[tokens] per completion."""
        import torch
        from transformers import DynamicCache

        from acqo_rl.training.prefix_tree import PrefixTree

        tree = PrefixTree.of([prompt + completion for completion in completions])
        layers = self._core.layers
        known = len(prompt) - 1
        """The last token of the prompt writes the first one of the completions."""
        if key not in self._below:
            with torch.no_grad():
                embedded = self._core.embed_tokens(torch.tensor([tree.tokens]))
                self._below[key] = self._through(layers[: self._first], embedded, tree, 0).to(torch.bfloat16)
        hidden, cache = self._below[key].float(), DynamicCache()
        with torch.no_grad():
            beginning = PrefixTree.of([prompt[:known]])
            self._through(layers[self._first :], hidden[:, :known], beginning, 0, cache)
        hidden = self._through(layers[self._first :], hidden[:, known:], tree, known, cache)
        before = [path[known:-1] for path in tree.paths]
        needed = sorted({node for path in before for node in path})
        place = {node: number for number, node in enumerate(needed)}
        logs = self._head.lm_head(self._core.norm(hidden[:, [node - known for node in needed]]))[0].log_softmax(dim=-1)
        return [
            logs[[place[node] for node in path], completion]
            for path, completion in zip(before, completions, strict=True)
        ]

    def _through(
        self, layers: Any, hidden: torch.Tensor, tree: PrefixTree, first: int, cache: Any = None
    ) -> torch.Tensor:
        """Runs layers over the nodes of a tree from ``first``; what they attend to before is in the cache."""
        import torch

        visible = tree.visible()[first:]
        mask = torch.zeros(1, 1, *visible.shape).masked_fill_(~visible, torch.finfo(torch.float32).min)
        positions = torch.tensor([tree.depths[first:]])
        turned = self._core.rotary_emb(hidden, positions)
        for layer in layers:
            hidden = layer(
                hidden, attention_mask=mask, position_ids=positions, position_embeddings=turned, past_key_values=cache
            )
        return hidden


def train(
    config: AdaptConfig,
    lists: Sequence[Listed],
    materials: Materials,
    settings: PolicySettings,
    options: dict[str, Any],
    before: np.ndarray,
) -> None:
    """Trains with each loss from the same weights, and prints the nDCG@10 on dev."""
    import torch

    from acqo_rl.evaluation.significance import paired_bootstrap
    from acqo_rl.language_models.local import TransformersModel
    from acqo_rl.reformulation.policy import Policy, prompt_of
    from acqo_rl.training.model import load_trainable

    model, tokenizer = load_trainable(config.model, config.lora_rank, config.seed)
    model.float().eval()
    chat = TransformersModel(model, tokenizer).chat
    prompt = prompt_of(settings, chat.count_tokens)
    upper = Upper(model, config.first_layer)
    query_of = {query.id: query for query in materials.train}
    used = [one for one in lists if np.ptp([*one.rewards.values()]) >= LEAST_SPREAD]
    prompts = {one.query_id: chat.prompt_ids(prompt.render(query_of[one.query_id])) for one in used}
    texts = {one.query_id: tokenizer([*one.rewards], add_special_tokens=False)["input_ids"] for one in used}
    print(f"{len(used)} of {len(lists)} questions are trained on; the rewards of the others are equal", flush=True)
    if not used:
        return

    def log_probs(one: Listed) -> list[torch.Tensor]:
        return upper(one.query_id, prompts[one.query_id], [[*ids, chat.ends[0]] for ids in texts[one.query_id]])

    begun = [weights.detach().clone() for weights in upper.trained]
    with torch.no_grad():
        first = {one.query_id: log_probs(one) for one in used}
    print(f"{time.process_time():.0f} s of CPU time", flush=True)
    for loss in config.losses:
        out = Path(config.output_dir, loss)
        with torch.no_grad():
            for weights, old in zip(upper.trained, begun, strict=True):
                weights.copy_(old)

        def trained(loss: str = loss, out: Path = out) -> Policy:
            fit(config, loss, used, upper.trained, log_probs, first)
            model.save_pretrained(out)
            tokenizer.save_pretrained(out)
            settings.save(out)
            return Policy.of(as_openvino(model, chat, options), settings, name=loss)

        after = measured(Path(config.output_dir, f"{loss}.json"), trained, materials)
        gain = paired_bootstrap(after - before)
        print(f"{loss}: nDCG@10 {after.mean():.4f}, {gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]", flush=True)


def fit(
    config: AdaptConfig,
    loss: str,
    used: Sequence[Listed],
    weights: Sequence[torch.Tensor],
    log_probs: Callable[[Listed], list[torch.Tensor]],
    first: dict[str, list[torch.Tensor]],
) -> None:
    """Trains for some epochs, and prints what the policy would earn on the lists."""
    import torch

    steps = math.ceil(len(used) / config.batch) * config.epochs
    optimizer = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) / 5, max(0.1, 1 - n / steps)))
    generator = random.Random(config.seed)
    for epoch in range(config.epochs):
        order = generator.sample(used, len(used))
        earned = []
        for start in range(0, len(order), config.batch):
            batch = order[start : start + config.batch]
            for one in batch:
                logs = log_probs(one)
                value = loss_of(loss, logs, first[one.query_id], one, config.power)
                drift = torch.cat([old - new for new, old in zip(logs, first[one.query_id], strict=True)])
                value = value + config.kl * (drift.exp() - drift - 1).mean()
                (value / len(batch)).backward()
                chances = torch.stack([some.detach().sum() for some in logs]).softmax(0)
                earned.append(float(chances @ torch.tensor([*one.rewards.values()])))
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        greedy = np.mean([one.rewards[one.greedy] for one in used])
        best = np.mean([max(one.rewards.values()) for one in used])
        print(
            f"{loss}, epoch {epoch + 1}: expected reward {np.mean(earned):.4f} (greedy before {greedy:.4f}, best "
            f"{best:.4f}), {time.process_time():.0f} s of CPU time",
            flush=True,
        )


def loss_of(
    loss: str, logs: Sequence[torch.Tensor], first: Sequence[torch.Tensor], one: Listed, power: float
) -> torch.Tensor:
    """The loss of one question; ``logs`` and ``first`` are in the order of ``one.rewards``."""
    import torch

    rewards = torch.tensor([*one.rewards.values()])
    if loss == "expected":
        return -((power * torch.stack([some.sum() for some in logs])).softmax(0) @ rewards)
    if loss == "imitate":
        best = max(one.rewards, key=lambda text: one.rewards[text])
        if one.rewards[best] < one.rewards[one.greedy] + CLEARLY:
            best = one.greedy
        return -logs[[*one.rewards].index(best)].mean()
    counts = torch.tensor([float(one.samples.count(text)) for text in one.rewards])
    advantages = rewards - (counts @ rewards) / counts.sum()
    tokens = sum(count * len(some) for count, some in zip(counts.tolist(), logs, strict=True))
    total = torch.zeros(())
    for count, advantage, new, old in zip(counts, advantages, logs, first, strict=True):
        ratio = (new - old).exp()
        total = total - count * torch.minimum(ratio * advantage, ratio.clamp(*CLIP) * advantage).sum() / tokens
    return total


def as_openvino(model: Any, chat: Any, options: dict[str, Any]) -> OpenVinoModel:
    """The policy as it is served."""
    from acqo_rl.language_models.openvino import OpenVinoModel, write_graph

    with TemporaryDirectory() as folder:
        write_graph(copy.deepcopy(model).merge_and_unload(), chat, Path(folder))
        return OpenVinoModel(Path(folder), chat, **options)


if __name__ == "__main__":
    command.run(main, sys.argv[1:])

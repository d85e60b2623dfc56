r"""Engines that could run a policy on a CPU, side by side on the same prompts: time, memory, size and outputs.

    taskset -c 1 python benchmarks/serving_engines.py --data BEIR_DIR --index INDEX_DIR --policy trained:four_sets

Every engine is a process with one thread. Times are CPU times of the process, because the machine may be shared:

    load        seconds until the engine is ready, after the model has been converted
    first       milliseconds to the first token of one prompt, median
    one, p95    milliseconds of one completion at a time, median and 95th percentile
    at 8, at 32 milliseconds per completion in batches of 8 and 32
    MB          peak memory of the process
    disk        megabytes of the engine's model files
    same        share of completions equal to those of the first engine

The engines of this package use the rule "each word once" (acqo_rl.language_models.words_once). CTranslate2 cannot,
because it has no hook between two tokens, so its outputs also differ where the rule applies.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import Conversation

Generate = Callable[[Sequence[Conversation], int], list[str]]
"""(prompts, maximum number of tokens) -> completions, in one batch."""

HEADINGS = ("engine", "load s", "first ms", "one ms", "p95 ms", "at 8 ms", "at 32 ms", "MB", "disk MB", "same")


@dataclass
class BenchmarkConfig(IndexSettings):
    """Settings of the benchmark."""

    data: str = field(metadata={"help": "BEIR folder of the queries."})
    index: str = field(metadata={"help": INDEX_HELP})
    split: str = field(default="dev", metadata={"help": "Whose queries: DATA/qrels/SPLIT.tsv."})
    policy: str = field(default="trained:four_sets", metadata={"help": "Folder, Hub id or trained:NAME."})
    engines: list[str] = field(default_factory=lambda: list(ENGINES), metadata={"help": "Some of the engines."})
    queries: int = field(default=32, metadata={"help": "How many queries are asked one by one; 32 are asked together."})
    prompts: str | None = field(default=None, metadata={"help": "Internal: file of prompts for one engine."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(BenchmarkConfig, description=__doc__)


def main(config: BenchmarkConfig) -> None:
    """Prints one row per engine; an engine that fails is printed with the reason."""
    check_ranges(config, {"queries": (1, FINITE)})
    if unknown := [name for name in config.engines if name not in ENGINES]:
        raise ConfigError(f"Unknown engine {unknown[0]!r}; choose among {', '.join(ENGINES)}.")
    if config.prompts is not None:
        print(json.dumps(measure(config)))
        return
    print(f"| {' | '.join(HEADINGS)} |\n|---|{' ---: |' * (len(HEADINGS) - 1)}", flush=True)
    expected: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "prompts.json")
        file.write_text(json.dumps(prompts_of(config)))
        for name in config.engines:
            seen = run(config, name, file)
            if isinstance(seen, str):
                print(f"| {name} | {seen} |", flush=True)
                continue
            expected = expected or seen["texts"]
            same = sum(a == b for a, b in zip(seen["texts"], expected, strict=True)) / len(expected)
            print(f"| {name} | {' | '.join(cells(seen))} | {same:.0%} |", flush=True)


def prompts_of(config: BenchmarkConfig) -> list[Conversation]:
    """The policy's prompts for the first queries, with the feedback that it reads."""
    from acqo_rl.data.beir import read_beir
    from acqo_rl.fusion import fusion_named
    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.searching.path import add_feedback

    data = read_beir(config.data, config.split)
    policy = Policy.from_pretrained(config.policy)
    queries = data.queries[config.split][: max(config.queries, 32)]
    retriever = config.open_index(config.index)
    queries = add_feedback(queries, retriever, fusion_named("rsf"), data.corpus, policy.feedback)
    return [policy.prompt.render(query) for query in queries]


def run(config: BenchmarkConfig, name: str, prompts: Path) -> dict[str, Any] | str:
    """What a process measured of one engine, or why it failed."""
    arguments = {"data": config.data, "index": config.index, "policy": config.policy, "engines": name,
                 "queries": config.queries, "prompts": prompts}  # fmt: skip
    words = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def measure(config: BenchmarkConfig) -> dict[str, Any]:
    """Loads one engine twice, so that a conversion is not part of the second time, and asks it."""
    import torch

    torch.set_num_threads(1)
    prompts = json.loads(Path(str(config.prompts)).read_text())
    with tempfile.TemporaryDirectory() as folder:
        load = ENGINES[config.engines[0]]
        load(config.policy, Path(folder))
        begin = time.process_time()
        generate, disk = load(config.policy, Path(folder))
        seconds = time.process_time() - begin
        alone = prompts[: config.queries]
        generate(alone[:1], 1)
        first = [timed(generate, [prompt], 1)[0] for prompt in alone[:8]]
        one = [timed(generate, [prompt], 40) for prompt in alone]
        together = {size: batches(generate, prompts[:32], size) for size in (8, 32)}
    return {
        "load": seconds, "first": 1000 * median(first), "one": 1000 * median(time for time, _ in one),
        "p95": 1000 * quantiles([time for time, _ in one], n=20, method="inclusive")[-1],
        "at 8": 1000 * together[8], "at 32": 1000 * together[32], "disk": disk / 1e6,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "texts": [text for _, [text] in one],
    }  # fmt: skip


def timed(generate: Generate, prompts: Sequence[Conversation], tokens: int) -> tuple[float, list[str]]:
    """CPU seconds of a call, and its completions."""
    begin = time.process_time()
    texts = generate(prompts, tokens)
    return time.process_time() - begin, texts


def batches(generate: Generate, prompts: Sequence[Conversation], size: int) -> float:
    """CPU seconds per completion in batches of a size."""
    parts = [prompts[start : start + size] for start in range(0, len(prompts), size)]
    return sum(timed(generate, part, 40)[0] for part in parts) / len(prompts)


def cells(seen: dict[str, Any]) -> list[str]:
    """The cells of a row between the engine's name and the last one."""
    names = ("first", "one", "p95", "at 8", "at 32", "memory", "disk")
    return [f"{seen['load']:.1f}", *(f"{seen[name]:.0f}" for name in names)]


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def local(model: Any) -> Generate:
    """Completions of a model of this package."""
    import copy

    def generate(prompts: Sequence[Conversation], tokens: int) -> list[str]:
        limited = copy.copy(model)
        limited.max_new_tokens = tokens
        return [completion.text for completion in limited.generate(prompts)]

    return generate


def transformers(dtype: str) -> Callable[[str, Path], tuple[Generate, int]]:
    """Transformers with weights of a type, which need not be stored."""

    def load(policy: str, _: Path) -> tuple[Generate, int]:
        import torch

        from acqo_rl.language_models.local import TransformersModel

        model = TransformersModel.from_pretrained(policy, words_once=True)
        model.model.to(getattr(torch, dtype))
        return local(model), sum(p.numel() * p.element_size() for p in model.model.parameters())

    return load


def openvino(weights: Any) -> Callable[[str, Path], tuple[Generate, int]]:
    """OpenVINO as this package uses it, with stored weights of a type."""

    def load(policy: str, folder: Path) -> tuple[Generate, int]:
        from acqo_rl.language_models.local import TransformersModel
        from acqo_rl.language_models.openvino import OpenVinoCausalLM, write_graph

        if not any(folder.iterdir()):
            write_graph(TransformersModel.from_pretrained(policy), folder, weights)
        model, tokenizer = OpenVinoCausalLM(folder), TransformersModel.load_tokenizer(policy)
        engine = TransformersModel(model, tokenizer, words_once=True, fixed_weights=True)
        return local(engine), size_of(folder)

    return load


def ctranslate2(quantization: str) -> Callable[[str, Path], tuple[Generate, int]]:
    """CTranslate2 with a quantisation; it reads no fixed prefix only once."""

    def load(policy: str, folder: Path) -> tuple[Generate, int]:
        import ctranslate2
        from ctranslate2.converters import TransformersConverter

        from acqo_rl.language_models.local import TransformersModel

        merged, converted = folder / "merged", folder / "converted"
        tokenizer = TransformersModel.load_tokenizer(policy)
        if not converted.exists():
            TransformersModel.from_pretrained(policy).model.save_pretrained(merged)
            tokenizer.save_pretrained(merged)
            TransformersConverter(str(merged)).convert(str(converted), quantization=quantization)
        engine = ctranslate2.Generator(str(converted), device="cpu", intra_threads=1, inter_threads=1)

        def generate(prompts: Sequence[Conversation], tokens: int) -> list[str]:
            written = {"add_generation_prompt": True, "tokenize": True, "return_dict": True}
            ids = [tokenizer.apply_chat_template(prompt, **written)["input_ids"] for prompt in prompts]
            options = {"max_length": tokens, "include_prompt_in_result": False, "end_token": tokenizer.eos_token}
            found = engine.generate_batch(list(map(tokenizer.convert_ids_to_tokens, ids)), **options)
            return [tokenizer.decode(result.sequences_ids[0], skip_special_tokens=True) for result in found]

        return generate, size_of(converted)

    return load


ENGINES: dict[str, Callable[[str, Path], tuple[Generate, int]]] = {
    "transformers float32": transformers("float32"),
    "transformers bfloat16": transformers("bfloat16"),
    "OpenVINO float32": openvino("float32"),
    "OpenVINO int8": openvino("int8"),
    "CTranslate2 float32": ctranslate2("float32"),
    "CTranslate2 int8": ctranslate2("int8"),
}

if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])

r"""Engines that could run a policy on a CPU, side by side on the same prompts: time, memory, size and outputs.

    taskset -c 1 python benchmarks/serving_engines.py --data BEIR_DIR --index INDEX_DIR --policy trained:four_sets

Every engine is a process with one thread. Times are CPU times of the process, because the machine may be shared:

    load        seconds until the engine is ready, after the model has been converted
    first       milliseconds to the first token of one prompt, median
    one, p95    milliseconds of one completion at a time, median and 95th percentile
    MB          peak memory of the process
    disk        megabytes of the engine's model files
    at 8, at 32 milliseconds per completion in a batch of 8 and one of 32 other prompts
    same        share of completions equal to those of the first engine

The engines of this package use the rule "each word once" (acqo_rl.language_models.words_once). The others have no hook
between two tokens, so their outputs also differ where the rule applies. Packages: openvino, torchao, ctranslate2,
xllamacpp, openvino-genai, onnxruntime-genai with onnx-ir.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import machine
from gguf_policy import write_gguf

from acqo_rl.cli import command
from acqo_rl.errors import ConfigError
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import Conversation

Generate = Callable[[Sequence[Conversation], int], list[str]]
"""(prompts, maximum number of tokens) -> completions, in one batch."""

HEADINGS = ("engine", "load s", "first ms", "one ms", "p95 ms", "MB", "disk MB", "same")


@dataclass
class BenchmarkConfig(IndexSettings):
    """Settings of the benchmark."""

    data: str = field(metadata={"help": "BEIR folder of the queries."})
    index: str = field(metadata={"help": INDEX_HELP})
    split: str = field(default="dev", metadata={"help": "Whose queries: DATA/qrels/SPLIT.tsv."})
    policy: str = field(default="trained:four_sets", metadata={"help": "Folder, Hub id or trained:NAME."})
    engines: list[str] = field(default_factory=lambda: list(ENGINES), metadata={"help": "Some of the engines."})
    queries: int = field(default=32, metadata={"help": "How many queries are asked one at a time."})
    batches: list[int] = field(
        default_factory=lambda: [8, 32], metadata={"help": "Sizes of the batches in which other queries are asked."}
    )
    child: str | None = field(default=None, metadata={"help": "Internal: folder of one engine and its prompts."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(BenchmarkConfig, description=__doc__)


def main(config: BenchmarkConfig) -> None:
    """Prints one row per engine; an engine that fails is printed with the reason."""
    check_ranges(config, {"queries": (1, FINITE)})
    if unknown := [name for name in config.engines if name not in ENGINES]:
        raise ConfigError(f"Unknown engine {unknown[0]!r}; choose among {', '.join(ENGINES)}.")
    if config.child is not None:
        print(json.dumps(measure(config, Path(config.child))))
        return
    print(f"{machine.describe(machine.load())}\n")
    headings = [*HEADINGS[:-1], *(f"at {size} ms" for size in config.batches), HEADINGS[-1]]
    print(f"| {' | '.join(headings)} |\n|---|{' ---: |' * (len(headings) - 1)}", flush=True)
    expected: list[str] = []
    prompts = json.dumps(prompts_of(config))
    for name in config.engines:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "prompts.json").write_text(prompts)
            seen = run(config, name, folder)
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
    queries = list(islice(cycle(data.queries[config.split]), config.queries + sum(config.batches)))
    retriever = config.open_index(config.index)
    queries = add_feedback(queries, retriever, fusion_named("rsf"), data.corpus, policy.feedback)
    return [policy.prompt.render(query) for query in queries]


def run(config: BenchmarkConfig, name: str, folder: str) -> dict[str, Any] | str:
    """What a process measured of one engine, or why it failed; if the model must be converted, another one does it."""
    arguments = {"data": config.data, "index": config.index, "policy": config.policy, "engines": name,
                 "queries": config.queries, "child": folder}  # fmt: skip
    words = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
    words += ["--batches", *map(str, config.batches)]
    seen: dict[str, Any] = {}
    while not seen:
        done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            return f"failed: {done.stderr.strip().splitlines()[-1]}"
        seen = json.loads(done.stdout.strip().splitlines()[-1])
    return seen


def measure(config: BenchmarkConfig, folder: Path) -> dict[str, Any]:
    """Loads one engine and asks it; measures nothing if this has converted the model, which takes memory."""
    import torch

    torch.set_num_threads(1)
    prompts = json.loads((folder / "prompts.json").read_text())
    model = folder / "model"
    model.mkdir(exist_ok=True)
    converted = any(model.iterdir())
    begin = time.process_time()
    generate, disk = ENGINES[config.engines[0]](config.policy, model)
    seconds = time.process_time() - begin
    if not converted and any(model.iterdir()):
        return {}
    alone = prompts[: config.queries]
    generate(alone[:1], 1)
    first = [timed(generate, [prompt], 1)[0] for prompt in alone[:8]]
    one = [timed(generate, [prompt], 40) for prompt in alone]
    rest = iter(prompts[config.queries :])
    together = [timed(generate, list(islice(rest, size)), 40)[0] / size for size in config.batches]
    return {
        "load": seconds, "first": 1000 * median(first), "one": 1000 * median(time for time, _ in one),
        "p95": 1000 * quantiles([time for time, _ in one], n=20, method="inclusive")[-1],
        "together": [1000 * seconds for seconds in together], "disk": disk / 1e6,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "texts": [text for _, [text] in one],
    }  # fmt: skip


def timed(generate: Generate, prompts: Sequence[Conversation], tokens: int) -> tuple[float, list[str]]:
    """CPU seconds of a call, and its completions."""
    begin = time.process_time()
    texts = generate(prompts, tokens)
    return time.process_time() - begin, texts


def cells(seen: dict[str, Any]) -> list[str]:
    """The cells of a row between the engine's name and the last one."""
    numbers = [seen[name] for name in ("first", "one", "p95", "memory", "disk")] + seen["together"]
    return [f"{seen['load']:.1f}", *(f"{number:.0f}" for number in numbers)]


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


def transformers(dtype: str, *, int8: bool = False) -> Callable[[str, Path], tuple[Generate, int]]:
    """Transformers with weights of a type, which need not be stored; with ``int8``, torchao quantises projections."""

    def load(policy: str, _: Path) -> tuple[Generate, int]:
        import torch

        from acqo_rl.language_models.local import TransformersModel

        model = TransformersModel.from_pretrained(policy, words_once=True)
        model.model.to(getattr(torch, dtype))
        size = sum(p.numel() * p.element_size() for p in model.model.parameters())
        if int8:
            from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

            projections = [m.weight for name, m in model.model.named_modules() if name.endswith("_proj")]
            size -= sum(weights.numel() * (weights.element_size() - 1) for weights in projections)
            config = Int8DynamicActivationInt8WeightConfig()
            quantize_(model.model, config, lambda _, name: name.endswith("_proj"))
        return local(model), size

    return load


def openvino(weights: Any, *, guess: bool = True) -> Callable[[str, Path], tuple[Generate, int]]:
    """OpenVINO as this package uses it, with stored weights of a type; without guesses, a pass writes one token."""

    def load(policy: str, folder: Path) -> tuple[Generate, int]:
        from acqo_rl.language_models.local import TransformersModel
        from acqo_rl.language_models.openvino import OpenVinoCausalLM, write_graph

        if not any(folder.iterdir()):
            write_graph(TransformersModel.from_pretrained(policy), folder, weights)
        model, tokenizer = OpenVinoCausalLM(folder), TransformersModel.load_tokenizer(policy)
        engine = TransformersModel(model, tokenizer, words_once=True, fixed_weights=True)
        if not guess:
            engine.drafts = None
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


def gguf_file(policy: str, folder: Path, weights: str) -> Path:
    """The policy as a GGUF file with matrices of a type."""
    path = folder / f"policy-{weights}.gguf"
    if not path.exists():
        write_gguf(policy, path, weights)
    return path


def template_of(policy: str) -> Callable[[Conversation], str]:
    """Renders conversations as the policy's tokenizer does."""
    from acqo_rl.language_models.local import TransformersModel

    tokenizer = TransformersModel.load_tokenizer(policy)
    return lambda prompt: str(tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False))


def llama_cpp(weights: str) -> Callable[[str, Path], tuple[Generate, int]]:
    """llama.cpp with a type of weights, without its cache of earlier prompts; batches are concurrent calls."""

    def load(policy: str, folder: Path) -> tuple[Generate, int]:
        import xllamacpp

        path, render = gguf_file(policy, folder, weights), template_of(policy)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_parallel, params.n_ctx = 32, 32 * 512
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        server = xllamacpp.Server(params)

        def ask(prompt: Conversation, tokens: int) -> str:
            body = {"prompt": render(prompt), "max_tokens": tokens, "temperature": 0, "cache_prompt": False}
            return str(server.handle_completions(body)["choices"][0]["text"])

        def generate(prompts: Sequence[Conversation], tokens: int) -> list[str]:
            with ThreadPoolExecutor(len(prompts)) as pool:
                return list(pool.map(ask, prompts, [tokens] * len(prompts)))

        return generate, path.stat().st_size

    return load


def openvino_genai(weights: str) -> Callable[[str, Path], tuple[Generate, int]]:
    """OpenVINO GenAI, which reads GGUF files."""

    def load(policy: str, folder: Path) -> tuple[Generate, int]:
        import openvino_genai as genai

        path, render = gguf_file(policy, folder, weights), template_of(policy)
        pipeline = genai.LLMPipeline(str(path), "CPU", INFERENCE_NUM_THREADS=1, INFERENCE_PRECISION_HINT="f32")
        settings = genai.GenerationConfig()
        settings.do_sample, settings.apply_chat_template = False, False

        def generate(prompts: Sequence[Conversation], tokens: int) -> list[str]:
            settings.max_new_tokens = tokens
            return list(pipeline.generate([render(prompt) for prompt in prompts], settings).texts)

        return generate, path.stat().st_size

    return load


def onnx_genai(precision: str) -> Callable[[str, Path], tuple[Generate, int]]:
    """ONNX Runtime GenAI with the weights that its model builder makes."""

    def load(policy: str, folder: Path) -> tuple[Generate, int]:
        import onnxruntime_genai as genai
        from onnxruntime_genai.models.builder import create_model, parse_extra_options

        from acqo_rl.language_models.local import TransformersModel

        merged, converted = folder / "merged", folder / "converted"
        if not converted.exists():
            TransformersModel.from_pretrained(policy).model.save_pretrained(merged)
            TransformersModel.load_tokenizer(policy).save_pretrained(merged)
            places = ("", str(merged), str(converted), precision, "cpu", str(folder / "cache"))
            create_model(*places, **parse_extra_options(*places, []))
        model = genai.Model(str(converted))
        tokenizer, render = genai.Tokenizer(model), template_of(policy)
        ends = TransformersModel.load_tokenizer(policy).all_special_tokens

        def generate(prompts: Sequence[Conversation], tokens: int) -> list[str]:
            ids = [list(map(int, tokenizer.encode(render(prompt)))) for prompt in prompts]
            longest = max(map(len, ids))
            params = genai.GeneratorParams(model)
            params.set_search_options(max_length=longest + tokens, batch_size=len(prompts), do_sample=False)
            generator = genai.Generator(model, params)
            generator.append_tokens(tokenizer.encode_batch([render(prompt) for prompt in prompts]))
            while not generator.is_done():
                generator.generate_next_token()
            texts = [tokenizer.decode(generator.get_sequence(i)[longest:]) for i in range(len(prompts))]
            return [min((text.partition(end)[0] for end in ends), key=len) for text in texts]

        return generate, size_of(converted)

    return load


ENGINES: dict[str, Callable[[str, Path], tuple[Generate, int]]] = {
    "transformers float32": transformers("float32"),
    "transformers bfloat16": transformers("bfloat16"),
    "transformers int8": transformers("float32", int8=True),
    "OpenVINO float32": openvino("float32"),
    "OpenVINO float16, no guesses": openvino("float16", guess=False),
    "OpenVINO float16": openvino("float16"),
    "OpenVINO int8": openvino("int8"),
    "CTranslate2 float32": ctranslate2("float32"),
    "CTranslate2 int8": ctranslate2("int8"),
    "llama.cpp F16": llama_cpp("F16"),
    "llama.cpp Q8_0": llama_cpp("Q8_0"),
    "OpenVINO GenAI Q8_0": openvino_genai("Q8_0"),
    "ONNX Runtime GenAI fp32": onnx_genai("fp32"),
    "ONNX Runtime GenAI int4": onnx_genai("int4"),
}

if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])

"""Dense encoder based on sentence-transformers."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from acqo_rl.errors import ConfigError, DataError, check_positive
from acqo_rl.files import read_json
from acqo_rl.fusion import best_first, spans_of
from acqo_rl.language_models.cache import cached, checksums
from acqo_rl.language_models.embedded import loading, resolve
from acqo_rl.language_models.local import default_device, native_dtype
from acqo_rl.language_models.openvino import import_openvino, is_installed, threads
from acqo_rl.roles import Encoder, Vectors
from acqo_rl.types import Passage, Ranking, well_formed

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

Precision = Literal["auto", "float32", "bfloat16", "float16"]

_MODEL = "embedded:minilm"
_FOLDER = "openvino/minilm-1"
"""Its number must be increased whenever the written files change."""
_MODEL_FILES = {".bin", ".json", ".model", ".safetensors", ".txt"}
_PROGRESS_FROM = 500  # texts; fewer are encoded without a progress bar


class SentenceTransformerEncoder(Encoder):
    """A sentence-transformers model, given as Hub id, folder or ``embedded:`` name. Remote code is never run.

    Static models, such as those of model2vec, are sentence-transformers models too.

    Attributes:
        dim: embedding dimension.
        settings: constructor arguments that determine the embeddings; ``SentenceTransformerEncoder(**settings)``
            creates an equal encoder.
        fingerprint: hash of the settings. For a local model it uses the content of the folder instead of its path.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        query_prompt: str | None = None,
        passage_prompt: str | None = None,
        dtype: Precision = "auto",
        batch_size: int = 32,
        max_length: int | None = None,
        device: str | None = None,
    ) -> None:
        """Loads the model.

        Args:
            model: Hub id, path or ``embedded:minilm``.
            revision: Hub revision; the commit that was loaded is recorded in ``settings``.
            query_prompt: text added before every query; ``None`` uses the model's own prompt, "" uses none.
            passage_prompt: the same for passages.
            dtype: precision of the weights. ``auto`` is bfloat16 on devices where it is faster (CUDA with bfloat16
                support, CPUs with AMX), else float32. On CPUs with AVX-512 only, bfloat16 is slower than float32.
            batch_size: texts per batch.
            max_length: maximum tokens per text; longer texts are truncated. By default the model's own limit.
            device: torch device; by default the fastest available one.

        Raises:
            ConfigError: a setting is out of range, or the model cannot be loaded.
        """
        for name, value in (("batch_size", batch_size), ("max_length", max_length)):
            check_positive(f"The encoder's {name}", value)
        if dtype not in get_args(Precision):
            raise ConfigError(f"The encoder's dtype is {dtype!r}; it must be one of {', '.join(get_args(Precision))}.")
        remedy = f"Check revision {revision} and device {device}; or give a folder, a Hub id or embedded:minilm."
        with loading("The encoder", model, remedy):
            self._model = _loaded(model, revision, dtype, device)
        if max_length is not None:
            try:
                self._model.max_seq_length = max_length
            except AttributeError as error:
                raise ConfigError(
                    f"max_length is {max_length}, but a static encoder reads texts of any length; omit max_length."
                ) from error
        self._batch_size = batch_size
        self.dim = int(cast(int, self._model.get_embedding_dimension()))
        self.settings: dict[str, Any] = {
            "model": model,
            "revision": revision or (None if model.startswith("embedded:") else _commit(self._model)),
            "query_prompt": query_prompt,
            "passage_prompt": passage_prompt,
            "dtype": dtype,
            "max_length": max_length,
        }
        self.fingerprint = _fingerprint(self.settings)

    @property
    def max_tokens(self) -> int | None:
        """Maximum tokens of a passage, including prompt and special tokens; ``None`` means no limit."""
        limit = self._model.max_seq_length
        return None if limit is None or limit == math.inf else int(limit)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per passage before truncation, including prompt and special tokens."""
        prompts = self._model.prompts
        prompt = self.settings["passage_prompt"]
        if prompt is None:  # the same choice as in encode_document
            names = ("document", "passage", "corpus", self._model.default_prompt_name)
            prompt = next((prompts[name] for name in names if name in prompts), "")
        prompted = [prompt + well_formed(text) for text in texts]
        if self._words is None:
            return [len(row) for row in self._model.tokenizer(prompted, truncation=False, verbose=False)["input_ids"]]
        return [len(row.ids) for row in self._words.encode_batch(prompted)]

    def windows(self, text: str) -> tuple[str, ...]:
        """The query, or its first and its last part if it is longer than the model reads."""
        limit = self.max_tokens
        clean = well_formed(text)
        if limit is None or len(clean) < limit or self._words is None:
            return (text,)
        prompt = self.settings["query_prompt"]
        if prompt is None:
            prompt = self._model.prompts.get("query", "")
        room = limit - len(self._words.encode(prompt).ids)
        offsets = self._words.encode(clean, add_special_tokens=False).offsets
        if not 0 < room < len(offsets):
            return (text,)
        return clean[: offsets[room - 1][1]], clean[offsets[-room][0] :]

    @cached_property
    def _words(self) -> Any:
        """A copy of the tokenizer that does not truncate; the settings of the model's own are not thread-safe.

        ``None`` for a tokenizer in Python.
        """
        own = self._model.tokenizer
        if not getattr(own, "is_fast", True):
            return None
        tokenizer = copy.deepcopy(getattr(own, "backend_tokenizer", own))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """L2-normalised embeddings of queries, float32[texts, dim]."""
        return self._encode(texts, self._model.encode_query, self.settings["query_prompt"])

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """L2-normalised embeddings of passages, float32[texts, dim]."""
        return self._encode(texts, self._model.encode_document, self.settings["passage_prompt"])

    def _encode(self, texts: Sequence[str], encode: Any, prompt: str | None) -> Vectors:
        """Encodes the longest texts first, so that texts in a batch have similar lengths and OOM shows up early."""
        from tqdm import tqdm

        embeddings = np.empty((len(texts), self.dim), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        starts = range(0, len(texts), self._batch_size)
        for start in tqdm(starts, "encoding", unit=" batches", leave=False, disable=len(texts) < _PROGRESS_FROM):
            batch = order[start : start + self._batch_size]
            clean = [well_formed(texts[i]) for i in batch]
            embeddings[batch] = encode(clean, prompt=prompt, batch_size=len(batch), show_progress_bar=False)
        return normalised(embeddings)


def search_windows(
    encoder: Encoder, texts: Sequence[str], k: int, search: Callable[[Sequence[str]], list[Ranking]]
) -> list[Ranking]:
    """Searches a query that the encoder would truncate by its first and its last window; one call for all texts.

    Args:
        encoder: names the windows of a query.
        texts: queries, and passages, which are truncated as those of an index are.
        k: number of documents per text.
        search: returns one ranking per given text.

    Returns:
        One ranking per text. A document has its best score over the windows.
    """
    windows = [(text,) if isinstance(text, Passage) else encoder.windows(text) for text in texts]
    found = iter(search([window for its in windows for window in its]))
    return [_merged(text, list(islice(found, len(its))), k) for text, its in zip(texts, windows, strict=True)]


def _merged(text: str, rankings: Sequence[Ranking], k: int) -> Ranking:
    if len(rankings) == 1:
        return rankings[0]
    pairs = (pair for one in rankings for pair in one.pairs)
    doc_ids, scores = best_first(pairs, k)
    return replace(
        rankings[0],
        doc_ids=doc_ids,
        scores=scores,
        query=text,
        windows=len(rankings),
        spans=spans_of(rankings, doc_ids),
    )


def encode_texts(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Embeds queries with the query prompt and passages with the passage prompt, float32[texts, dim]."""
    vectors = np.empty((len(texts), encoder.dim), np.float32)
    for passages, encode in ((False, encoder.encode_queries), (True, encoder.encode_passages)):
        rows = [row for row, text in enumerate(texts) if isinstance(text, Passage) == passages]
        if rows:
            vectors[rows] = encode([texts[row] for row in rows])
    return vectors


def normalised(embeddings: Vectors) -> Vectors:
    """Scales each row to L2 norm 1, float32[texts, dim]; rows of zeros are unchanged.

    Raises:
        DataError: an embedding contains NaN or infinity.
    """
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        row = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise DataError(f"Embedding {row} contains NaN or infinity; encode with dtype float32.")
    unit: Vectors = embeddings / np.maximum(lengths, np.float32(1e-12))
    return unit


def _loaded(model: str, revision: str | None, dtype: Precision, device: str | None) -> Any:
    if _runs_on_openvino(model, revision, dtype, device):
        return OpenVinoMiniLm()
    import torch
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(resolve(model), revision=revision, device=device, trust_remote_code=False)
    return loaded.to(native_dtype(loaded.device.type) if dtype == "auto" else getattr(torch, dtype))


def _commit(model: SentenceTransformer) -> str | None:
    """The Hub commit that was loaded; ``None`` for a folder."""
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    return getattr(config, "_commit_hash", None)


def _fingerprint(settings: dict[str, Any]) -> str:
    folder = Path(resolve(settings["model"]))
    model = _content_hash(folder) if folder.is_dir() else settings["model"]
    return hashlib.sha256(json.dumps({**settings, "model": model}, sort_keys=True).encode()).hexdigest()


def _content_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.suffix in _MODEL_FILES)
    for path, checksum in zip(files, checksums(files), strict=True):
        digest.update(json.dumps(path.relative_to(folder).as_posix()).encode())
        digest.update(bytes.fromhex(checksum))
    return digest.hexdigest()


class OpenVinoMiniLm:
    """What an encoder needs of a model of sentence-transformers: the package's own, in float32 by OpenVINO on a CPU.

    Without torch, a search starts faster and takes 400 MB less.

    Attributes:
        tokenizer: a tokenizer of tokenizers.
        max_seq_length: maximum tokens per text; longer texts are truncated.
        prompts: empty, because this model has none.
        default_prompt_name: always ``None``.
    """

    prompts: Mapping[str, str] = {}
    default_prompt_name = None

    def __init__(self) -> None:
        """Loads the model; converts it at first use."""
        from tokenizers import Tokenizer

        openvino = import_openvino()
        folder = Path(resolve(_MODEL))
        settings = read_json(folder / "sentence_bert_config.json")
        self.max_seq_length: int = settings["max_seq_length"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._network = openvino.Core().compile_model(
            cached(_FOLDER, _convert, ("minilm-*",)) / "encoder.xml",
            "CPU",
            {**threads(), "INFERENCE_PRECISION_HINT": "f32"},
        )
        self._turn = Lock()

    def get_embedding_dimension(self) -> int:
        """Length of an embedding."""
        return int(self._network.output(0).partial_shape[1].get_length())

    def encode_query(self, texts: Sequence[str], *, prompt: str | None = None, **_: Any) -> Vectors:
        """Embeddings of texts, float32[texts, dim]; further settings of sentence-transformers are ignored."""
        limit = self.max_seq_length
        read = [encoded.ids for encoded in self.tokenizer.encode_batch([(prompt or "") + text for text in texts])]
        rows = [ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]] for ids in read]
        ids, mask = np.zeros((2, len(rows), max(map(len, rows))), np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        with self._turn:
            embeddings: Vectors = self._network([ids, mask, np.zeros_like(ids)])[0].copy()
        return embeddings

    encode_document = encode_query


def _runs_on_openvino(model: str, revision: str | None, dtype: str, device: str | None) -> bool:
    """Whether :class:`OpenVinoMiniLm` computes an encoder: the package's own on a CPU where float32 is fastest."""
    on_cpu = device is None or device.partition(":")[0] == "cpu"  # "cpu:0" under accelerate
    if model != _MODEL or revision or dtype not in ("auto", "float32") or not on_cpu:
        return False
    flags = Path("/proc/cpuinfo")
    in_bfloat16 = dtype == "auto" and flags.exists() and "amx_tile" in flags.read_text(encoding="utf-8")
    return is_installed() and default_device() == "cpu" and not in_bfloat16


def _convert(folder: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    openvino = import_openvino()
    eager = {"attn_implementation": "eager"}
    model = SentenceTransformer(resolve(_MODEL), device="cpu", trust_remote_code=False, model_kwargs=eager)

    class Traced(torch.nn.Module):
        def forward(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
            embeddings: torch.Tensor = model(features)["sentence_embedding"]
            return embeddings

    model.eval().requires_grad_(False)
    example = torch.ones((2, 5), dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tracer
        graph = openvino.convert_model(Traced(), example_input=(example, example, torch.zeros_like(example)))
    openvino.save_model(graph, folder / "encoder.xml", compress_to_fp16=False)

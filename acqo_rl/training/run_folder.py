"""The output folder of a run: runs can be resumed, and are never overwritten.

.lock-RANK             held by the running process; released by the system when the process ends
config.json            the resolved settings
inputs.json            hashes of the data files, indexes and models that the run reads
environment.json       package versions
checkpoint-N/          state of the trainer, for resuming
model/                 the finished model; if it exists, the run is finished
"""

import json
import os
import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from acqo_rl.errors import ConfigError
from acqo_rl.files import hash_files, read_json, write_atomic
from acqo_rl.language_models.embedded import resolve
from acqo_rl.language_models.openvino import PREFIX
from acqo_rl.retrieval.load import describe

T = TypeVar("T")

_PACKAGES = ("acqo-rl", "torch", "transformers", "trl", "peft", "accelerate", "datasets", "sentence-transformers",
             "faiss-cpu", "faiss-gpu", "bm25s", "vllm", "numpy")  # fmt: skip
_CONFIG, _INPUTS, _ENVIRONMENT, _LOCK = "config.json", "inputs.json", "environment.json", ".lock-{}"
_held: list[FileLock] = []
_FREE_TO_CHANGE = ("trainer.report_to", "trainer.run_name", "trainer.save_total_limit")


def open_run(
    folder: str | Path,
    config: Mapping[str, Any],
    inputs: Mapping[str, str] | None = None,
    free_to_change: Collection[str] = (),
) -> bool:
    """Locks a folder for a run with these settings and inputs.

    Args:
        folder: created if it does not exist.
        config: the resolved settings; JSON-serialisable.
        inputs: see :func:`inputs_of`.
        free_to_change: settings that may differ from those of the interrupted run.

    Returns:
        Whether the run is finished.

    Raises:
        ConfigError: the folder contains other files, or results of a run with other settings or inputs, or another
            process uses it.
    """
    folder = Path(folder)
    if not (folder / _CONFIG).exists() and folder.exists() and (foreign := sorted(_content(folder))):
        raise ConfigError(
            f"{folder} is not empty ({', '.join(foreign[:3])}) and contains no run; give another output folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder)
    new = {_CONFIG: json.loads(json.dumps(config)), _INPUTS: dict(inputs or {})}
    old = {name: _read(folder / name) for name in new}
    if _content(folder) - {*new, _ENVIRONMENT}:
        _check_settings(folder, _flat(old[_CONFIG]), _flat(new[_CONFIG]), free_to_change)
        if changed := [name for name, found in new[_INPUTS].items() if old[_INPUTS].get(name, found) != found]:
            raise ConfigError(
                f"{folder} contains a run of other data: {', '.join(changed)} changed since it began. Give another "
                "output folder, or delete this one. To continue this run with the changed data, delete "
                f"{folder / _INPUTS}."
            )
    if not (folder / _CONFIG).exists():
        versions = {one.name: one.version for one in distributions() if one.name in _PACKAGES}
        write_json(folder / _ENVIRONMENT, {"packages": versions | {"python": platform.python_version()}})
    for name in new:
        if not (folder / name).exists() or new[name] != old[name]:  # other processes of the same run write nothing
            write_json(folder / name, new[name])
    return (folder / "model").exists()


def inputs_of(
    data: str, splits: Sequence[str], indexes: Sequence[str] = (), models: Sequence[str] = ()
) -> dict[str, str]:
    """The hashes of what a run reads.

    Args:
        data: BEIR folder.
        splits: whose judgements are read.
        indexes: locations of indexes; each is known by its fingerprint.
        models: models that the run starts from or uses. Only folders have hashes; a name on the Hub is a setting.

    Returns:
        Path or location -> hash.

    Raises:
        IndexMismatchError: an index is missing or incomplete.
        SearchError: the server of an index does not answer.
    """
    names = ("corpus.jsonl", "queries.jsonl", *(f"qrels/{split}.tsv" for split in splits))
    files = {str(file): [file] for file in (Path(data, name) for name in names) if file.is_file()}
    for model in filter(None, models):
        folder = Path(resolve(model.removeprefix(PREFIX)))
        files[model] = sorted(
            file for end in ("safetensors", "json", "txt", "jinja") for file in folder.glob(f"*.{end}")
        )
    hashes = {name: hash_files(some) for name, some in files.items() if some}
    return hashes | {str(index): describe(index).fingerprint for index in indexes}


def _read(file: Path) -> dict[str, Any]:
    """The content of a JSON file; a file that is missing is empty."""
    try:
        return dict(read_json(file)) if file.exists() else {}
    except ValueError as error:
        raise ConfigError(f"{file} is damaged ({error}); give another output folder, or delete this one.") from error


def _check_settings(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any], free: Collection[str]) -> None:
    changed = [
        f"{key}: {old.get(key)!r} -> {new.get(key)!r}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key) and not key.endswith(_FREE_TO_CHANGE) and key.partition(".")[0] not in free
    ]
    if changed:
        raise ConfigError(
            f"{folder} contains a run with other settings ({'; '.join(changed)}). Give another output folder, use the "
            f"old settings to resume the run, or delete the folder."
        )


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """The settings, with those of groups under ``GROUP.NAME``."""
    if not isinstance(value, dict) or not value:
        return {name: value}
    return {key: v for n, one in value.items() for key, v in _flat(one, f"{name}.{n}".lstrip(".")).items()}


def _claim(folder: Path) -> None:
    """Locks a folder for this process and rank until the process ends."""
    lock = FileLock(folder / _LOCK.format(os.environ.get("RANK", 0)), is_singleton=True)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise ConfigError(
            f"Another process uses {folder}; wait until it ends, or give another output folder."
        ) from error
    _held.append(lock)


def _content(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.match(_LOCK.format("*"))}


def last_checkpoint(folder: str | Path) -> Path | None:
    """The newest complete checkpoint; the last bytes to be written are those of the trainer state."""
    states = [file for file in Path(folder).glob("checkpoint-*/trainer_state.json") if file.read_bytes()[-2:] == b"}\n"]
    return max((file.parent for file in states), key=lambda p: int(p.name.rsplit("-", 1)[1]), default=None)


def write_json(file: str | Path, value: Any) -> None:
    """Writes a JSON file atomically."""
    write_atomic(Path(file), [json.dumps(value, indent=2, ensure_ascii=False)])


def write_rows(rows: Iterable[Any], file: Path) -> None:
    """Writes dataclasses as JSON, one per line, atomically."""
    write_atomic(file, (json.dumps(asdict(row), ensure_ascii=False) for row in rows))


def read_rows(kind: type[T], file: Path) -> list[T]:
    """Reads dataclasses from a file written by :func:`write_rows`."""
    adapter = TypeAdapter(kind)
    return [adapter.validate_json(line) for line in file.read_bytes().splitlines()]


def continue_rows(kind: type[T], file: Path, total: int, rest: Callable[[int], Iterable[Sequence[T]]]) -> list[T]:
    """Reads the rows of an interrupted run and computes the others; each batch is written before the next one.

    Args:
        kind: of the rows.
        file: of the rows.
        total: number of rows of a complete file.
        rest: number of rows that are there -> the others, in batches.

    Raises:
        ConfigError: the file is damaged.
    """
    try:
        rows = read_rows(kind, file) if file.exists() else []
    except ValueError as error:
        raise ConfigError(f"{file} is damaged ({error}); delete it to compute its rows again.") from error
    for batch in rest(len(rows)) if len(rows) < total else ():
        rows += batch
        write_rows(rows, file)
    return rows

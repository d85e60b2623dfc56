"""The output folder of a run: runs can be resumed, and are never overwritten.

.lock-RANK             held by the running process; released by the system when the process ends
config.json            the resolved settings
environment.json       package versions, git revision, machine
checkpoint-N/          state of the trainer, for resuming
model/                 the finished model; if it exists, the run is finished
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Literal, TypeVar

from filelock import FileLock, Timeout

from acqo_rl.errors import ConfigError
from acqo_rl.files import write_atomic

T = TypeVar("T")

_PACKAGES = ("acqo-rl", "torch", "transformers", "trl", "peft", "accelerate", "datasets", "sentence-transformers",
             "faiss-cpu", "faiss-gpu", "bm25s", "vllm", "numpy")  # fmt: skip
_LOCK = ".lock-{}"
_held: list[FileLock] = []
_FREE_TO_CHANGE = ("trainer.report_to", "trainer.run_name", "trainer.save_total_limit")


def open_run(
    folder: str | Path, config: dict[str, Any], free_to_change: Collection[str] = ()
) -> Literal["new", "resume", "finished"]:
    """Locks a folder for a run with these settings.

    Args:
        folder: created if it does not exist.
        config: the resolved settings; JSON-serialisable.
        free_to_change: settings that may differ from those of the interrupted run.

    Returns:
        ``new``, ``resume`` (a run with the same settings was interrupted) or ``finished``.

    Raises:
        ConfigError: the folder contains other files or results of a run with other settings, or another process uses
            it.
    """
    folder = Path(folder)
    file = folder / "config.json"
    config = json.loads(json.dumps(config))
    if not file.exists():
        foreign = sorted(_content(folder)) if folder.exists() else []
        if foreign:
            raise ConfigError(
                f"{folder} is not empty ({', '.join(foreign[:3])}) and contains no run; give another output folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
    _claim(folder)
    if not file.exists():
        write_json(folder / "environment.json", environment())
        write_json(file, config)
        return "new"
    try:
        before = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{file} is damaged ({error}); give another output folder, or delete this one.") from error
    old, new = _flat(before), _flat(config)
    fixed = [
        f"{key}: {old.get(key)!r} -> {new.get(key)!r}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key) and key not in _FREE_TO_CHANGE and key.partition(".")[0] not in free_to_change
    ]
    if fixed and _content(folder) <= {"config.json", "environment.json"}:
        write_json(file, config)
        return "new"
    if fixed:
        raise ConfigError(
            f"{folder} contains a run with other settings ({'; '.join(fixed)}). Give another output folder, use the "
            f"old settings to resume the run, or delete the folder."
        )
    write_json(file, config)
    return "finished" if (folder / "model").exists() else "resume"


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
    """The newest complete checkpoint; a checkpoint without trainer state is incomplete."""
    checkpoints = [p for p in Path(folder).glob("checkpoint-*") if (p / "trainer_state.json").exists()]
    return max(checkpoints, key=lambda p: int(p.name.rsplit("-", 1)[1]), default=None)


def write_json(file: str | Path, value: Any) -> None:
    """Writes a JSON file atomically."""
    write_atomic(Path(file), [json.dumps(value, indent=2, ensure_ascii=False)])


def write_rows(rows: Iterable[Any], file: Path) -> None:
    """Writes dataclasses as JSON, one per line, atomically."""
    write_atomic(file, (json.dumps(asdict(row), ensure_ascii=False) for row in rows))


def read_rows(make: Callable[..., T], file: Path) -> list[T]:
    """Reads a file written by :func:`write_rows`; ``make`` is called with the fields of each row."""
    return [make(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def continue_rows(
    make: Callable[..., T], file: Path, total: int, rest: Callable[[int], Iterable[Sequence[T]]]
) -> list[T]:
    """Reads the rows of an interrupted run and computes the others; each batch is written before the next one.

    Args:
        make: see :func:`read_rows`.
        file: of the rows.
        total: number of rows of a complete file.
        rest: number of rows that are there -> the others, in batches.

    Raises:
        ConfigError: the file is damaged.
    """
    try:
        rows = read_rows(make, file) if file.exists() else []
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{file} is damaged ({error}); delete it to compute its rows again.") from error
    for batch in rest(len(rows)) if len(rows) < total else ():
        rows += batch
        write_rows(rows, file)
    return rows


def environment() -> dict[str, Any]:
    """Package versions, git revision (marked if files have changed) and machine."""
    return {
        "packages": {one.name: one.version for one in distributions() if one.name in _PACKAGES},
        "git_revision": _git_revision(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "gpus": _gpus(),
    }


def _gpus() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _git_revision() -> str | None:
    def git(*arguments: str) -> str:
        here = Path(__file__).parent
        return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + (" (changed)" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None

"""Writes files atomically. If there is no space left, the exception names the file."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), "disk is full")
"""Texts in the messages of libraries that could not write a file; SQLite writes its own."""


def read_json(path: str | Path) -> Any:
    """The content of a JSON file.

    Raises:
        ValueError: it is not JSON, or an object has a key twice.
    """
    return json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=object_of)


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON with these keys and values.

    Raises:
        ValueError: a key is there twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:100]!r} is there twice in an object")
    return found


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Names a file or folder in the exception of any library that has no space left for it.

    Raises:
        OSError: there is no space left.
    """
    try:
        yield
    except Exception as error:
        if getattr(error, "filename", None) is None and any(text in str(error) for text in _FULL):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """The file to write instead of a file, which it replaces when it is complete.

    Raises:
        OSError: there is no space left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp")
    with writing(path):
        yield unfinished
        os.replace(unfinished, path)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """The empty folder to write instead of a folder, to which it is renamed when it is complete.

    Its files can be read as the umask allows. Another process that writes the same folder waits until this one ends; it
    removes what a killed one has left.

    Raises:
        OSError: there is no space left, or the folder exists and is not empty.
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            unfinished.mkdir()
            with writing(path):
                yield unfinished
            follow_umask(unfinished)
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
            lock.unlink(missing_ok=True)  # while it is held: who waits for it then opens a new one


def follow_umask(folder: Path) -> None:
    """Gives weights the modes of their folder; safetensors writes files for their owner only."""
    for file in folder.glob("*.safetensors"):
        file.chmod(folder.stat().st_mode & 0o666)


def write_atomic(path: Path, lines: Iterable[str]) -> None:
    """Writes a UTF-8 file atomically."""
    with atomic(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def hash_of(*values: object) -> str:
    """SHA-256 of values that can be written as JSON."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def hash_files(paths: Iterable[Path]) -> str:
    """SHA-256 over the names and contents of files."""
    lines = (f"{path.name} {sha256_of(path)}\n" for path in paths)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

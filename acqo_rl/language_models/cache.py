"""The cache of converted models, and the checksums of files."""

import atexit
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from acqo_rl.files import atomic_folder, sha256_of, write_atomic

_log = logging.getLogger(__name__)

_CHECKSUMS = "checksums.json"


def cached(name: str, write: Callable[[Path], None], replaces: Iterable[str] = ()) -> Path:
    """A folder of the cache, written in one step if it is missing or damaged.

    Args:
        name: path below the folder of the cache.
        write: writes the content into an empty folder.
        replaces: patterns of the names of older files and folders beside it, which are removed.
    """
    target = _folder() / name
    if not _is_whole(target):
        target = _writable(_folder()) / name
        if not _is_whole(target):
            _write(target, write)
    for old in {path for pattern in replaces for path in target.parent.glob(pattern)} - {target}:
        with suppress(OSError):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return target


def _write(target: Path, write: Callable[[Path], None]) -> None:
    if target.exists():
        if _is_whole(target):  # another process has written it since it was looked at
            return
        _log.warning("%s is not as it was written, and is written again", target)
        shutil.rmtree(target)
    try:
        with atomic_folder(target) as unfinished:
            write(unfinished)
            names = sorted(path.relative_to(unfinished).as_posix() for path in unfinished.rglob("*") if path.is_file())
            written = {name: sha256_of(unfinished / name) for name in names}
            write_atomic(unfinished / _CHECKSUMS, [json.dumps(written)])
    except OSError:
        if not _is_whole(target):  # otherwise another process has written it in the meantime
            raise


def checksums(paths: Iterable[Path]) -> list[str]:
    """SHA-256 of each file, which is remembered until the file is written again."""
    memory = _folder() / _CHECKSUMS
    before = _read(memory)
    known = dict(before)
    found = []
    for path in map(Path.absolute, paths):
        status = path.stat()
        state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        *seen, checksum = known.get(str(path), [""])
        if seen != state:
            checksum = sha256_of(path)
        known[str(path)] = [*state, checksum]
        found.append(checksum)
    if known != before:
        with suppress(OSError):  # a cache that cannot be written is reported where a model is converted
            write_atomic(memory, [json.dumps({name: state for name, state in known.items() if Path(name).exists()})])
    return found


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "acqo_rl"


def _is_whole(folder: Path) -> bool:
    """Whether all files of a folder are as they were written."""
    written = _read(folder / _CHECKSUMS)
    try:
        return bool(written) and checksums(folder / name for name in written) == list(written.values())
    except OSError:
        return False


def _read(file: Path) -> dict[str, Any]:
    """The content of a JSON file; empty if it is missing or damaged."""
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


@cache
def _writable(folder: Path) -> Path:
    """The folder; if it cannot be written to, this is said once, and it is a temporary folder of this process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        _log.warning("The cache is off: %s. Converted models and embeddings are kept only by this process.", error)
        temporary = tempfile.TemporaryDirectory(prefix="acqo_rl-")
        atexit.register(temporary.cleanup)
        return Path(temporary.name)
    return folder

"""A full disk and a folder that cannot be written to."""

import errno
import os
import subprocess
import sys
from select import select

import faiss
import numpy as np
import pytest
from safetensors.numpy import save_file

from acqo_rl.files import atomic_folder, write_atomic
from acqo_rl.retrieval.faiss_index import write_index


@pytest.fixture
def full(tmp_path):
    """Makes the unfinished file of a path one that is on a full disk."""

    def made(name):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(f"{path.name}.tmp").symlink_to("/dev/full")
        return path

    return made


def test_a_full_disk_names_the_file_that_was_written(full):
    for name, write in (
        ("a.json", lambda path: write_atomic(path, ["x"])),
        ("index.faiss", lambda path: write_index(faiss.IndexFlat(4), path)),
    ):
        path = full(name)
        with pytest.raises(OSError, match=name) as caught:
            write(path)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
        assert not path.exists()


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_complete_folder_can_be_read_by_whom_the_umask_lets(tmp_path, umask):
    before = os.umask(umask)
    try:
        with atomic_folder(tmp_path / "model") as unfinished:
            save_file({"a": np.zeros(1)}, unfinished / "model.safetensors")
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "model", tmp_path / "model" / "model.safetensors")]
    assert modes == [0o777 & ~umask, 0o666 & ~umask]


def test_a_folder_that_is_not_completed_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), atomic_folder(tmp_path / "model") as unfinished:
        (unfinished / "a").touch()
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next_one_and_a_running_one_is_waited_for(tmp_path):
    code = """
import sys, time
from pathlib import Path
from acqo_rl.files import atomic_folder
with atomic_folder(Path(sys.argv[1])) as unfinished:
    print(list(unfinished.iterdir()), flush=True)
    (unfinished / "half").touch()
    time.sleep(60)
"""
    processes = []
    for _ in range(2):
        command = [sys.executable, "-c", code, tmp_path / "a.b"]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    while not (begun := [process for process in processes if select([process.stdout], [], [], 0)[0]]):
        pass
    [killed] = begun
    [waiting] = {*processes} - {killed}
    for process in (killed, waiting):
        assert process.stdout.readline() == "[]\n"
        process.kill()
        process.communicate()
    with atomic_folder(tmp_path / "a.b"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "a.b"]

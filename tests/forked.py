"""Commands in processes that need not wait for slow imports: each is forked from a process that has them."""

import atexit
import io
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from acqo_rl.cli import main

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["torch", "transformers", "sentence_transformers", "peft", "datasets", "trl.trainer.grpo_trainer", "faiss", "bm25s"]
)


def run_command(name, *arguments, status=0, text="", env=None, timeout=300):
    """Runs ``acqo NAME arguments``.

    What is set before Python starts (the seed of hashes, encodings) is that of the tests.

    Args:
        name: of the command.
        arguments: of the command line.
        status: with which it must end.
        text: its standard input.
        env: the whole environment; that of the tests by default.
        timeout: seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(text, encoding="utf-8", errors="surrogateescape")
        argv = ["acqo", *map(str, (name, *arguments))]
        process = CONTEXT.Process(target=_run, args=(argv, files, dict(env or os.environ), Path.cwd()))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(argv, timeout, stderr=files[2].read_text(errors="replace"))
        out, err = (file.read_text(encoding="utf-8", errors="surrogateescape") for file in files[1:])
    assert process.exitcode == status, err[-3000:]
    return subprocess.CompletedProcess(argv, process.exitcode, out, err)


def two_processes():
    """The environments of two processes that communicate, as a launcher sets them."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    return [shared | {"RANK": rank, "LOCAL_RANK": rank, "CUDA_VISIBLE_DEVICES": ""} for rank in "01"]


def run_in_two_processes(name, *arguments, env):
    """What two processes of a command print, which communicate."""
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda one: run_command(name, *arguments, env=env | one), two_processes())
        return "".join(process.stdout for process in done)


def _run(argv, files, environment, folder):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for descriptor, (file, mode) in enumerate(zip(files, ("rb", "wb", "wb"), strict=True)):
        with open(file, mode) as opened:
            os.dup2(opened.fileno(), descriptor)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8", "surrogateescape")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "surrogateescape")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    sys.argv = argv
    try:
        main()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()

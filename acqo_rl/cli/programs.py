"""Runs the programs of a longer run, one after another."""

import os
import signal
import subprocess
from collections.abc import Sequence
from types import FrameType

from acqo_rl.errors import AcqoError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_program(title: str, words: Sequence[str]) -> None:
    """Runs a program and waits for its end.

    The program and its own processes are a session. SIGINT, SIGTERM and SIGHUP are passed on to all of them, unless
    this process ignores them.

    Args:
        title: names the program in errors.
        words: the program and its arguments.

    Raises:
        AcqoError: the program failed.
        KeyboardInterrupt: a signal ended the program.
    """
    received: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        received.append(number)
        if process.poll() is None:
            os.killpg(process.pid, number)

    process = subprocess.Popen(words, start_new_session=True)
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in heeded}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received or status == 130:
        raise KeyboardInterrupt
    if status != 0:
        raise AcqoError(
            f"{title} failed with status {status}; see its message above. What is finished is kept; fix the cause and "
            "run the same command again."
        )

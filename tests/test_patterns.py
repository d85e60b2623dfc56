"""Regular expressions take time proportional to the text: no query, document or reply can freeze a process.

Every pattern searches texts that repeat its own literals and common characters, where backtracking is slow.
"""

import ast
import json
import re
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import acqo_rl

PER_CHARACTER = 4e-6  # seconds of CPU; a linear pattern takes a hundredth of it, a quadratic one soon takes more
START = 0.02
SIZES = (2_000, 12_000, 200_000)
TEXTS = (*'aA1 \n\t.,-([{<"\u4e00', "a ", "Aa ", "1 ", "a, ", "and ", "A-", "A.a", "Aa' ")
LITERALS = re.compile(r"[^\\()\[\]{}*+?|^$.]+")
IN_CALLS = re.compile(r"""\bre\.(?:search|match|fullmatch|split|findall|finditer|sub)\(\s*(r?"(?:[^"\\]|\\.)*")""")

COLLECT = """
import importlib, json, re, sys
from pathlib import Path
found, compile_ = set(), re.compile

def record(pattern, flags=0):
    compiled = compile_(pattern, flags)
    if sys._getframe(1).f_globals["__name__"].startswith("acqo_rl") and isinstance(compiled.pattern, str):
        found.add((compiled.pattern, compiled.flags))
    return compiled

re.compile = record
import acqo_rl
folder = Path(acqo_rl.__file__).parent
for file in folder.rglob("*.py"):
    if "re.compile(" in file.read_text():
        importlib.import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts))
print(json.dumps(sorted(found)))
"""


def seconds(compiled, text, limit):
    """CPU time of one search; stops after the limit."""

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    begin = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        for _ in compiled.finditer(text):
            pass
    except TimeoutError:
        return limit
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - begin


def slow(pattern, flags):
    """Describes the first text on which a pattern takes too long."""
    compiled = re.compile(pattern, flags)
    runs = LITERALS.findall(pattern)[:4]
    repeated = [*TEXTS, *runs, *(run + c for run in runs for c in "a ")]
    for start, unit in dict.fromkeys([*product([""], repeated), *product(runs, TEXTS)]):
        before = 0.0
        for size in SIZES:
            limit = START + PER_CHARACTER * size
            text = start + unit * (size // len(unit)) + "\n\x00"
            took = seconds(compiled, text, 2 * limit)
            if took >= limit:
                return f"{pattern[:100]!r} takes {took:.2f} s or more on {len(text):,} characters: {text[:40]!r}..."
            # Six times the length would take 36 times as long if it were quadratic.
            if took < max(limit / 40, 15 * before):
                break
            before = took
    return None


def slow_ones(patterns):
    """The descriptions of slow patterns; in a process of its own, whose only thread gets the timer's signals."""
    given = json.dumps(patterns)
    return json.loads(subprocess.run([sys.executable, __file__], input=given, check=True, stdout=-1, text=True).stdout)


def test_every_pattern_takes_time_proportional_to_the_text():
    output = subprocess.run([sys.executable, "-c", COLLECT], check=True, capture_output=True, text=True).stdout
    modules = Path(acqo_rl.__file__).parent.rglob("*.py")
    literals = [ast.literal_eval(one) for file in modules for one in IN_CALLS.findall(file.read_text())]
    found = [*json.loads(output.splitlines()[-1]), *((literal, 0) for literal in literals)]
    assert literals
    assert slow_ones(found) == []


def test_patterns_that_backtrack_are_found():
    slow_patterns = [(pattern, 0) for pattern in (r"(?:\w+ ?)+:", r"\s+$", r"(a|aa)+$", r"<b>.*?</b>.*?<b>")]
    assert len(slow_ones(slow_patterns)) == len(slow_patterns)


if __name__ == "__main__":
    json.dump([problem for given in json.load(sys.stdin) if (problem := slow(*given))], sys.stdout)

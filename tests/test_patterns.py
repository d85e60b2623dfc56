"""Regular expressions take time proportional to the text: no query, document or reply can freeze a process.

Every pattern that a module compiles, or passes as a literal to a function of ``re``, searches texts that repeat what
the pattern itself repeats, which is where backtracking is slow.
"""

import ast
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from re import _compiler as compiler
from re import _constants as code
from re import _parser as parser

import pytest

import acqo_rl

PER_CHARACTER = 2e-6  # seconds of CPU; a linear pattern takes a hundredth of it, a quadratic one soon takes more
START = 0.02
SIZES = (2_000, 20_000, 200_000)
FUNCTIONS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
TEXTS = (*'aA1 \n\t.,-([{<"\u4e00', "a ", "Aa ", "1 ", "a, ", "and ")
COMMON = "aA1 .,-_'\"()\n\u4e00:;!?/"


COLLECT = """
import importlib, json, pkgutil, re, sys
found, compile_ = set(), re.compile

def record(pattern, flags=0):
    compiled = compile_(pattern, flags)
    if sys._getframe(1).f_globals["__name__"].startswith("acqo_rl") and isinstance(compiled.pattern, str):
        found.add((compiled.pattern, compiled.flags))
    return compiled

re.compile = record
import acqo_rl
for module in pkgutil.walk_packages(acqo_rl.__path__, "acqo_rl."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps(sorted(found)))
"""


def literal_patterns() -> set[tuple[str, int]]:
    """The literals that functions of ``re`` get inside of functions."""
    found = set()
    for file in Path(acqo_rl.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and node.args and isinstance(getattr(node.args[0], "value", None), str)):
                continue
            if ast.unparse(node.func) in {f"re.{name}" for name in FUNCTIONS}:
                rest = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
                flags = [getattr(re, name[3:]) for name in map(ast.unparse, rest) if re.fullmatch(r"re\.[A-Z]+", name)]
                found.add((node.args[0].value, int(sum(flags))))
    return found


def compiled_patterns() -> set[tuple[str, int]]:
    """The patterns that modules compile when they are imported; in a process of its own, because it changes ``re``."""
    output = subprocess.run([sys.executable, "-c", COLLECT], check=True, capture_output=True, text=True).stdout
    return {(pattern, flags) for pattern, flags in json.loads(output.splitlines()[-1])}


class Example:
    """Writes texts that a parsed pattern, or one of its parts, matches."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.groups: dict[int, str] = {}

    def of(self, parsed) -> str:
        return "".join(self.one(op, value) for op, value in parsed)

    def one(self, op, value) -> str:
        if op is code.LITERAL:
            return chr(value)
        if op is code.NOT_LITERAL:
            return "a" if value != ord("a") else "b"
        if op is code.ANY:
            return "a"
        if op is code.IN:
            return self.character(value)
        if op is code.BRANCH:
            return self.of(self.random.choice(value[1]))
        if op is code.SUBPATTERN:
            self.groups[value[0]] = text = self.of(value[3])
            return text
        if op is code.ATOMIC_GROUP:
            return self.of(value)
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            return "".join(self.of(value[2]) for _ in range(max(value[0], 1)))
        if op is code.GROUPREF:
            return self.groups.get(value, "")
        return ""

    def character(self, choices) -> str:
        compiled = compiler.compile(parser.SubPattern(parser.State(), [(code.IN, choices)]))
        named = [
            chr(value if op is code.LITERAL else value[0]) for op, value in choices if op in (code.LITERAL, code.RANGE)
        ]
        return self.random.choice([c for c in [*COMMON, *named] if compiled.match(c)] or ["a"])


def repeated(parsed, before: str, example: Example) -> Iterator[tuple[str, str]]:
    """Pairs of what a match has before a repetition and one repetition, for each repetition of a pattern."""
    for op, value in parsed:
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            if value[1] > 20:
                for _ in range(3):
                    yield before, example.of(value[2])
            yield from repeated(value[2], before, example)
        elif op is code.BRANCH:
            for branch in value[1]:
                yield from repeated(branch, before, example)
        elif op is code.SUBPATTERN:
            yield from repeated(value[3], before, example)
        elif op in (code.ASSERT, code.ASSERT_NOT):
            yield from repeated(value[1], before, example)
        elif op is code.ATOMIC_GROUP:
            yield from repeated(value, before, example)
        before += example.one(op, value)


def hostile(pattern: str, flags: int) -> Iterator[Callable[[int], str]]:
    """Functions that write a hostile text of about a given length."""
    parsed = parser.parse(pattern, flags)
    pairs = {("", unit) for unit in TEXTS} | set(repeated(parsed, "", Example(0)))
    units = sorted({(before, unit) for before, unit in pairs if unit})
    for before, unit in units:
        for start in {"", before}:
            for whole in {unit, before + unit}:
                yield lambda n, start=start, whole=whole: start + whole * (n // len(whole)) + "\n\x00"


def seconds(compiled: re.Pattern[str], text: str, limit: float) -> float:
    """CPU time of one search; stops after the limit."""

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    begin = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        for _ in compiled.finditer(text):
            pass
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except TimeoutError:
        return limit
    finally:
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    return time.process_time() - begin


def slow(pattern: str, flags: int) -> str | None:
    """Describes the first text on which a pattern takes too long."""
    compiled = re.compile(pattern, flags)
    for write in hostile(pattern, flags):
        for size in SIZES:
            limit = START + PER_CHARACTER * size
            text = write(size)
            took = seconds(compiled, text, 2 * limit)
            if took >= limit:
                return f"{pattern[:100]!r} takes {took:.2f} s or more on {len(text):,} characters: {text[:40]!r}..."
            if took < limit / 40:  # ten times the length would take a hundred times as long, if it were quadratic
                break
    return None


def slow_ones(patterns: list[tuple[str, int]]) -> list[str]:
    """The descriptions of slow patterns; in a process of its own, whose only thread gets the timer's signals."""
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(patterns), check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def test_every_pattern_takes_time_proportional_to_the_text():
    found = compiled_patterns() | literal_patterns()
    assert found
    assert slow_ones(sorted(found)) == []


@pytest.mark.parametrize("pattern", [r"(?:\w+ ?)+:", r"\s+$", r"(a|aa)+$", r"<b>.*?</b>.*?<b>"])
def test_patterns_that_backtrack_are_found(pattern):
    assert slow_ones([(pattern, 0)])


if __name__ == "__main__":
    json.dump([problem for given in json.load(sys.stdin) if (problem := slow(*given))], sys.stdout)

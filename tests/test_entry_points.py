"""Every command that the project shows is one that it accepts: configs, examples of --help, blocks of the README."""

from __future__ import annotations

import ast
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from shared import load_script

from acqo_rl import command

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    p for folder in ("train", "scripts") for p in (ROOT / folder).rglob("*.py") if "make_parser" in p.read_text()
)
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
LAUNCHES = sorted((ROOT / "configs" / "accelerate").glob("*.yaml"))
PROGRAM = re.compile(r"(?:\w+=\S+ )*(?:\S*/)?(?:python3?|accelerate|torchrun|bash)\s")
BLOCK = re.compile(r"^ *```(?:bash|sh|console)\n(.*?)^ *```", re.M | re.S)


def name(path):
    return str(path.relative_to(ROOT))


def parser_of(script):
    return load_script(script, f"entry_{script.stem}").make_parser()


def commands(text):
    """The lines of a text that run a program; a backslash joins lines."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    stripped = (line.strip().removeprefix("$ ") for line in lines)
    return [line for line in stripped if PROGRAM.match(line) and re.search(r"\.(py|sh)\b", line)]


def accept(line, tmp_path):
    """Parses a command with the parser of its script; fails where there is no such script, file or setting."""
    words = shlex.split(re.sub(r"\s[|>&].*", "", line), comments=True)
    place = next(i for i, word in enumerate(words) if word.endswith((".py", ".sh")))
    script, arguments = ROOT / words[place], words[place + 1 :]
    assert script.is_file(), line
    if "--config_file" in words[:place]:
        assert (ROOT / words[words.index("--config_file") + 1]).is_file(), line
    if script.suffix == ".py":
        arguments = [str(ROOT / a) if i and arguments[i - 1] == "--config" else a for i, a in enumerate(arguments)]
        command.parse(parser_of(script), arguments)


def examples():
    shown = [(name(s), line) for s in SCRIPTS for line in commands(ast.get_docstring(ast.parse(s.read_text())))]
    shown += [
        (name(p), line)
        for p in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
        for block in BLOCK.findall(p.read_text())
        for line in commands(block)
    ]
    shown += [(name(p), p.read_text().splitlines()[0].removeprefix("# ")) for p in CONFIGS]
    return shown


@pytest.mark.parametrize(("where", "line"), examples(), ids=lambda value: value.replace("/", "."))
def test_what_is_shown_is_accepted(where, line, tmp_path):
    accept(line, tmp_path)


@pytest.mark.parametrize("config", CONFIGS, ids=name)
def test_config_opens_with_the_command_that_reads_it(config):
    first = config.read_text().splitlines()[0]
    read_by_accelerate = r"--config_file \S+ " if config in LAUNCHES else ""
    assert re.match(rf"# (python|accelerate launch) {read_by_accelerate}(train|scripts)/\S+\.py ", first)
    assert f"{'--config_file' if config in LAUNCHES else '--config'} {name(config)}" in first


@pytest.mark.parametrize(
    ("file", "processes", "kind"),
    [("one_gpu", 1, "one"), ("ddp_8", 8, "ddp"), ("fsdp2_8", 8, "fsdp"), ("zero2_8", 8, "deepspeed")],
)
def test_accelerate_launches_the_processes_that_its_config_names(file, processes, kind):
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    config = str(ROOT / "configs" / "accelerate" / f"{file}.yaml")
    words = ["--config_file", config, str(ROOT / "train" / "grpo.py")]
    launch = _validate_launch_command(launch_command_parser().parse_args(words))[0]
    assert (launch.num_processes, launch.num_machines, launch.mixed_precision) == (processes, 1, "bf16")
    kinds = {"ddp": launch.multi_gpu, "fsdp": launch.use_fsdp, "deepspeed": launch.use_deepspeed}
    assert [name for name, used in kinds.items() if used] == ([kind] if kind != "one" else [])
    assert not launch.cpu
    if kind == "fsdp":
        assert launch.fsdp_version == 2
    if kind == "deepspeed":
        assert launch.zero_stage == 2


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_help_answers_at_once_and_shows_examples(script):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2  # torch alone takes more
    assert f"python {name(script)}" in done.stdout or f"accelerate launch {name(script)}" in done.stdout
    assert "--config FILE" in done.stdout
    without_help = re.findall(r"^  (--\w+)(?: \S+)*\n  --", done.stdout, re.M)
    assert not without_help


def test_a_wrong_example_would_be_noticed(tmp_path):
    for line in (
        "python train/grpo.py --surprise 1",
        "python train/nowhere.py",
        "python train/grpo.py --config no.yaml",
    ):
        with pytest.raises((AssertionError, SystemExit, command.ConfigError)):
            accept(line, tmp_path)

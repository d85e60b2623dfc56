"""All shown commands are valid: in configs, in the examples of --help and in the README."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from shared import help_of, load_script

from acqo_rl.cli import COMMANDS, command, main, module_of

ROOT = Path(__file__).parents[1]
CLI = ROOT / "acqo_rl" / "cli"
SKILL = ROOT / "acqo_rl" / "templates" / "skill.md"
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
PROGRAM = re.compile(r"(?:\w+=\S+ )*(?:\S*/)?(?:acqo|python3?|accelerate|torchrun|bash)\s")
BLOCK = re.compile(r"^ *```(?:bash|sh|console)\n(.*?)^ *```", re.M | re.S)
LAUNCHER = re.compile(r"main\(\[\"([\w-]+)\"")


def name(path):
    return str(path.relative_to(ROOT))


def commands(text):
    """The lines of a text that run the command, a script or a launcher; lines with a backslash are joined."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    stripped = (line.strip().removeprefix("$ ") for line in lines)
    return [line for line in stripped if PROGRAM.match(line) and re.search(r"\bacqo [a-z]|\.(py|sh)\b", line)]


def accept(line, tmp_path):
    """Parses a command with its parser; fails for an unknown command, script, file or setting."""
    words = shlex.split(re.sub(r"\s[|>&].*", "", line), comments=True)
    if "--config_file" in words:
        assert (ROOT / words[words.index("--config_file") + 1]).is_file(), line
    place = next(i for i, word in enumerate(words) if Path(word).name == "acqo" or word.endswith((".py", ".sh")))
    if Path(words[place]).name == "acqo":
        command_name = words[place + 1]
        arguments = words[place + 2 :]
        assert command_name in COMMANDS, line
        main = module_of(command_name).main
    else:
        script = ROOT / words[place]
        arguments = words[place + 1 :]
        assert script.is_file(), line
        if script.suffix == ".sh":
            return
        launched = LAUNCHER.search(script.read_text())
        module = load_script(script, f"entry_{script.stem}")
        main = module_of(launched[1]).main if launched else module.main
    at_root = [
        str(ROOT / a) if i and arguments[i - 1] == "--config" and "/" in a else a for i, a in enumerate(arguments)
    ]
    command.parse(main, at_root)


def examples():
    shown = [(command_name, line) for command_name in COMMANDS for line in commands(module_of(command_name).__doc__)]
    shown += [
        (name(p), line)
        for p in sorted([*(ROOT / "benchmarks").glob("*.py"), ROOT / "scripts" / "show_demo.py"])
        for line in commands(ast.get_docstring(ast.parse(p.read_text())))
    ]
    shown += [
        (name(p), line)
        for p in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
        for block in BLOCK.findall(p.read_text())
        for line in commands(block)
    ]
    shown += [(name(SKILL), line) for block in BLOCK.findall(SKILL.read_text()) for line in commands(block)]
    shown += [(name(p), p.read_text().splitlines()[0].removeprefix("# ")) for p in CONFIGS]
    return shown


@pytest.mark.parametrize(("where", "line"), examples(), ids=lambda value: value.replace("/", "."))
def test_shown_commands_are_valid(where, line, tmp_path):
    accept(line, tmp_path)


def test_help_imports_nothing_heavy_and_shows_examples():
    shown, heavy = help_of(*COMMANDS)
    assert not heavy
    for command_name, printed in shown.items():
        assert f"acqo {command_name}" in printed
        assert "--config FILE" in printed
        assert not re.findall(r"^  (--\w+)(?: \S+)*\n  --", printed, re.M)


@pytest.mark.parametrize("launcher", sorted((ROOT / "train").glob("*.py")), ids=name)
def test_a_launcher_runs_its_command(launcher):
    done = subprocess.run([sys.executable, str(launcher), "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: acqo {LAUNCHER.search(launcher.read_text())[1]} ")


def test_the_command_lists_subcommands_also_for_an_unknown_one(capsys):
    main([])
    listed = capsys.readouterr().out
    assert all(f"  {command_name} " in listed for command_name in COMMANDS)
    assert sorted(COMMANDS) == sorted(
        p.stem.replace("_", "-") for p in CLI.glob("*.py") if "\ndef main(config: " in p.read_text()
    )
    with pytest.raises(SystemExit) as ended:
        main(["serach"])
    assert ended.value.code == 2
    assert "(did you mean search?)" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--skill"])
    assert "Give one folder" in capsys.readouterr().err


def test_the_skill_has_the_open_format(tmp_path):
    """agentskills.io: the name is the folder's; a description of at most 1,024 characters says when to use it."""
    main(["--skill", str(tmp_path / "skills")])
    file = tmp_path / "skills" / "adaptive-search" / "SKILL.md"
    front = yaml.safe_load(file.read_text().split("---\n")[1])
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert front["name"] == file.parent.name
    assert "Use when" in front["description"]
    assert len(front["description"]) <= 1024
    assert not re.search(r"[<>]", front["description"])


def test_the_extras_of_every_command_are_documented():
    table = (ROOT / "docs" / "install.md").read_text().partition("## Extras")[2]
    assert set(COMMANDS) <= set(re.findall(r"`([\w-]+)`", table))

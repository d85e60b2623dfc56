"""Settings from YAML and the command line, and errors without a traceback."""

from __future__ import annotations

import json
import subprocess
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import yaml
from shared import ACQO

from acqo_rl.cli import COMMANDS, command, module_of, parser_of
from acqo_rl.cli.fields import group, setting
from acqo_rl.errors import AcqoError, ConfigError

SAMPLES = {
    "root_path": "/a",
    "cors_origins": ["https://a.example"],
    "allowed_hosts": ["a.example"],
    "eval_measure": "AP@10",
    "trainer": {"max_steps": 3},
    "hops": 3,
    "vary": {"num_variants": [1, 3]},
}
"""Values of settings that must satisfy more than their type."""


def kind_of(hint):
    """The type of a setting that may also be ``None``."""
    return next(one for one in get_args(hint) if one is not NoneType) if NoneType in get_args(hint) else hint


def default_of(item):
    return item.default if item.default_factory is MISSING else item.default_factory()


def sample(item, hint):
    """A value that is not the default, as YAML holds it."""
    kind, default = kind_of(hint), default_of(item)
    if item.name in SAMPLES:
        return SAMPLES[item.name]
    if is_dataclass(kind):
        first = fields(kind)[0]
        return {first.name: sample(first, get_type_hints(kind)[first.name])}
    if get_origin(kind) is Literal:
        return next(choice for choice in get_args(kind) if choice != default)
    if get_origin(kind) is list and get_origin(get_args(kind)[0]) is Literal:
        return [*get_args(get_args(kind)[0])]
    if get_origin(kind) is list:
        return [1] if get_args(kind) == (int,) else ["rules=a b"]
    if get_origin(kind) is dict and is_dataclass(get_args(kind)[1]):
        return {"one": {"command": "x", "tolerance": 0.5}}
    if dict in (kind, get_origin(kind)):
        return {"a": "x y"}
    if kind is bool:
        return not default
    if kind is int:
        return 2 * (default if isinstance(default, int) else 0) or 1
    if kind is float:
        return (default if isinstance(default, float) else 0.0) / 2 or 0.5
    return "x y"


def typed(name, value):
    """A setting as arguments."""
    if isinstance(value, list):
        return [f"--{name}", *map(str, value)]
    if isinstance(value, dict):
        as_json = ((key, json.dumps(one) if isinstance(one, list) else one) for key, one in value.items())
        return [word for key, one in as_json for word in typed(f"{name}.{key}", one)]
    return [f"--{name}", str(value)]


def settings_of(name):
    kind = parser_of(name).config_type
    return [(item, get_type_hints(kind)[item.name]) for item in fields(kind)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_setting_is_read_from_yaml_and_from_the_command_line(name, tmp_path):
    file = tmp_path / "config.yaml"
    needed = {item.name: sample(item, hint) for item, hint in settings_of(name) if default_of(item) is MISSING}
    for item, hint in settings_of(name):
        value = sample(item, hint)
        file.write_text(yaml.safe_dump({**needed, item.name: value}))
        config = ["--config", str(file)]
        read = getattr(command.parse(module_of(name).main, config), item.name)
        if is_dataclass(read):
            [(key, value)] = value.items()
            assert getattr(read, key) == value
        else:
            assert read == value or is_dataclass(read["one"])
        if item.metadata.get("positional"):
            continue
        required = [word for key, one in needed.items() if key != item.name for word in typed(key, one)]
        words = [*required, *typed(item.name, sample(item, hint))]
        assert getattr(command.parse(module_of(name).main, words), item.name) == read
        default = default_of(item)
        if isinstance(default, int | float | str):  # the command line overrides the file
            overridden = command.parse(module_of(name).main, [*config, *typed(item.name, default)])
            assert getattr(overridden, item.name) == default


@dataclass
class Inner:
    note: str = setting("A text.", "")
    limit: int = setting("A number.", 0)


@dataclass
class Config:
    data: str = setting("A folder.")
    rate: float = setting("A number.", 0.1)
    limit: int = setting("A whole number.", 0)
    names: list[str] = setting("Names.", ["a"])
    stage: Literal["explore", "converge"] = setting("A choice.", "explore")
    fast: bool = setting("A switch.", True)
    note: str | None = setting("A text or nothing.", None)
    more: dict = setting("A mapping.", {})
    inner: Inner = group("Settings of another class.", Inner)


def main(config: Config) -> None:
    """A command."""


def run(error):
    def failing(config: Config):
        raise error

    command.run(failing, ["--data", "x"])


@pytest.fixture
def parse(tmp_path):
    def _parse(text, *arguments):
        (tmp_path / "config.yaml").write_text(text)
        given = ["--config", str(tmp_path / "config.yaml"), *arguments]
        return command.parse(main, given)

    return _parse


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("data: x\nrate: {a: 1}\n", "rate"),
        ("data: x\nlimit: 2.5\n", r"limit.*2\.5"),
        ("data: x\nstage: third\n", "stage.*'third'"),
        ("data: x\nfast: perhaps\n", "fast"),
        ("data: x\ninner: {limits: 3}\n", r"inner\.limits.*mean limit\?"),
        ("data: x\nstagee: converge\n", r"stagee.*mean stage\?"),
        ("limit: 3\n", "data is required"),
        ("- x\n", "mapping"),
        ("data: [\n", "--help"),
    ],
)
def test_an_invalid_file_is_rejected(parse, text, named):
    with pytest.raises(ConfigError, match=named):
        parse(text)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--limi", "3"], "--limi"),  # an abbreviation, which a later version might read differently
        (["--stagee=x"], r"--stagee.*mean --stage\?"),
        (["--rate.x", "1"], "rate"),
        (["--more", "no mapping"], "more"),
        (["--config"], "config"),
    ],
)
def test_invalid_arguments_are_rejected(parse, words, named):
    with pytest.raises(ConfigError, match=named):
        parse("data: x\n", *words)


def test_keys_of_a_mapping_are_given_one_by_one_and_others_are_kept(parse):
    words = "--more.rate 1e-6 --more.steps=60 --more.fast True --more.note none --more.off null --more.inner.b 5"
    more = parse("data: x\nmore: {steps: 3, inner: {a: 1, b: 2}}\n", *words.split()).more
    assert more == {"steps": 60, "inner": {"a": 1, "b": 5}, "rate": 1e-6, "fast": True, "note": "none", "off": None}
    assert parse("data: x\n", "--more", '{"rate": 2}').more == {"rate": 2}


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (AcqoError("do this"), 2, "error: do this\n"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (NotADirectoryError(20, "Not a directory", "file/folder"), 2, "file/folder"),
        (ModuleNotFoundError("No module named 'ir_measures'", name="ir_measures"), 2, "acqo-rl[train]"),
    ],
)
def test_expected_errors_have_no_traceback(capsys, error, status, message):
    with pytest.raises(SystemExit) as ended:
        run(error)
    assert ended.value.code == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), FileNotFoundError(2, "x"), ModuleNotFoundError("x", name="acqo_rl.nonsense")]
)
def test_unexpected_errors_keep_their_traceback(error):
    with pytest.raises(type(error)):
        run(error)


def test_help_shows_the_text_the_defaults_and_what_is_required():
    shown = command.Parser(Config, "Does it.\n\n    python it.py --data x\n").format_help()
    assert "\n    python it.py --data x\n" in shown
    assert "(default: explore)" in shown
    assert shown.count("(required)") == 1
    assert "None" not in shown
    assert "Keys: note, limit." in shown


@pytest.mark.parametrize("words", [["reproduce", "--list"], ["--help"], ["train", "--help"]])
def test_a_closed_output_pipe_causes_no_traceback(words):
    with subprocess.Popen([*ACQO, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_shipped_config_is_found_by_its_name_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "embedded").mkdir()
    monkeypatch.chdir(tmp_path)
    assert command.find_config("embedded", "train") == command.configs_folder() / "train" / "embedded.yaml"
    for wrong in ("embeded", "configs/train/embedded.yaml"):
        with pytest.raises(FileNotFoundError, match=r"\(did you mean embedded\?\)"):
            command.find_config(wrong, "train")

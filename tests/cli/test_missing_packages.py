"""A command without the packages of its extra names the extra."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from acqo_rl.cli import command


@dataclass
class Empty:
    """No settings."""


def run(error):
    def main(_):
        raise error

    command.run(main, command.make_parser(Empty, description=""), [])


def test_a_missing_package_of_an_extra_ends_the_command_with_the_extra(capsys):
    with pytest.raises(SystemExit) as end:
        run(ModuleNotFoundError("No module named 'ir_measures'", name="ir_measures"))
    assert end.value.code == 2
    assert "acqo-rl[train]" in capsys.readouterr().err


def test_another_missing_module_is_a_fault_of_the_code():
    with pytest.raises(ModuleNotFoundError):
        run(ModuleNotFoundError("No module named 'acqo_rl.nonsense'", name="acqo_rl.nonsense"))


@pytest.mark.parametrize(
    ("module", "extra"), [("ir_measures", "train"), ("matplotlib", "train"), ("fastapi.routing", "serve")]
)
def test_the_extra_of_a_module_is_found(module, extra):
    assert command.extra_of(module) == extra


@pytest.mark.parametrize("module", ["", "numpy", "acqo_rl.nonsense"])
def test_a_module_of_no_extra_has_none(module):
    assert command.extra_of(module) is None

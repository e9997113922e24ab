"""Commands that stay are read without typer's parser: the same values, and typer for everything else."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from accelwatch.cli.startup import long_lived

CASES: dict[str, list[list[str]]] = {
    "agent": [
        [],
        ["--web.listen-address", "127.0.0.1:1", "--web.listen-address=[::1]:2", "--interval=2s"],
        [
            "--config.file",
            "x.yaml",
            "--collect",
            "processes,all",
            "-b",
            "nvidia",
            "--log.level=debug",
        ],
    ],
    "hub": [
        ["-c", "hub.yaml", "--targets-slurm", "--remote-write", "http://h/api"],
        ["--scrape.mode", "stream", "--web.listen-address", ":1"],
    ],
    "fleet": [
        ["--targets-file", "t.json", "--json", "--strict", "--timeout", "3s", "-f", "temp > 85"],
        ["--replay", "x.awr", "--no-backtest", "--color=never", "-n", "3"],
    ],
    "dashboard": [["--replay", "demo", "--loop", "--readonly"], ["--interval", "500ms", "--ascii"]],
    "stream": [[], ["--interval", "3"]],
}


def recorded(monkeypatch: pytest.MonkeyPatch, command: str) -> list[dict[str, Any]]:
    """The structs with which the function under a command is called, from now on."""
    from accelwatch.cli import options

    calls: list[dict[str, Any]] = []

    def call_with(function: Callable[..., None], values: dict[str, Any]) -> None:
        def record(**structs: Any) -> None:
            calls.append(structs)

        record.__signature__ = __import__("inspect").signature(function)  # type: ignore[attr-defined]
        record.__annotations__ = function.__annotations__
        record.__module__ = function.__module__
        genuine(record, values)

    genuine = options.call_with
    monkeypatch.setattr(options, "call_with", call_with)
    return calls


@pytest.mark.parametrize(
    ("command", "words"), [(name, words) for name, cases in CASES.items() for words in cases]
)
def test_it_reads_what_typer_reads(
    command: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = recorded(monkeypatch, command)
    run = long_lived.prepared([command, *words])
    assert run is not None
    assert run() == 0
    from accelwatch.cli import arguments
    from accelwatch.cli.startup import app

    result = CliRunner().invoke(app.build(command), arguments.normalised([command, *words]))
    assert result.exit_code == 0, result.output
    plain, with_typer = calls
    assert repr(plain).replace("None", "[]") == repr(with_typer).replace("None", "[]")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["pick"],
        ["agent", "--help"],
        ["agent", "-h"],
        ["agent", "extra"],
        ["agent", "--interval"],
        ["agent", "--no-such", "1"],
        ["fleet", "--json=yes"],
        ["hub", "--scrape.mod", "poll"],
    ],
)
def test_anything_else_is_for_typer(words: list[str]) -> None:
    assert long_lived.prepared(words) is None


def test_an_exit_code_is_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    from accelwatch.cli import options

    def leave(*_: object) -> None:
        raise typer.Exit(6)

    monkeypatch.setattr(options, "call_with", leave)
    run = long_lived.prepared(["stream"])
    assert run is not None
    assert run() == 6


def test_typers_parser_is_not_loaded() -> None:
    program = (
        "import sys; from accelwatch.cli.startup import long_lived;"
        "assert all(long_lived.prepared([name]) for name in long_lived.COMMANDS);"
        "print([name for name in ('pydantic', 'rich') if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"

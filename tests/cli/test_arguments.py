"""The fast parser and typer's command come from one table and must understand words alike."""

import pytest
import typer

from accelwatch.cli.arguments import OPTIONS, Arguments, normalised, parse, split_list
from accelwatch.cli.startup.app import build


def test_the_table_and_the_struct_have_the_same_options() -> None:
    assert [option.name for option in OPTIONS] == list(Arguments.__struct_fields__)
    defaults = Arguments()
    assert all(getattr(defaults, option.name) == option.default for option in OPTIONS)


def test_no_two_options_share_a_flag() -> None:
    flags = [flag for option in OPTIONS for flag in option.flags]
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Arguments()),
        (["snapshot"], Arguments()),
        (["--json"], Arguments(json=True)),
        (["snapshot", "--format=csv"], Arguments(format="csv")),
        (["-d", "0,1", "-d", "all"], Arguments(device=("0,1", "all"))),
        (["-i", "0"], Arguments(device=("0",))),
        (["--watch"], Arguments(watch="2s")),
        (["--watch", "--json"], Arguments(watch="2s", json=True)),
        (["-w", "500ms", "-n", "3"], Arguments(watch="500ms", count=3)),
        (["--watch=1"], Arguments(watch="1")),
        (["-w", "5x"], Arguments(watch="5x")),
        (["-lms", "500", "-n", "2"], Arguments(watch="500ms", count=2)),
        (["--loop-ms", "1000"], Arguments(watch="1000ms")),
        (["-l", "1"], Arguments(watch="1")),
        (
            ["--query-gpu=name", "--format=csv,noheader"],
            Arguments(query_gpu="name", format="csv,noheader"),
        ),
    ],
)
def test_words_are_understood(words: list[str], expected: Arguments) -> None:
    assert parse(words) == expected
    assert typed(words) == expected


def typed(words: list[str]) -> Arguments:
    """What typer makes of the same words."""
    import typer

    from accelwatch.cli.startup import app

    command = typer.main.get_command(build())
    with command.make_context("accelwatch", normalised(words)) as context:
        if not context._protected_args and not context.args:
            return app._arguments(context.params)
        name, sub, rest = command.resolve_command(  # type: ignore[attr-defined]
            context, [*context._protected_args, *context.args]
        )
        assert name == "snapshot"
        with sub.make_context(name, rest, parent=context) as inner:
            return app._arguments(inner.params)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--nonsense"], ["--fields"], ["-n", "x"], ["--json=1"], ["-d0"], ["word"]],
)
def test_everything_unusual_is_left_to_typer(words: list[str]) -> None:
    assert parse(words) is None


def test_lists_are_split() -> None:
    assert split_list(("a,b", " c ", "")) == ("a", "b", "c")


def test_each_command_is_the_same_alone() -> None:
    whole = typer.main.get_command(build())
    assert isinstance(whole, typer.core.TyperGroup)
    for name, command in whole.commands.items():
        if name == "snapshot":
            continue
        alone = typer.main.get_command(build(name))
        assert isinstance(alone, typer.core.TyperGroup)
        assert set(alone.commands) == {"snapshot", name}
        assert type(alone.commands[name]) is type(command)


def test_a_dashboard_begins_its_recording_again_without_an_interval() -> None:
    words = ["dashboard", "--replay", "demo", "--loop"]
    assert normalised(words) == words
    assert normalised(["snapshot", "--loop"]) == ["snapshot", "--loop", "2s"]

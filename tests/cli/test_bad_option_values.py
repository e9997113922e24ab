"""An option with a form of its own names itself, the value and an allowed form when it is wrong."""

from collections.abc import Iterator

import click
import pytest

from accelwatch.cli.startup.app import build


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands by their words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def wrong_values(option: click.Option) -> Iterator[tuple[str, str]]:
    """(a wrong value, what the refusal names as allowed) of an option with a form."""
    kind = option.type
    if isinstance(kind, click.Choice):
        yield "nonsense", str(kind.choices[0])
    elif isinstance(kind, click.IntRange):
        yield "many", f"{kind.min} or more" if kind.max is None else str(kind.max)
        if kind.min is not None:
            yield str(kind.min - 1), str(kind.min)
        if kind.max is not None:
            yield str(kind.max + 1), str(kind.max)
    elif kind.name == "integer":
        yield "many", "write one such as 8"
    elif option.metavar in ("DURATION", "[INTERVAL]"):
        yield "soon", "write 500ms, 30s, 5m, 2h or 1d"
    elif option.metavar == "SIZE":
        yield "large", "write 10GiB"


CASES = [
    pytest.param(command, option.opts[0], value, allowed, id=f"{words} {option.opts[0]} {value}")
    for words, command in commands(build())
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
    for value, allowed in wrong_values(option)
]


def test_the_options_of_all_commands_are_tried() -> None:
    flags = {case.values[1] for case in CASES}
    assert {"--count", "--timeout", "--for", "--max-size", "--format", "--port"} <= flags
    assert len(CASES) > 80


@pytest.mark.parametrize(("command", "flag", "value", "allowed"), CASES)
def test_a_wrong_value_is_refused_with_option_value_and_an_allowed_form(
    command: click.Command, flag: str, value: str, allowed: str
) -> None:
    with pytest.raises(click.BadParameter) as raised:
        command.make_context("accelwatch", [flag, value])
    text = raised.value.format_message()
    assert flag in text
    assert repr(value) in text
    assert allowed in text

"""What commands declare in their annotations, as click's parameters and back as structs.

A field of a struct is declared once: its value, its default and its option. Structs nest.
"""

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import click
import msgspec

from accelwatch.cli.arguments import Arguments
from accelwatch.cli.completion import offered
from accelwatch.cli.parameters import Argument, Option, Setting
from accelwatch.cli.value_types import CHECKED_TEXTS, number

# A flag's value for the settings; None and empty lists are not given.
FlagValue = str | list[str] | bool | None


class Group(click.Group):
    """A group of commands; its help lists them in the order in which they were added."""

    def __init__(self, name: str | None = None, **attributes: Any) -> None:
        super().__init__(name, **{"no_args_is_help": True, **attributes})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As they were added; click sorts them."""
        del ctx
        return list(self.commands)


def shared_option(name: str, meaning: str = "") -> Option:
    """The option of `accelwatch snapshot` of this name; with `meaning` instead of its help."""
    declared = _declaration(get_type_hints(Arguments, include_extras=True)[name])
    assert isinstance(declared, Option)
    return msgspec.structs.replace(declared, help=meaning or declared.help)


def command(function: Callable[..., None], **attributes: Any) -> click.Command:
    """The command of a function, whose parameters are options, arguments and structs of options."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[click.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if _is_struct(hints[name]):
            parameters += parameters_of(hints[name])
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            parameters.append(_parameter(name, hints[name], default))

    def run(**values: Any) -> None:
        # A struct and an option in it may have the same name.
        function(
            **{
                name: made(hint, values) if _is_struct(hint) else _value(hint, values[name])
                for name, hint in hints.items()
                if name != "return"
            }
        )

    run.__doc__ = function.__doc__
    return click.Command(
        function.__name__,
        params=parameters,
        callback=run,
        help=inspect.getdoc(function),
        **attributes,
    )


def subcommand(group: click.Group, name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Decorates a function that is the command of this name in the group."""

    def add(function: Callable[..., None]) -> click.Command:
        added = command(function)
        group.add_command(added, name)
        return added

    return add


def parameters_of(table: type[msgspec.Struct]) -> list[click.Parameter]:
    """The parameters that a struct and those in it declare; fields without a declaration are none."""
    parameters: list[click.Parameter] = []
    for field, hint in _fields(table):
        if _is_struct(hint):
            parameters += parameters_of(hint)
        elif _declaration(hint) is not None:
            default = ... if field.required else field.default
            parameters.append(_parameter(field.name, hint, default))
    return parameters


def made(table: type[msgspec.Struct], values: dict[str, Any]) -> Any:
    """The struct of values by name, as click has read them."""
    accepted = {
        field.name: made(hint, values) if _is_struct(hint) else _value(hint, values[field.name])
        for field, hint in _fields(table)
        if _is_struct(hint) or (_declaration(hint) is not None and field.name in values)
    }
    return table(**accepted)


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    """A parameter of click; a default of `...` is none, so that it is required."""
    declared = _declaration(hint)
    kind, many = _kind(hint)
    if isinstance(default, Enum):
        default = default.value
    more: dict[str, Any] = (
        {} if default is ... else {"default": default or None if many else default}
    )
    if isinstance(declared, Argument):
        return _argument(name, declared, kind, nargs=-1 if many else 1, **more)
    assert declared is not None, f"{name} declares neither option nor argument"
    flags = declared.flags or (f"--{name.replace('_', '-')}",)
    if kind is bool:
        more["is_flag"] = True
    else:
        more |= {"type": _click_type(kind, declared), "metavar": declared.metavar}
    if completion := declared.completion:
        more["shell_complete"] = lambda _ctx, _parameter, text: offered(completion, text)
    return click.Option(
        [*flags, name],
        help=declared.help,
        multiple=many,
        required=default is ...,
        hidden=declared.hidden,
        show_default=default != "",
        **more,
    )


def _argument(name: str, declared: Argument, kind: type, **more: Any) -> click.Argument:
    required = "default" not in more
    metavar, meaning = declared.metavar, declared.help
    if metavar is not None and not required and not metavar.startswith("["):
        metavar = f"[{metavar}]"
    if more.get("default"):
        meaning = f"{meaning}  [default: {more['default']}]"
    kind_of_value = _click_type(kind, Option(flags=()))
    return click.Argument(
        [name], type=kind_of_value, required=required, metavar=metavar, help=meaning, **more
    )


def _click_type(kind: type, declared: Option) -> click.ParamType[Any]:
    if kind is int:
        return number(declared.min, declared.max)
    if kind is Path:
        return click.Path(path_type=Path)
    if issubclass(kind, Enum):
        return click.Choice([member.value for member in kind])
    return CHECKED_TEXTS.get(declared.metavar or "", click.STRING)


def _kind(hint: Any) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    kind = _plain(hint)
    if get_origin(kind) in (list, tuple):
        return get_args(kind)[0], True
    return kind, False


def _plain(hint: Any) -> Any:
    """A type without its annotations, and without None."""
    kind = get_args(hint)[0]
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (member for member in get_args(kind) if member is not type(None))
    return kind


def _value(hint: Any, value: Any) -> Any:
    """What click has read, as it is declared: a list that is not given is None where that may be."""
    kind = _plain(hint)
    if isinstance(kind, type) and issubclass(kind, Enum) and value is not None:
        return kind(value)
    if not isinstance(value, tuple) or get_origin(kind) is not list:
        return value
    return list(value) or (None if kind is not get_args(hint)[0] else [])


def _declaration(hint: Any) -> Option | Argument | None:
    declared = (element for element in get_args(hint)[1:] if isinstance(element, Option | Argument))
    return next(declared, None)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _fields(table: type[msgspec.Struct]) -> Iterator[tuple[msgspec.structs.FieldInfo, Any]]:
    hints = get_type_hints(table, include_extras=True)
    for field in msgspec.structs.fields(table):
        yield field, hints[field.name]


def settings_named(table: type[msgspec.Struct]) -> dict[str, str]:
    """The dotted setting that each of the options stands for, by field; those of inner tables too."""
    settings: dict[str, str] = {}
    for field, hint in _fields(table):
        if _is_struct(hint):
            settings |= settings_named(hint)
        for element in get_args(hint)[1:]:
            if isinstance(element, Setting):
                settings[field.name] = element.dotted
    return settings


def settings_of(options: msgspec.Struct) -> dict[str, FlagValue]:
    """The settings that the options stand for; a switch that is off is not given.

    Lists are split at their commas.
    """
    settings: dict[str, FlagValue] = {}
    for field, hint in _fields(type(options)):
        value = getattr(options, field.name)
        if _is_struct(hint):
            settings |= settings_of(value)
        for element in get_args(hint)[1:]:
            if isinstance(element, Setting):
                settings[element.dotted] = (
                    split(value) if isinstance(value, list) else value or None
                )
    return settings


def split(values: list[str] | None) -> list[str] | None:
    """The items of a flag that is repeated or has commas; None when it is not given."""
    return [entry for value in values for entry in value.split(",")] if values else None

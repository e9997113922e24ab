"""Options as rows that are declared once: a field of a struct is its value, its default and its flag.

`command` turns a function of such structs into one of options, as typer wants it; rows that the one-shot
path parses itself are in `cli.arguments`.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import msgspec

from accelwatch.cli.arguments import OPTIONS, Option
from accelwatch.cli.completion import completer
from accelwatch.cli.flag import Flag

FlagValue = str | list[str] | bool | None
"""A flag as the settings take it; None and empty lists are not given."""


class Setting(NamedTuple):
    """Mark of an option that stands for a setting of the configuration, such as `web.config_file`."""

    dotted: str


def declared(option: Option, *default: Any) -> Any:
    """What typer is told of an option; without a default, for `Annotated`."""
    import typer

    return typer.Option(
        *default,
        *option.flags,
        help=option.help,
        metavar=option.metavar,
        min=option.least,
        autocompletion=completer(option.completion) if option.completion else None,
    )


def add_options(
    rows: Iterable[Option], function: Callable[..., None], *first: inspect.Parameter
) -> Callable[..., None]:
    """The function, which takes `**values`, as typer wants it: with an option for each row."""
    parameters = [*first, *(_parameter(option) for option in rows)]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def _parameter(option: Option) -> inspect.Parameter:
    kind: Any = list[option.kind] if option.many else option.kind  # type: ignore[name-defined]
    if option.default is None:
        kind = kind | None
    default = list(option.default) if option.many else option.default
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=declared(option, default),
        annotation=kind,
    )


def row(name: str, meaning: str = "") -> Any:
    """The one-shot path's option of this name, for `Annotated`; with `meaning` instead of its help."""
    option = next(option for option in OPTIONS if option.name == name)
    return declared(msgspec.structs.replace(option, help=meaning or option.help))


def flag(name: str, meaning: str = "") -> Flag:
    """The same for a command that does without typer while it runs."""
    option = next(option for option in OPTIONS if option.name == name)
    return Flag(option.flags, meaning or option.help, option.metavar, option.completion)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function with an option for each field of its structs in their place.

    A field is an option when its annotation has a `Flag` or a `typer.Option`; one that is a struct
    brings its own.
    """

    hints = get_type_hints(function, include_extras=True)
    expanded: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if _is_table(hints[name]):
            expanded += _parameters(hints[name])
        else:
            keyword = inspect.Parameter.KEYWORD_ONLY
            expanded.append(parameter.replace(kind=keyword, annotation=hints[name]))
    return _WithOptions(function, expanded)


class _WithOptions:
    """A function of structs as one of options; what typer reads of it has options of typer's."""

    def __init__(self, function: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
        functools.update_wrapper(
            self, function, ("__module__", "__name__", "__qualname__", "__doc__")
        )
        self._function = function
        self._parameters = parameters

    def __call__(self, **values: Any) -> None:
        call_with(self._function, values)

    @property
    def __signature__(self) -> inspect.Signature:
        parameters = self._parameters
        if "typer" in sys.modules:
            parameters = [
                parameter.replace(annotation=_translated(parameter.annotation))
                for parameter in parameters
            ]
        return inspect.Signature(parameters)

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {
            parameter.name: parameter.annotation
            for parameter in self.__signature__.parameters.values()
        }


def _translated(annotation: Any) -> Any:
    """An annotation with an option of typer's in the place of a flag."""
    kind, *elements = get_args(annotation) if _is_option(annotation) else (annotation,)
    return Annotated[kind, *map(_option_of, elements)] if elements else annotation


def _option_of(element: Any) -> Any:
    if not isinstance(element, Flag):
        return element
    import typer

    completion = completer(element.completion) if element.completion else None
    return typer.Option(
        *element.flags, help=element.help, metavar=element.metavar, autocompletion=completion
    )


def call_with(function: Callable[..., None], values: dict[str, Any]) -> None:
    """Call a function of structs with options by name; one that is left out has its default."""
    hints = get_type_hints(function, include_extras=True)
    names = inspect.signature(function).parameters
    tables = {name: _made(hints[name], values) for name in names if _is_table(hints[name])}
    function(**tables, **{name: values[name] for name in names if name not in tables})


def declarations(
    function: Callable[..., None],
) -> Iterator[tuple[inspect.Parameter, tuple[str, ...]]]:
    """Each option of a command as `command` made it, and its flags."""
    for parameter in inspect.signature(function).parameters.values():
        for element in get_args(parameter.annotation)[1:]:
            if isinstance(element, Flag):
                yield parameter, element.flags
            elif _is_typers(element):
                # In an annotation the first flag stands where else the default would.
                declared = (element.default, *(element.param_decls or ()))
                flags = [flag for flag in declared if isinstance(flag, str)]
                yield parameter, tuple(flags) or (f"--{parameter.name.replace('_', '-')}",)


def _is_typers(element: Any) -> bool:
    """Whether it is an option of typer's, which is loaded then."""
    models = sys.modules.get("typer.models")
    return models is not None and isinstance(element, models.OptionInfo)


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _rows(table: type[msgspec.Struct]) -> Iterator[tuple[msgspec.structs.FieldInfo, Any]]:
    hints = get_type_hints(table, include_extras=True)
    for field in msgspec.structs.fields(table):
        yield field, hints[field.name]


def _is_option(hint: Any) -> bool:
    return any(isinstance(element, Flag) or _is_typers(element) for element in get_args(hint)[1:])


def _parameters(table: type[msgspec.Struct]) -> Iterator[inspect.Parameter]:
    for field, hint in _rows(table):
        if _is_table(hint):
            yield from _parameters(hint)
        elif _is_option(hint):
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else field.default,
                annotation=hint,
            )


def _made(table: type[msgspec.Struct], values: dict[str, Any]) -> msgspec.Struct:
    accepted = {
        field.name: _made(hint, values) if _is_table(hint) else values[field.name]
        for field, hint in _rows(table)
        if _is_table(hint) or (_is_option(hint) and field.name in values)
    }
    return table(**accepted)


def settings_named(table: type[msgspec.Struct]) -> dict[str, str]:
    """The dotted setting that each of the options stands for, by field; those of inner tables too."""
    settings: dict[str, str] = {}
    for field, hint in _rows(table):
        if _is_table(hint):
            settings |= settings_named(hint)
        for element in get_args(hint)[1:]:
            if isinstance(element, Setting):
                settings[field.name] = element.dotted
    return settings


def settings_of(options: msgspec.Struct) -> dict[str, FlagValue]:
    """The settings that the options stand for; a switch that is off is not given.

    Lists are taken apart at their commas.
    """
    settings: dict[str, FlagValue] = {}
    for field, hint in _rows(type(options)):
        value = getattr(options, field.name)
        if _is_table(hint):
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

"""A plug-in's own options as a struct of its own, with complaints that never repeat a value."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import inspect

from accelwatch.base.errors import ConfigError, OptionsError
from accelwatch.base.names.nearest import unknown_key

Options = TypeVar("Options", bound=msgspec.Struct)

_SECRET = re.compile(r"(^|_)(password|passwd|secret|token|api_?key|private_?key)$", re.IGNORECASE)
# What a key ends with whose value is the content of a file; a secret is given so only.
_FROM_FILE = "_file"


def secret_key(name: str) -> bool:
    """Whether a key of this name holds a secret itself; `*_file` keys name a file and do not."""
    return _SECRET.search(name) is not None


def checked(options: Mapping[str, object], kind: type[Options]) -> Options:
    """The options as a struct. Raises OptionsError with every mistake, without the values."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    written = [key + _FROM_FILE if secret_key(key) else key for key in fields]
    mistakes: dict[str, str] = {}
    for key, value in options.items():
        if key not in fields:
            mistakes[key] = unknown_key(key, written)
            continue
        try:
            msgspec.convert(value, fields[key].type)
        except msgspec.ValidationError as error:
            mistakes[key] = _mistake(key, fields[key].type, value, str(error))
    for key, field in fields.items():
        if field.required and key not in options:
            mistakes[key] = "is missing"
    if mistakes:
        raise OptionsError(mistakes)
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from None


def _mistake(key: str, expected: Any, value: object, error: str) -> str:
    """What is expected of a value that does not fit; deep inside one, the words of msgspec."""
    description = describe_type(inspect.type_info(expected))
    if not description:
        return error.replace("`$", f"`{key}")
    unquoted = isinstance(value, int | float) and description.startswith("text")
    return f"expected {description}" + ("; put it in quotes" if unquoted else "")


def describe_type(expected: inspect.Type) -> str:
    """What a value of a type looks like, in words; empty for what needs many."""
    if isinstance(expected, inspect.Metadata):
        return describe_type(expected.type)
    if isinstance(expected, inspect.UnionType):
        alternatives = [describe_type(alternative) for alternative in expected.types]
        return " or ".join(alternatives) if all(alternatives) else ""
    if isinstance(expected, inspect.LiteralType):
        return f"one of {', '.join(map(str, expected.values))}"
    if isinstance(expected, inspect.VarTupleType) and isinstance(
        expected.item_type, inspect.StrType
    ):
        return f"a list of {_between(expected.min_length, expected.max_length)}texts"
    if isinstance(expected, inspect.DictType) and isinstance(expected.value_type, inspect.StrType):
        return "a mapping with a text for each key"
    if isinstance(expected, inspect.StrType):
        length = _between(expected.min_length, expected.max_length)
        return f"text of {length}characters" if length else "text"
    if isinstance(expected, inspect.IntType | inspect.FloatType):
        return f"a number {_between(expected.ge, expected.le, 'from ')}".rstrip()
    return "true or false" if isinstance(expected, inspect.BoolType) else ""


def _between(least: float | None, most: float | None, prefix: str = "") -> str:
    """The limits of a number, or of a count of things; nothing where there are none."""
    if most is None:
        return "" if least is None else f"{prefix or 'at least '}{least} "
    return f"{prefix and 'of '}at most {most} " if least is None else f"{prefix}{least} to {most} "


def check_url(url: str, *, key: str = "url") -> str:
    """The URL, if a message can be sent to it. Raises ConfigError, which does not repeat it."""
    try:
        components = urlsplit(url)
        well = (
            components.scheme in ("http", "https") and components.hostname and components.port != 0
        )
    except ValueError:
        well = None
    if not well or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError(f"{key}: expected a URL, https://HOST/PATH")
    if components.username is not None:
        raise ConfigError(f"{key}: no user or password belongs into a URL")
    return url

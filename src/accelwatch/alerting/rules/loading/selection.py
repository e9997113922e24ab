"""`select` of a rule as one expression: `{vendor: nvidia, labels: {pool: train}}`."""

from collections.abc import Iterator, Mapping

from accelwatch.base.errors import ConfigError


def selecting(written: object) -> str:
    """The condition that a selection stands for; empty for none. Raises ConfigError.

    A field has one value or a list of them; `labels` has a mapping of its own; text is an expression.
    """
    if isinstance(written, str):
        return written
    if not isinstance(written, Mapping):
        raise ConfigError("a mapping of fields to values, or an expression, is expected")
    return " and ".join(_conditions(written))


def _conditions(fields: Mapping[object, object]) -> Iterator[str]:
    for name, value in fields.items():
        if name == "labels":
            if not isinstance(value, Mapping):
                raise ConfigError("labels: a mapping of labels to values is expected")
            for label, expected in value.items():
                yield _condition(f'labels["{_quotable(str(label))}"]', expected)
        else:
            yield _condition(str(name), value)


def _condition(name: str, value: object) -> str:
    if isinstance(value, list):
        if not value:
            raise ConfigError(f"{name}: the list is empty, so nothing would be selected")
        return f"{name} in ({', '.join(_literal(name, choice) for choice in value)},)"
    return f"{name} == {_literal(name, value)}"


def _literal(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ConfigError(f"{name}: text, a number or a list of them is expected")
    return f'"{_quotable(value)}"' if isinstance(value, str) else repr(value)


def _quotable(text: str) -> str:
    if not text.isprintable():
        raise ConfigError("text has characters that cannot be printed")
    return text.replace("\\", "\\\\").replace('"', '\\"')

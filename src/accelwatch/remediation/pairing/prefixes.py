"""Names of the second scheduler's steps and texts, kept apart from the first's by its name. Pure."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from accelwatch.action.step import Step

# In no name of a step or a text of an action.
_SEPARATOR = "/"
Value = TypeVar("Value")


def prefixed(name: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """With the name before each key."""
    return {f"{name}{_SEPARATOR}{key}": value for key, value in values.items()}


def without_prefix(name: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Those with the name before them, without it."""
    prefix = f"{name}{_SEPARATOR}"
    return {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }


def others_of(name: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Those without the name before them."""
    prefix = f"{name}{_SEPARATOR}"
    return {key: value for key, value in values.items() if not key.startswith(prefix)}


def has_prefix(name: str, key: str) -> bool:
    """Whether the name stands before a key."""
    return key.startswith(f"{name}{_SEPARATOR}")


def names_before(values: Mapping[str, Value]) -> set[str]:
    """The names that stand before some of the keys."""
    return {key.partition(_SEPARATOR)[0] for key in values if _SEPARATOR in key}


def is_of(name: str, step: Step) -> bool:
    """Whether a step is the second scheduler's."""
    return has_prefix(name, step.kind)


def step_with_prefix(name: str, step: Step) -> Step:
    """A step of the second scheduler, as the pair proposes it."""
    return msgspec.structs.replace(
        step,
        kind=f"{name}{_SEPARATOR}{step.kind}",
        original=prefixed(name, step.original),
        text=f"{name}: {step.text}",
    )


def step_without_prefix(name: str, step: Step) -> Step:
    """A step that the pair proposed, as the second scheduler knows it."""
    return msgspec.structs.replace(
        step,
        kind=step.kind.removeprefix(f"{name}{_SEPARATOR}"),
        original=without_prefix(name, step.original),
        text=step.text.removeprefix(f"{name}: "),
    )

"""A name of a plug-in that is nearly that of an optional ability is told with the right one."""

import inspect
from types import ModuleType
from typing import Protocol

import pytest

from accelwatch import backend
from accelwatch.action import contract
from accelwatch.plugins.near_misses import near_misses


class Plain:
    """Nothing but what the contract asks for."""

    def open(self) -> None: ...


class Misspelled(Plain):
    """Two abilities that nobody finds, one of them an attribute."""

    visibilty = "X"

    def readable_sleep(self) -> None: ...

    def wait_event(self) -> None: ...


class Both(Plain):
    """The right name, and one beside it that is alike on purpose."""

    def wait_events(self) -> None: ...

    def wait_event(self) -> None: ...


class Other(Plain):
    """Names that only resemble one."""

    def optional(self) -> None: ...

    def wait(self) -> None: ...

    def _wait_event(self) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "complaints"),
    [
        (Plain(), []),
        (
            Misspelled(),
            [
                "readable_sleep is not used; did you mean readable_asleep of ReadableAsleep?",
                "visibilty is not used; did you mean visibility of Confining?",
                "wait_event is not used; did you mean wait_events of EventSource?",
            ],
        ),
        (Both(), []),
        (Other(), []),
    ],
)
def test_near_misses_of_a_backend(plugin: object, complaints: list[str]) -> None:
    assert near_misses(plugin, backend.Backend, backend.OPTIONAL) == complaints


@pytest.mark.parametrize("module", [backend, contract])
def test_every_optional_protocol_of_a_contract_is_looked_at(module: ModuleType) -> None:
    optional = {
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and Protocol in kind.__bases__
        and kind not in (backend.Backend, contract.Action)
    }
    assert set(module.OPTIONAL) == optional

"""Modules that others import at their head and we seldom call: they are loaded when first used.

What a process of months does not use takes memory for months. asyncio imports ssl, whose libraries take
3 MiB, for a server without TLS; subprocess imports locale for text, and we read bytes.
"""

import sys
import threading
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

SELDOM = (
    *("asyncio.sslproto", "hashlib", "hmac", "ipaddress", "locale"),
    *("msgspec.inspect", "shutil", "ssl", "tempfile"),
)
_TYPE_CHECKED = {"ssl": "SSLSocket"}
"""A class by its module: asyncio asks of each socket whether it is one."""
_lock = threading.Lock()


class Deferred(ModuleType):
    """Stands for a module until something of it is used, and passes everything on to it from then on."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_loaded(self.__name__), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_loaded(self.__name__), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_loaded(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(_loaded(self.__name__))


class _DeferredClass:
    """A class of such a module: nothing is an instance of it before the module is loaded."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __instancecheck__(self, instance: object) -> bool:
        if isinstance(sys.modules.get(self._module), Deferred):
            return False
        return isinstance(instance, self._real())

    def __mro_entries__(self, _: tuple[object, ...]) -> tuple[type]:
        return (self._real(),)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def _real(self) -> type:
        real: type = getattr(_loaded(self._module), self._name)
        return real


def defer(names: Iterable[str] = SELDOM) -> None:
    """Have modules loaded by their first use; those that are loaded already stay as they are.

    Who imports one after its first use gets the module itself.
    """
    for name in names:
        if name not in sys.modules:
            module = Deferred(name)
            module.__dict__["__spec__"] = ModuleSpec(name, None)
            if name in _TYPE_CHECKED:
                class_name = _TYPE_CHECKED[name]
                module.__dict__[class_name] = _DeferredClass(name, class_name)
            sys.modules[name] = module


def _loaded(name: str) -> ModuleType:
    """The module itself, imported as any other: by one thread, while others wait."""
    with _lock:
        if isinstance(sys.modules.get(name), Deferred):
            del sys.modules[name]
    return import_module(name)

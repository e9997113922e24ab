"""How jobs get the devices of each vendor, as the vendors' backends declare it."""

import re
from collections.abc import Iterable, Iterator

from accelwatch.backend import Confining, Visibility
from accelwatch.base.errors import PluginError
from accelwatch.plugins import entry_points as plugins
from accelwatch.schema.device import Device


class Declared:
    """Declarations by vendor; a backend's module is imported when one of its devices is queried.

    `addresses` (`module:attribute`) are backends of the command line that no entry point names.
    """

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._addresses = tuple(address for address in addresses if ":" in address)
        self._of: dict[str, Visibility | None] = {}
        self._faults: list[str] = []

    def of(self, device: Device) -> Visibility | None:
        """The declaration of the device's vendor; None when no backend has one."""
        vendor = device.vendor
        if vendor not in self._of:
            first = (device.backend, vendor)
            declared = (row.visibility for row in self._rows(first) if row.vendor == vendor)
            self._of[vendor] = next(declared, None)
        return self._of[vendor]

    def vendors(self) -> list[str]:
        """All vendors with a declaration; imports every installed backend."""
        return sorted({row.vendor for row in self._rows(())})

    @property
    def faults(self) -> list[str]:
        """Why declarations could not be read."""
        return self._faults

    def _rows(self, first: tuple[str, ...]) -> Iterator[Confining]:
        """Declarations of all backends, those of the names in `first` before the others'."""
        installed = plugins.addresses(plugins.BACKENDS)
        ranked = sorted(installed, key=lambda name: name not in first)
        for address in (*self._addresses, *(installed[name] for name in ranked)):
            if (row := self._row(address)) is not None:
                yield row

    def _row(self, address: str) -> Confining | None:
        try:
            factory = plugins.load_address(address)
        except PluginError as error:
            self._blame(str(error))
            return None
        if not isinstance(factory, Confining):
            return None
        if fault := _fault(factory.visibility):
            self._blame(f"plug-in {address} breaks its contract: {fault}")
            return None
        return factory

    def _blame(self, fault: str) -> None:
        if fault not in self._faults:
            self._faults.append(fault)


def _fault(visibility: object) -> str:
    if not isinstance(visibility, Visibility):
        return f"visibility is a {type(visibility).__name__}, not a Visibility"
    try:
        re.compile(visibility.uuid_pattern or "")
    except (re.error, TypeError) as error:
        return f"its pattern of a uuid is none: {error}"
    return ""

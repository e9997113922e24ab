"""One device as libhlml reports it: the fields of hl-smi's query and more, and its ports."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from accelwatch.base.errors import DeviceLost, DeviceTimeout, ReadError
from accelwatch.schema.reading import Collected, Link
from accelwatch_gaudi.document import Card
from accelwatch_gaudi.hlml import Handle, Hlml, NotSupported
from accelwatch_gaudi.hlml_calls import CALLS, ROWS, TEXTS, Call

SOURCE = "hlml"
FABRIC = "ethernet"
# Stands in a field whose call failed: no number, so `error`.
_FAILED = "failed"
# HLML_CLOCKS_THROTTLE_REASON_POWER and _THERMAL (hlml.h).
_POWER, _THERMAL = 1, 2


class HlmlCard:
    """A device's handle, and what is remembered of it."""

    def __init__(self, hlml: Hlml, handle: Handle, number: int, bus: str) -> None:
        self._hlml = hlml
        self._handle = handle
        self.number = number
        self._bus = bus
        self._slow: dict[str, str] = {}
        self._up: dict[int, bool | None] = {}

    def identity(self) -> Card:
        """Who it is. Raises ReadError: without a uuid that there is, it would be another device."""
        fields = {"uuid": self._uuid()}
        for field, function in TEXTS:
            text = self._read_text(partial(self._hlml.text, function, self._handle))
            fields[field] = "" if text == _FAILED else text
        return self._card(fields)

    def _uuid(self) -> str:
        try:
            return self._hlml.text("hlml_device_get_uuid", self._handle)
        except NotSupported:
            return ""

    def card(self, *, slow: bool) -> Card:
        """Its fields; what hardly changes is queried when `slow`, or when it is not known yet.

        Raises DeviceLost and DeviceTimeout.
        """
        fields = {call.field: self._number(call) for call in CALLS if not call.slow}
        if slow or not self._slow:
            self._slow = {call.field: self._number(call) for call in CALLS if call.slow}
            self._slow.update(self._rows_and_ecc())
            self._up = self._ports()
        return self._card({**self._slow, **fields})

    def collect_ports(self, out: Collected) -> tuple[Link, ...]:
        """The ports as they were read last."""
        reported = [up for up in self._up.values() if up is not None]
        if reported:
            out.put("interconnect_links", sum(reported), FABRIC, "up")
            out.put("interconnect_links", len(reported) - sum(reported), FABRIC, "down")
        for port, up in self._up.items():
            if up is not None:
                out.put("link_up", int(up), FABRIC, str(port))
        return tuple(Link(fabric=FABRIC, link=str(port), up=up) for port, up in self._up.items())

    def _card(self, fields: Mapping[str, str]) -> Card:
        present = {name: text for name, text in fields.items() if text}
        return Card(number=self.number, pci_bus_id=self._bus, fields=present)

    def _number(self, call: Call) -> str:
        arguments = [ctypes.c_uint(argument) for argument in call.arguments]
        read = partial(self._hlml.number, call.function, self._handle, *arguments)
        value = self._read_text(partial(read, wide=call.wide, at=call.at))
        return f"{value} {call.unit}" if value.isdecimal() and call.unit else value

    def _rows_and_ecc(self) -> dict[str, str]:
        """Replaced rows, and whether ECC is on."""
        counts = {}
        for field, cause in ROWS:
            count = partial(self._hlml.replaced_rows, self._handle, cause)
            counts[field] = self._read_text(count)
        modes = self._read_text(
            lambda: "{} {}".format(*self._hlml.pair("hlml_device_get_ecc_mode", self._handle))
        )
        current, _, pending = modes.partition(" ")
        return {**counts, "ecc.mode.current": current, "ecc.mode.pending": pending}

    def _ports(self) -> dict[int, bool | None]:
        try:
            numbers: Sequence[int] = self._hlml.ports(self._handle)
        except (DeviceLost, DeviceTimeout):
            raise
        except ReadError:
            return {}
        return {port: self._port(port) for port in numbers}

    def _port(self, port: int) -> bool | None:
        try:
            return self._hlml.port_is_up(self._handle, port)
        except (DeviceLost, DeviceTimeout):
            raise
        except ReadError:
            return None

    def _read_text(self, call: Callable[[], object]) -> str:
        """What was answered; empty where there is no such call. Raises DeviceLost and DeviceTimeout."""
        try:
            return str(call())
        except NotSupported:
            return ""
        except (DeviceLost, DeviceTimeout):
            raise
        except ReadError:
            return _FAILED


def collect_throttle(out: Collected, card: Card) -> None:
    """By the reasons in force."""
    mask = card.fields.get("throttle")
    if mask is None or not mask.isdecimal():
        return
    for reason, bit in (("power", _POWER), ("thermal_hardware", _THERMAL)):
        out.put("throttle_active", int(bool(int(mask) & bit)), reason)

"""Who a Mac is: its serial number, model, chip and system, from three commands of macOS. Pure."""

import re

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_apple.registry import Properties, text_of
from accelwatch_apple.sample import Measurement

SYSCTLS = ("hw.model", "hw.memsize", "machdep.cpu.brand_string", "kern.osproductversion")
_LINE = re.compile(r"([a-z][\w.]*): (.*)")
_MEMSIZE = re.compile(r"\d{1,18}", re.ASCII)
_SEPARATORS = re.compile(r"[^a-z0-9]+")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a Mac; None for what no command reported."""

    serial: str | None = None
    # `Mac15,13`
    model: str | None = None
    # `Apple M3 Max`
    chip: str | None = None
    firmware: str | None = None
    # Version of macOS, of which the drivers are part.
    system: str | None = None
    memory_bytes: Measurement = Absence.UNSUPPORTED

    @property
    def identifier(self) -> str:
        """What identifies the machine, its serial number or else its model."""
        return (
            self.serial or _SEPARATORS.sub("-", (self.model or "mac").lower()).strip("-") or "mac"
        )


def sysctl_values(output: bytes) -> dict[str, str]:
    """What sysctl printed, by name."""
    lines = (_LINE.fullmatch(line) for line in output.decode("utf-8", "replace").splitlines())
    return {match[1]: match[2].strip() for match in lines if match is not None and match[2].strip()}


def profile_of(output: bytes) -> dict[str, object]:
    """The hardware overview of `system_profiler -json`; empty for what has none."""
    try:
        document = msgspec.json.decode(output)
    except DECODE_ERRORS:
        return {}
    listed = document.get("SPHardwareDataType") if isinstance(document, dict) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, dict) else {}


def machine_of(platform: Properties, values: Properties, profile: Properties) -> Machine:
    """Everything together: ioreg's platform, sysctl's values, system_profiler's overview."""
    size = str(values.get("hw.memsize", ""))
    return Machine(
        serial=text_of(platform, "IOPlatformSerialNumber") or text_of(profile, "serial_number"),
        model=text_of(values, "hw.model")
        or text_of(profile, "machine_model")
        or text_of(platform, "model"),
        chip=text_of(profile, "chip_type") or text_of(values, "machdep.cpu.brand_string"),
        firmware=text_of(profile, "boot_rom_version"),
        system=text_of(values, "kern.osproductversion"),
        memory_bytes=int(size) if _MEMSIZE.fullmatch(size) and int(size) else Absence.UNSUPPORTED,
    )

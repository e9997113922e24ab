"""What powermetrics prints: property lists, parts of them, and its text. Pure.

`freq_hz` is in MHz in spite of its name; power is in mW, energy in mJ of the sample's own time.
"""

import re

from accelwatch.backend.kit.text.quantity import HERTZ, PERCENT, WATTS, Units, quantity
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch_apple.property_lists import property_list
from accelwatch_apple.sample import (
    MAX_HERTZ,
    MEGA,
    MILLI,
    Measurement,
    Sample,
    block,
    clock,
    first_available,
    number,
    pressure_level,
    within,
)

_LINE = re.compile(r"\s*([A-Za-z][\w /()-]*?):\s*(\S.*?)\s*")
_STATE = re.compile(r"(\d{1,6}) ?MHz:")
_SAMPLE = "*** Sampled system activity"
_HEAD = re.compile(r"([\d.]+) ?(\S+?)(?: \(.*)?")


def parse(output: bytes) -> Sample:
    """What powermetrics printed, in either of its forms. Raises ReadError for what is none of them."""
    return parse_plist(output) if b"<key>" in output else parse_text(output)


def parse_plist(output: bytes) -> Sample:
    """The last whole property list; they are separated by NUL. Raises ReadError when there is none."""
    for chunk in reversed(output.split(b"\0")):
        document = _document(chunk.strip())
        if any(key in document for key in ("gpu", "processor", "thermal_pressure")):
            return _of_document(document)
    raise ReadError("powermetrics printed no property list of a GPU", code="garbage")


def _document(chunk: bytes) -> dict[str, object]:
    """Empty for what is no property list; a part of one is parsed as the inside of its dictionary."""
    if b"<plist" not in chunk:
        chunk = b"<plist><dict>" + chunk + b"</dict></plist>"
    document = property_list(chunk)
    return document if isinstance(document, dict) else {}


def _of_document(document: dict[str, object]) -> Sample:
    gpu = block(document, "gpu")
    idle = number(gpu.get("idle_ratio"), most=1.0)
    return Sample(
        busy=idle if isinstance(idle, Absence) else 1.0 - idle,
        hertz=clock(gpu.get("freq_hz")),
        max_hertz=_highest(gpu.get("dvfm_states")),
        watts=_watts(document, "gpu"),
        ane_watts=_watts(document, "ane"),
        pressure=pressure_level(document.get("thermal_pressure")),
    )


def _watts(document: dict[str, object], rail: str) -> Measurement:
    """As reported under `processor` or, by other releases, `gpu`; else energy by the sample's time."""
    sections = (block(document, "processor"), block(document, "gpu"))
    seconds = number(document.get("elapsed_ns"), 1e-9)
    candidates = [number(section.get(f"{rail}_power"), MILLI) for section in sections]
    for section in sections:
        joules = number(section.get(f"{rail}_energy"), MILLI)
        if isinstance(joules, Absence) or isinstance(seconds, Absence):
            candidates.append(joules if isinstance(joules, Absence) else Absence.UNSUPPORTED)
        else:
            candidates.append(within(joules / seconds) if seconds > 0 else Absence.ERROR)
    return first_available(*candidates)


def _highest(states: object) -> Measurement:
    """Of the frequencies that the GPU has, in MHz."""
    entries = states if isinstance(states, list) else []
    clocks = [clock(state.get("freq")) for state in entries if isinstance(state, dict)]
    valid = [value for value in clocks if not isinstance(value, Absence)]
    return max(valid) if valid else Absence.UNSUPPORTED


def parse_text(output: bytes) -> Sample:
    """The text form; of several samples the last. Raises ReadError for what is none."""
    for chunk in reversed(output.decode("utf-8", "replace").split(_SAMPLE)):
        lines = (_LINE.fullmatch(line) for line in chunk.splitlines())
        fields = {match[1].lower(): match[2] for match in lines if match is not None}
        if any(key.startswith("gpu ") or key == "current pressure level" for key in fields):
            return _of_lines(fields)
    raise ReadError("powermetrics printed nothing of a GPU", code="garbage")


def _of_lines(fields: dict[str, str]) -> Sample:
    residency = fields.get("gpu hw active residency", fields.get("gpu active residency"))
    states = [float(match[1]) * MEGA for match in _STATE.finditer(residency or "")]
    frequency = fields.get("gpu hw active frequency", fields.get("gpu active frequency"))
    return Sample(
        busy=within(_first(residency, PERCENT), 1.0),
        hertz=within(_first(frequency, HERTZ), MAX_HERTZ),
        max_hertz=within(max(states), MAX_HERTZ) if states else Absence.UNSUPPORTED,
        watts=within(_first(fields.get("gpu power"), _POWER)),
        ane_watts=within(_first(fields.get("ane power"), _POWER)),
        pressure=pressure_level(fields.get("current pressure level")),
    )


# Not without a unit.
_POWER: Units = {unit: factor for unit, factor in WATTS.items() if unit}


def _first(text: str | None, units: Units) -> Measurement:
    """The quantity with which a line begins; what stands in brackets is left out."""
    match = _HEAD.fullmatch(text or "")
    return quantity(f"{match[1]}{match[2]}" if match else text, units)

"""What `macmon pipe` prints, a record a line. Pure."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ReadError
from accelwatch_apple.sample import Measurement, Sample, block, clock, number

_MAX_FANS = 16


def parse_pipe(output: bytes) -> Sample:
    """The last whole record, one a line. Raises ReadError when there is none."""
    for line in reversed([output, *output.splitlines()]):
        try:
            record = msgspec.json.decode(line)
        except DECODE_ERRORS:
            continue
        if isinstance(record, dict) and ("gpu_power" in record or "memory" in record):
            return _of_record(record)
    raise ReadError("macmon printed no record of a GPU or of memory", code="garbage")


def _of_record(record: dict[str, object]) -> Sample:
    memory = block(record, "memory")
    size, used = number(memory.get("ram_total")), number(memory.get("ram_usage"))
    return Sample(
        busy=number(record.get("gpu_active_ratio"), most=1.0),
        hertz=clock(_frequency(record)),
        watts=number(record.get("gpu_power")),
        sram_watts=number(record.get("gpu_ram_power")),
        ane_watts=number(record.get("ane_power")),
        celsius=_celsius(number(block(record, "temp").get("gpu_temp_avg"))),
        memory_bytes=size,
        used_bytes=used,
        fans_rpm=_fans(record.get("fans")),
    )


def _frequency(record: dict[str, object]) -> object:
    """In MHz. Older releases have a pair, whose load is scaled by the clock and so is no busy time."""
    pair = record.get("gpu_usage")
    older = pair[0] if isinstance(pair, list) and len(pair) == 2 else None
    return record.get("gpu_freq_mhz", older)


def _fans(entries: object) -> tuple[Measurement, ...]:
    listed = entries[:_MAX_FANS] if isinstance(entries, list) else []
    return tuple(number(fan.get("rpm")) for fan in listed if isinstance(fan, dict))


def _celsius(value: Measurement) -> Measurement:
    """macmon says 0 where it knows no sensor of the chip."""
    return Absence.UNSUPPORTED if value == 0 else value

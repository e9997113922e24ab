"""amdgpu's hwmon folder: temperatures, power and its caps, fan, voltages, current clocks.

Source: Linux Documentation/gpu/amdgpu/thermal.rst. Units there: millidegrees, microwatts, millivolts,
hertz, rpm.
"""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_amd.sysfs.tree import Tree

_DRIVERS = ("amdgpu", "radeon")
_SENSORS = {"edge": "gpu", "junction": "junction", "mem": "memory"}
_CLOCKS = {"sclk": "graphics", "mclk": "memory"}
_RAILS = {"vddgfx": "graphics", "vddnb": "soc"}


class SensorFile(msgspec.Struct, frozen=True):
    """One file that holds one number, believed strictly above `lowest` and up to `highest`."""

    file: str
    key: str
    labels: tuple[str, ...]
    divisor: int
    lowest: int
    highest: int


def find_hwmon(device: Tree) -> Tree | None:
    """The folder whose `name` is the driver's; its number changes from boot to boot."""
    for name in device.below("hwmon").names("hwmon*"):
        folder = device.below(f"hwmon/{name}")
        if folder.text_or_none("name") in _DRIVERS:
            return folder
    return None


def _temperatures(hwmon: Tree) -> list[SensorFile]:
    """Exactly 0 degrees, and -273.15 for an unset limit, are what the driver shows for "no value"."""
    rows = []
    for number in (1, 2, 3):
        label = hwmon.text_or_none(f"temp{number}_label") or ("edge" if number == 1 else "")
        sensor = _SENSORS.get(label)
        if sensor is None:
            continue
        prefix = f"temp{number}_"
        for file, key, labels in (
            ("input", "temperature_celsius", (sensor,)),
            ("crit", "temperature_limit_celsius", (sensor, "slowdown")),
            ("emergency", "temperature_limit_celsius", (sensor, "shutdown")),
        ):
            rows.append(SensorFile(prefix + file, key, labels, 1000, 0, 250_000))
    return rows


_WATTS = 1_000_000
# Ten kilowatts: a module draws 1.4 kW; 65,535 W is the firmware's "not available".
_HIGHEST_POWER = 10_000 * _WATTS

_CAPS: tuple[SensorFile, ...] = (
    SensorFile("power1_cap", "power_limit_watts", ("enforced",), _WATTS, 0, _HIGHEST_POWER),
    SensorFile("power1_cap_default", "power_limit_watts", ("default",), _WATTS, 0, _HIGHEST_POWER),
    SensorFile("power1_cap_max", "power_limit_watts", ("max",), _WATTS, 0, _HIGHEST_POWER),
    SensorFile("power1_cap_min", "power_limit_watts", ("min",), _WATTS, -1, _HIGHEST_POWER),
)
_FAN = SensorFile("fan1_input", "fan_speed_rpm", ("0",), 1, -1, 50_000)


def _record(hwmon: Tree, row: SensorFile, out: Collected) -> Absence | None:
    """Record one row; returns why not, if not."""
    number = hwmon.integer(row.file)
    if isinstance(number, int):
        if row.lowest < number <= row.highest:
            out.put(row.key, number / row.divisor if row.divisor > 1 else number, *row.labels)
            return None
        number = Absence.ERROR
    if number is not Absence.UNSUPPORTED:
        out.miss(row.key, number, *row.labels)
    return number


def _power(hwmon: Tree, out: Collected) -> None:
    """The averaged figure where there is one: most boards have only that, MI300 only the other."""
    for file in ("power1_average", "power1_input"):
        if (
            _record(hwmon, SensorFile(file, "power_watts", (), _WATTS, -1, _HIGHEST_POWER), out)
            is None
        ):
            return


def _fan_ratio(hwmon: Tree, out: Collected) -> None:
    """The duty cycle, as AMD's tools show it; a fan that stands still has speed 0 at any duty.

    Some boards show a duty of 0 for a fan that turns, which means nothing.
    """
    pwm, full = hwmon.integer("pwm1"), hwmon.integer("pwm1_max")
    if isinstance(pwm, Absence) or isinstance(full, Absence):
        reasons = [value for value in (pwm, full) if isinstance(value, Absence)]
        if reasons[0] is not Absence.UNSUPPORTED:
            out.miss("fan_speed_ratio", reasons[0], "0")
        return
    rpm = out.values.get(("fan_speed_rpm", "0"))
    if rpm == 0:
        out.put("fan_speed_ratio", 0.0, "0")
    elif not 0 <= pwm <= full or full == 0 or (pwm == 0 and rpm):
        out.miss("fan_speed_ratio", Absence.ERROR, "0")
    else:
        out.put("fan_speed_ratio", pwm / full, "0")


def _clocks(hwmon: Tree, out: Collected) -> None:
    """A clock of 0 Hz is true: the graphics block is switched off while idle."""
    for number, unlabelled in ((1, "sclk"), (2, "mclk")):
        label = hwmon.text_or_none(f"freq{number}_label") or unlabelled
        domain = _CLOCKS.get(label)
        if domain is not None:
            row = SensorFile(f"freq{number}_input", "clock_hertz", (domain,), 1, -1, 20_000_000_000)
            _record(hwmon, row, out)


def _voltages(hwmon: Tree, out: Collected) -> None:
    """0 V is believed only of a graphics rail whose clock stands still."""
    for number in (0, 1):
        rail = _RAILS.get(hwmon.text_or_none(f"in{number}_label") or "")
        if rail is None:
            continue
        stopped = rail == "graphics" and out.values.get(("clock_hertz", "graphics")) == 0
        row = SensorFile(
            f"in{number}_input", "voltage_volts", (rail,), 1000, -1 if stopped else 0, 20_000
        )
        _record(hwmon, row, out)


def has_northbridge_rail(hwmon: Tree | None) -> bool:
    """Whether `vddnb` is shown, which the driver does for APUs only."""
    return hwmon is not None and hwmon.text_or_none("in1_label") == "vddnb"


def read_hwmon(hwmon: Tree, out: Collected, *, limits: bool) -> None:
    """Record what the folder has; the caps and thresholds only when `limits` is set."""
    _power(hwmon, out)
    for row in _temperatures(hwmon):
        if limits or row.key == "temperature_celsius":
            _record(hwmon, row, out)
    for row in _CAPS if limits else ():
        _record(hwmon, row, out)
    _record(hwmon, _FAN, out)
    _fan_ratio(hwmon, out)
    _clocks(hwmon, out)
    _voltages(hwmon, out)

"""Values over time: a signal is a sum of terms, each a pure function of the moment of a scenario."""

import math
import random

import msgspec

from accelwatch.base.durations import size_bytes
from accelwatch.base.errors import UsageError
from accelwatch.schema.reading import Number

# A number as a scenario gives it; text may be a size (`64GiB`) or in exponent form (`1.98e9`).
RawNumber = int | float | str

# Keeps sums of terms and integrals over years far from what a document can carry.
_LARGEST = 1e18
# Decimals kept of a value that is not whole by nature, so that a document stays readable.
_DECIMALS = 4


class Ramp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From one value to another within `over_s`, then held."""

    start: RawNumber
    end: RawNumber
    over_s: float


class Sine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A wave around `mean`; each further device of a group is `stagger_s` ahead."""

    mean: RawNumber = 0
    amplitude: RawNumber
    period_s: float
    stagger_s: float = 0.0


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Evenly distributed within `mean` +- `spread`; a new value every `every_s`, the same each time."""

    mean: RawNumber = 0
    spread: RawNumber
    seed: int = 0
    every_s: float = 1.0


class Counter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A total that grows all the time, over the end of a loop too."""

    start: RawNumber = 0
    per_second: RawNumber


class Terms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal as written: the terms add up, the sum is held between `min` and `max`."""

    constant: RawNumber | None = None
    ramp: Ramp | None = None
    sine: Sine | None = None
    noise: Noise | None = None
    # (second, value) in order of time; before the first one, its value.
    steps: tuple[tuple[float, RawNumber], ...] = ()
    counter: Counter | None = None
    min: RawNumber | None = None
    max: RawNumber | None = None


class At(msgspec.Struct, frozen=True):
    """A moment of a scenario for one device."""

    # Within the loop.
    position_s: float
    # Over all loops.
    elapsed_s: float
    # Which device of its group.
    index: int
    # Makes this device's and quantity's noise differ from that of others.
    salt: str


def number(raw: RawNumber) -> Number:
    """A given number. Raises ValueError that says what can be written."""
    value: Number
    if isinstance(raw, str):
        try:
            value = float(raw) if "e" in raw.lower() else size_bytes(raw)
        except (UsageError, ValueError) as error:
            raise ValueError(
                f"{raw!r} is not a valid number; write 0.5, 1.98e9 or 64GiB"
            ) from error
    else:
        value = raw
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ValueError(f"{raw!r} is not a number that can be shown")
    return value


def fault_of(terms: Terms) -> str:
    """What is wrong with a signal; empty when nothing is. Checks what the types do not say."""
    configured = (terms.constant, terms.ramp, terms.sine, terms.noise, terms.counter)
    if not terms.steps and all(term is None for term in configured):
        return "a signal needs constant, ramp, sine, noise, steps or counter"
    spans = [term.over_s for term in (terms.ramp,) if term]
    spans += [term.period_s for term in (terms.sine,) if term]
    spans += [term.every_s for term in (terms.noise,) if term]
    if not all(span > 0 for span in spans):
        return "over_s, period_s and every_s must be above 0"
    times = [second for second, _ in terms.steps]
    if times != sorted(times):
        return "steps must be in order of time"
    try:
        for _, raw in terms.steps:
            number(raw)
        value(terms, At(0.0, 0.0, 0, ""), is_integer=False)
    except ValueError as error:
        return str(error)
    return ""


def value(terms: Terms, at: At, *, is_integer: bool) -> Number:
    """The signal at a moment; `is_integer`: as an integer."""
    total: Number = 0
    if terms.constant is not None:
        total += number(terms.constant)
    if terms.steps:
        total += _step(terms.steps, at.position_s)
    if terms.ramp is not None:
        total += _ramp(terms.ramp, at.position_s)
    if terms.sine is not None:
        total += _sine(terms.sine, at)
    if terms.noise is not None:
        total += _noise(terms.noise, at)
    if terms.counter is not None:
        total += number(terms.counter.start) + number(terms.counter.per_second) * at.elapsed_s
    if terms.min is not None:
        total = max(total, number(terms.min))
    if terms.max is not None:
        total = min(total, number(terms.max))
    return round(total) if is_integer else round(total, _DECIMALS)


def _step(steps: tuple[tuple[float, RawNumber], ...], position_s: float) -> Number:
    now = [raw for second, raw in steps if second <= position_s]
    return number(now[-1] if now else steps[0][1])


def _ramp(ramp: Ramp, position_s: float) -> Number:
    start, end = number(ramp.start), number(ramp.end)
    return start + (end - start) * min(position_s / ramp.over_s, 1.0)


def _sine(sine: Sine, at: At) -> Number:
    angle = 2 * math.pi * (at.position_s + at.index * sine.stagger_s) / sine.period_s
    return number(sine.mean) + number(sine.amplitude) * math.sin(angle)


def _noise(noise: Noise, at: At) -> Number:
    step = int(at.position_s / noise.every_s)
    source = random.Random(f"{noise.seed}/{at.salt}/{step}")  # noqa: S311 - a test signal
    return number(noise.mean) + number(noise.spread) * source.uniform(-1.0, 1.0)

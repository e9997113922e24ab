"""What commands over archives share: times as people write and read them, and the need of pyarrow."""


def need_pyarrow() -> None:
    """Raise UsageError where pyarrow is not installed."""
    from importlib.util import find_spec

    from accelwatch.base.errors import UsageError

    if find_spec("pyarrow") is None:
        raise UsageError("history archives need pyarrow: pip install 'accelwatch[history]'")


def parse_time(text: str, now: float, flag: str) -> float:
    """`2026-03-01`, `2026-03-01T12:00:00Z`, Unix seconds, `now`, `7d` before it.

    Raises UsageError, which names the flag.
    """
    from datetime import UTC, datetime

    from accelwatch.base.durations import is_duration, seconds
    from accelwatch.base.errors import UsageError

    if text == "now":
        return now
    if is_duration(text):
        value = seconds(text)
        return value if text.strip().isdecimal() and value > 1e8 else now - value
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        forms = "2026-03-01, 2026-03-01T12:00:00Z, now or 7d (before now)"
        raise UsageError(f"{flag}: {text!r} is not a valid time; write {forms}") from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def time_text(seconds: float) -> str:
    """A moment as people read it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")

"""Logging of the agent: one line a record on standard error, as text or JSON."""

import logging
import math
import re
import sys

import msgspec

from accelwatch.base.untrusted_text import escaped
from accelwatch.schema.timestamps import timestamp


class TextFormatter(logging.Formatter):
    """`time level logger message key=value`; what is not printable within a record is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return escaped(
            f"{timestamp(record.created)} {record.levelname.lower()} {record.name} {_text(record)}"
        )


class JsonFormatter(logging.Formatter):
    """The same as an object: besides the whole `message` its words as `event`, values as `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        event, fields = split_message(record)
        document = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": escaped(_text(record), keep="\n\t"),
            "event": event,
            "fields": fields,
        }
        return msgspec.json.encode(document).decode()


# A value in the form of a message, with the key before it if it has one.
_PLACEHOLDER = re.compile(r"(?:(?P<key>[a-z_]+)=)?%(?:\.\d+)?(?P<form>[sdrf%])")


def split_message(record: logging.LogRecord) -> tuple[str, dict[str, str | int | float]]:
    """(the words before the first value, values by the keys that stand before them in the form).

    `("a target fails", {"node": "n006"})` of `"a target fails node=%s: %s"`. Numbers stay numbers.
    """
    form = str(record.msg)
    placeholders = [
        placeholder for placeholder in _PLACEHOLDER.finditer(form) if placeholder["form"] != "%"
    ]
    values = record.args if isinstance(record.args, tuple) else ()
    if not placeholders or len(placeholders) != len(values):
        return escaped(record.getMessage()), {}
    text = form[: placeholders[0].start()]
    fields = {
        placeholder["key"]: _plain(value, placeholder["form"])
        for placeholder, value in zip(placeholders, values, strict=True)
        if placeholder["key"]
    }
    return escaped(text.rstrip(" :").replace("%%", "%")), fields


def _plain(value: object, form: str) -> str | int | float:
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    return escaped(repr(value) if form == "r" else str(value))


def _text(record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text += "\n" + logging.Formatter().formatException(record.exc_info)
    return text


def set_up_logging(level: str, form: str) -> None:
    """Log to standard error from this level on; may be called again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a closed standard error must not become a traceback

"""Logging of the agent: one line a record on standard error, as text or JSON."""

import logging
import sys

import msgspec

from accelwatch.schema.moments import timestamp
from accelwatch.untrusted_text import escaped


class TextFormatter(logging.Formatter):
    """`time level logger message key=value`; what is not printable within a record is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return escaped(
            f"{timestamp(record.created)} {record.levelname.lower()} {record.name} {_text(record)}"
        )


class JsonFormatter(logging.Formatter):
    """The same as an object."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        document = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": escaped(_text(record), keep="\n\t"),
        }
        return msgspec.json.encode(document).decode()


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

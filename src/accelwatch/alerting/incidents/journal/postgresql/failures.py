"""What PostgreSQL and the way to it can answer, in words that say what to do."""

import contextlib
from collections.abc import Iterator

from asyncpg import InterfaceError, PostgresError

from accelwatch.alerting.incidents.journal.errors import (
    JournalDamagedError,
    JournalError,
    JournalRefusedError,
)
from accelwatch.base.errors import ConfigError

# By SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html.
_TEXTS = {
    "25006": "it is read-only: a standby, or default_transaction_read_only is set; name the primary",
    "53100": "its disk is full; free space there",
    "53300": "it has no connection left; raise max_connections",
    "55P03": "another client holds a lock on the journal",
    "57014": "it did not answer a statement in time",
    "57P01": "it is shutting down",
    "57P02": "it has crashed and is coming back",
    "57P03": "it is starting or shutting down",
    "28P01": "it refuses the password; see password_file",
    "28000": "it refuses the user; see pg_hba.conf there",
    "3D000": "the database does not exist; create it",
    "42501": "the user lacks a right on the schema accelwatch; let him own it",
}
_DAMAGED = ("XX001", "XX002", "42P01", "42703")
# Classes that lie in what was to be written.
_REFUSED = ("22",)


class NotAnsweredError(Exception):
    """Nothing came back in time, or the connection is gone."""


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what a database or the way to it raises into errors of the journal."""
    try:
        yield
    except PostgresError as error:
        raise _of(error, doing) from error
    except ConfigError as error:
        raise JournalError(str(error)) from error
    except (NotAnsweredError, InterfaceError, OSError, UnicodeError) as error:
        raise JournalError(f"{doing}: {text_of(error)}") from error


def text_of(error: BaseException) -> str:
    """What went wrong on the way to a database, in words."""
    if isinstance(error, FileNotFoundError):
        return "no server has its socket there; start PostgreSQL, or see hosts"
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or str(error) or type(error).__name__


def _of(error: PostgresError, doing: str) -> JournalError:
    state = error.sqlstate or ""
    text = f"{doing}: {_TEXTS.get(state, str(error).splitlines()[0])}"
    if state in _DAMAGED:
        return JournalDamagedError(text)
    if state[:2] in _REFUSED:
        return JournalRefusedError(text)
    return JournalError(text)

"""The tables of the journal, and how a file of an earlier version comes to have them.

A version is a number and the statements that lead to it from the one before. What was written under an
earlier one is never changed: its chain holds.
"""

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.system.files.sqlite_files import transaction

VERSION = 2
_STATEMENTS: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        1: (
            "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, time REAL NOT NULL,"
            " actor TEXT NOT NULL, body BLOB NOT NULL, hash TEXT NOT NULL)",
            "CREATE TABLE IF NOT EXISTS incident (id TEXT PRIMARY KEY, open INTEGER NOT NULL,"
            " updated REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID",
            "CREATE INDEX IF NOT EXISTS incident_by_time ON incident (updated)",
            "CREATE TABLE IF NOT EXISTS silence (id TEXT PRIMARY KEY, ends REAL NOT NULL,"
            " body BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS maintenance (id TEXT PRIMARY KEY, ends REAL NOT NULL,"
            " body BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS event_seen (fingerprint TEXT PRIMARY KEY,"
            " until REAL NOT NULL) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS outbox (incident TEXT NOT NULL, sink TEXT NOT NULL,"
            " body BLOB NOT NULL, PRIMARY KEY (incident, sink)) WITHOUT ROWID",
        ),
        2: (
            "ALTER TABLE entry ADD COLUMN address TEXT NOT NULL DEFAULT ''",
            "CREATE TABLE state (kind TEXT NOT NULL, key TEXT NOT NULL, until REAL, claim TEXT,"
            " body BLOB NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID",
            "CREATE UNIQUE INDEX state_by_claim ON state (claim) WHERE claim IS NOT NULL",
        ),
    }
)


def version_of(database: sqlite3.Connection) -> int:
    """The version that a file was written by; 0 for a new one."""
    (written,) = database.execute("PRAGMA user_version").fetchone()
    return int(written)


def migrate(database: sqlite3.Connection) -> None:
    """Let a file have all tables: wholly, or it stays what it was. Raises sqlite3.Error."""
    with transaction(database):
        written = version_of(database)
        for version, statements in _STATEMENTS.items():
            # Tables were added to the first version while it was in use.
            if version == 1 or version > written:
                for statement in statements:
                    database.execute(statement)
        database.execute(f"PRAGMA user_version={VERSION}")

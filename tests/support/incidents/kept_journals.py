"""Journals of tests: opened, opened again, and changed by another hand."""

import sqlite3
from pathlib import Path
from typing import Protocol

from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.postgresql.database import PostgreSQLDatabase
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.config.journal import PostgreSQL
from support.postgresql.server import Server


class KeptJournal(Protocol):
    """Where a journal is kept."""

    def open(self) -> Journal:
        """To be written."""

    def change(self, statement: str) -> None:
        """Change a table by another hand."""


class InSQLite:
    """In a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def open(self) -> Journal:
        """To be written."""
        return open_file(self.path)

    def change(self, statement: str) -> None:
        """Change a table by another hand."""
        with sqlite3.connect(self.path) as database:
            database.execute(statement)
        database.close()


class InPostgreSQL:
    """In a database of its own."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.database = server.new_database()

    @property
    def settings(self) -> PostgreSQL:
        """How a hub is told of it."""
        host = f"{self.server.folder}:{self.server.port}"
        return PostgreSQL(hosts=(host,), database=self.database, user="postgres")

    def open(self) -> Journal:
        """To be written."""
        database = PostgreSQLDatabase(self.settings)
        database.acquire(0)
        return Journal(database)

    def change(self, statement: str) -> None:
        """Change a table by another hand."""
        self.server.sql(statement, self.database)

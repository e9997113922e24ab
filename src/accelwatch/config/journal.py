"""The section `journal` of a configuration: where incidents are kept, other than in a file."""

from collections.abc import Iterator
from importlib.util import find_spec

import msgspec

from accelwatch.config.field_types import Path

_PORT = 5432


class PostgreSQL(msgspec.Struct, frozen=True, kw_only=True):
    """A database of several hubs, of which one writes, acts and notifies at a time."""

    # Names or addresses with or without `:port`, or the folder of a Unix socket; of several, such as a
    # primary and its standbys, it is the one that can be written to. None: a file in the state_dir.
    hosts: tuple[str, ...] = ()
    database: str = "accelwatch"
    user: str = "accelwatch"
    # A file that holds the password and that nobody else may read.
    password_file: Path | None = None
    # Whether the connection is encrypted and the host's certificate verified; never on a Unix socket.
    tls: bool = True
    # Authorities to trust instead of the system's.
    ca_file: Path | None = None


class JournalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where incidents, silences and what was done are kept."""

    postgresql: PostgreSQL = PostgreSQL()

    @property
    def in_postgresql(self) -> bool:
        """Whether a database keeps them."""
        return bool(self.postgresql.hosts)


def host_and_port(text: str) -> tuple[str, int]:
    """The host and port of an entry of `hosts`. Raises ValueError."""
    name, colon, port = text.rpartition(":")
    # An address of IPv6 without a port has colons of its own.
    if not colon or (":" in name and not name.startswith("[")):
        name, port = text, str(_PORT)
    if not name or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError(text)
    return name.strip("[]"), int(port)


def mistakes(settings: JournalSettings) -> Iterator[tuple[str, str]]:
    """What does not fit, with its key."""
    database = settings.postgresql
    if not database.hosts:
        if database != PostgreSQL():
            yield "postgresql.hosts", "name the host of the database"
        return
    for host in database.hosts:
        try:
            host_and_port(host)
        except ValueError:
            yield "postgresql.hosts", f"{host!r} is not a host or host:port"
    for key in ("database", "user"):
        if not getattr(database, key):
            yield f"postgresql.{key}", "is empty"
    if find_spec("asyncpg") is None:
        yield "postgresql.hosts", "needs asyncpg: pip install 'accelwatch[postgresql]'"

"""A PostgreSQL server of a test: real, empty, on a Unix socket and a port of this machine."""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from support.processes.waiting import wait_until
from support.servers.ports import free_port

# Debian keeps them off the PATH.
_FOLDERS = "usr/lib/postgresql/*/bin/initdb"
_START_S = 60.0


def programs() -> Path | None:
    """The folder of the server's programs; None where there is no server."""
    found = sorted(Path("/").glob(_FOLDERS))
    if found:
        return found[-1].parent
    there = shutil.which("initdb")
    return None if there is None else Path(there).resolve().parent


class Server:
    """One that runs; all its data is gone with its folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def initialize(self) -> None:
        """An empty cluster whose local users need no password."""
        hba = ("--auth-local=trust", "--auth-host=scram-sha-256")
        run(self.folder, "initdb", "-D", "data", "-U", "postgres", "-E", "UTF8", "-N", *hba)

    def start(self, *options: str) -> None:
        """Start it and wait until it answers."""
        bin_ = programs()
        assert bin_ is not None
        fixed = ("listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}")
        settings = (*fixed, "fsync=off", "dynamic_shared_memory_type=mmap", *options)
        flags = [part for setting in settings for part in ("-c", setting)]
        command = [str(bin_ / "postgres"), "-D", "data", "-p", str(self.port), *flags]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                as_another(command), cwd=self.folder, stdout=log, stderr=log
            )
        wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            self.sql("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it at once, or as `how` says."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(_START_S)

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Execute a statement as the administrator; the rows."""

        async def play() -> list[tuple[object, ...]]:
            connection = await asyncpg.connect(
                host=str(self.folder),
                port=self.port,
                user="postgres",
                database=database,
                server_settings={"search_path": "accelwatch, public"},
            )
            try:
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close()

        return asyncio.run(play())

    @contextlib.contextmanager
    def standby(self) -> Iterator["Server"]:
        """Another that follows this one, asynchronously."""
        folder = Path(tempfile.mkdtemp(prefix="pg"))
        try:
            give_away(folder)
            where = ("-h", str(self.folder), "-p", str(self.port), "-U", "postgres")
            run(folder, "pg_basebackup", "-D", "data", "-R", "-c", "fast", *where)
            server = Server(folder, free_port())
            server.start()
            try:
                yield server
            finally:
                server.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def wait_for(self, primary: "Server") -> None:
        """Return when this standby has all that the primary has."""
        ((position,),) = primary.sql("SELECT pg_current_wal_lsn()::text")
        query = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        wait_until(lambda: self.sql(query) == [(True,)])

    def promote(self) -> None:
        """Let this standby be the primary."""
        self.sql("SELECT pg_promote()")

    def new_database(self) -> str:
        """The name of one that is empty."""
        self._databases += 1
        name = f"test{self._databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name


@contextlib.contextmanager
def running(*options: str) -> Iterator[Server]:
    """A server that has just been made."""
    # Another user has to come to it, which pytest's own folders do not allow.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        give_away(folder)
        server = Server(folder, free_port())
        server.initialize()
        server.start(*options)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running_or_skip(*options: str) -> Iterator[Server]:
    """A server; a test without PostgreSQL's programs is skipped."""
    if programs() is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with running(*options) as server:
        yield server


def run(folder: Path, name: str, *arguments: str) -> None:
    """Run one of the server's programs in a folder. Raises CalledProcessError."""
    bin_ = programs()
    assert bin_ is not None
    command = as_another([str(bin_ / name), *arguments])
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_START_S)


def give_away(folder: Path) -> None:
    """Let a folder be that of the user who runs the server, and let us use its socket."""
    if os.geteuid() == 0:
        entry = _user()
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    folder.chmod(0o755)


def as_another(command: list[str]) -> list[str]:
    """The command as somebody other than root, whom PostgreSQL refuses; it ends with this process."""
    ids: tuple[str, ...] = ()
    if os.geteuid() == 0:
        entry = _user()
        ids = (f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups")
    return ["setpriv", *ids, "--pdeathsig=KILL", *command]


def _user() -> pwd.struct_passwd:
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]

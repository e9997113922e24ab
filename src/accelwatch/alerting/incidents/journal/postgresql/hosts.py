"""Which of several hosts is the primary: queries all at once, so that one that hangs delays nobody."""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import asyncpg

from accelwatch.alerting.incidents.journal.postgresql.failures import NotAnsweredError, text_of
from accelwatch.alerting.incidents.journal.postgresql.schema import TIMELINE
from accelwatch.config.journal import PostgreSQL, host_and_port
from accelwatch.system.files.secret_file import read_secret

# A standby has no timeline of its own.
_ROLE = f"SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE {TIMELINE} END"
# The share of the time for an answer in which a host of several has to say what it is.
_SHARE = 0.75


class _HostSession(NamedTuple):
    session: asyncpg.Connection
    # Of a primary; 0 of a standby.
    timeline: int


async def connect(
    settings: PostgreSQL, session_settings: Mapping[str, str], within_s: float
) -> asyncpg.Connection:
    """A session with the only host, or with the primary among several.

    Of two primaries it is the one that was promoted later: the other one does not know yet that it is
    none. Raises PostgresError, InterfaceError, NotAnsweredError, OSError.
    """
    if len(settings.hosts) == 1:
        return await _session(settings, settings.hosts[0], session_settings, within_s)
    tasks = [
        asyncio.ensure_future(_ask(settings, host, session_settings, within_s * _SHARE))
        for host in settings.hosts
    ]
    chosen = None
    try:
        results = await asyncio.gather(*tasks, return_exceptions=True)
        answers = [result for result in results if isinstance(result, _HostSession)]
        latest = max(answers, key=lambda answer: answer.timeline, default=None)
        if latest is not None and latest.timeline > 0:
            chosen = latest
            return chosen.session
    finally:
        # Also where it is cancelled: what has connected by then is let go of.
        for task in tasks:
            if _has_answered(task) and task.result() is not chosen:
                task.result().session.terminate()
    texts = (
        f"{host}: {_text(result)}" for host, result in zip(settings.hosts, results, strict=True)
    )
    raise NotAnsweredError(f"no host is a primary: {'; '.join(texts)}")


def _has_answered(task: "asyncio.Future[_HostSession]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _text(result: "_HostSession | BaseException") -> str:
    if isinstance(result, _HostSession):
        return "it is a standby"
    return text_of(result)


async def _ask(
    settings: PostgreSQL, host: str, session_settings: Mapping[str, str], within_s: float
) -> _HostSession:
    try:
        async with asyncio.timeout(within_s):
            session = await _session(settings, host, session_settings, within_s)
            try:
                return _HostSession(session, await session.fetchval(_ROLE))
            except BaseException:
                session.terminate()
                raise
    except TimeoutError as error:
        raise NotAnsweredError(f"it has not answered for {within_s:g} s") from error


async def _session(
    settings: PostgreSQL, host: str, session_settings: Mapping[str, str], within_s: float
) -> asyncpg.Connection:
    name, port = host_and_port(host)
    return await asyncpg.connect(
        host=name,
        port=port,
        database=settings.database,
        user=settings.user,
        password=_password(settings.password_file),
        ssl=_tls(settings, host),
        timeout=within_s,
        command_timeout=within_s,
        server_settings=dict(session_settings),
    )


def _password(file: str | None) -> str:
    # Read each time: it may have been exchanged. Never None: asyncpg would look into the environment.
    secret = b"" if file is None else read_secret(Path(file), "the password", follow_links=True)
    return secret.decode("utf-8", "replace")


def _tls(settings: PostgreSQL, host: str) -> ssl.SSLContext | bool:
    if not settings.tls or host.startswith("/"):
        return False
    return ssl.create_default_context(cafile=settings.ca_file)

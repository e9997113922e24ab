"""Following one host by ssh for as long as it is a target: log in, look, ask again and again."""

import asyncio
import logging
import secrets
from collections.abc import Collection

import msgspec

from accelwatch.backoff import SpreadBackoff
from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.follow.follow import Sink
from accelwatch.fleet.follow.poll import PacedReader
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.ssh.answers import Looked, end_of_look, end_of_round, looked
from accelwatch.fleet.ssh.connection import Connection
from accelwatch.fleet.ssh.destination import destination
from accelwatch.fleet.ssh.refusals import lost, refusal
from accelwatch.fleet.ssh.rounds import RoundReader
from accelwatch.fleet.ssh.script import LOOK, ROUND, script
from accelwatch.fleet.ssh.settings import Ssh
from accelwatch.fleet.ssh.vendors import commands_of, remotes
from accelwatch.fleet.target import Target
from accelwatch.remote import Remote, RemoteCommand

logger = logging.getLogger(__name__)

_MAX_GREETING = 64 << 10
"""Bytes that a login shell may print before what it was asked for."""
_NOTHING_THERE_S = 60.0
"""How long until a host without accelerators is looked at again."""
_SHARE = 3.0
"""Rounds begin at least so many times their length apart: the host is left alone most of the time."""


class SshWay:
    """What all hosts that are reached by ssh have in common; made on a running loop."""

    def __init__(
        self,
        settings: Ssh,
        limit_bytes: int,
        max_backoff_s: float,
        turn: Turn,
        *,
        known: dict[str, Remote] | None = None,
        slack_s: float = 5.0,
    ) -> None:
        """`limit_bytes` bounds what a round may print; `turn` is of who reads a long one on a thread.

        `known` is what can be read, by backend; all that is installed, if it is left out. `slack_s` is
        what a round may take beyond the time of its commands.
        """
        self.settings = settings
        self.limit_bytes = limit_bytes
        self.max_backoff_s = max_backoff_s
        self.turn = turn
        self.room = asyncio.Semaphore(settings.connecting_at_once)
        """Of connections that are being opened."""
        self.known = remotes() if known is None else known
        self.commands = commands_of(self.known)
        self.patience_s = _longest_s(self.commands.values()) + slack_s
        """How long a round may take until it is told that it hangs."""


class SshFollower:
    """Follows one host."""

    def __init__(self, way: SshWay, target: Target, sink: Sink) -> None:
        self._way = way
        self._target = target
        self._sink = sink
        self._mark = secrets.token_hex(16)
        self._backoff = SpreadBackoff(way.max_backoff_s)
        self._reading = PacedReader(RoundReader(way.known, self._mark), way.turn)
        self._logged: Reason | None = None

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self._visit()
            except TargetFault as fault:
                self._tell(fault)
                await asyncio.sleep(self._backoff.next(fault.retry_after_s))

    def _tell(self, fault: TargetFault) -> None:
        self._sink.failed(self._target, fault)
        if self._logged is not fault.reason:
            logger.info(
                "a host fails node=%s reason=%s: %s", self._target.node, fault.reason, fault
            )
            self._logged = fault.reason

    async def _visit(self) -> None:
        """Ask for as long as the connection lives. Raises TargetFault."""
        self._sink.began(self._target, "poll")
        connection, there = await self._logged_in()
        try:
            _check(there, self._way.known)
            while True:
                await self._round(connection)
        finally:
            connection.close()

    async def _logged_in(self) -> tuple[Connection, Looked]:
        """A connection whose shell answers, and what there is. Raises TargetFault."""
        settings = self._way.settings
        limit_s = 2 * settings.connect_timeout_s
        words = script(self._way.commands, self._mark) + LOOK
        async with self._way.room:
            connection = await Connection.begin(destination(self._target.address), settings)
            try:
                async with asyncio.timeout(limit_s):
                    until = end_of_look(self._mark)
                    body = await connection.ask(words, until, _MAX_GREETING)
                return connection, looked(body, self._mark)
            except TimeoutError as error:
                connection.close()
                text = f"no login within {limit_s:g} s: the host hangs before or after it"
                raise TargetFault(Reason.TIMEOUT, text) from error
            except EOFError as error:
                status = await connection.ending()
                fault = refusal(status, connection.said, connection.printed)
                connection.close()
                raise fault from error
            except BaseException:
                connection.close()
                raise

    async def _round(self, connection: Connection) -> None:
        """One round, and the rest after it. Raises TargetFault."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        body = await self._answer(connection)
        took_s = loop.time() - began
        pace_s = max(self._way.settings.interval_s, _SHARE * took_s)
        exposed = await self._reading.read(body)
        paced = msgspec.structs.replace(exposed, interval_s=pace_s)
        self._sink.exposed(self._target, paced, took_s)
        self._backoff.succeeded()
        if self._logged is not None:
            logger.info("a host is back node=%s", self._target.node)
            self._logged = None
        await asyncio.sleep(max(0.0, began + pace_s - loop.time()))

    async def _answer(self, connection: Connection) -> bytes:
        """What a round printed. Raises TargetFault.

        One that takes too long is told and waited for all the same: a second one beside a command that
        hangs in its driver would hang too, and so on.
        """
        asked = connection.ask(ROUND, end_of_round(self._mark), self._way.limit_bytes)
        patience_s = self._way.patience_s
        waited_s = 0.0
        while not (await asyncio.wait({asked}, timeout=patience_s))[0]:
            waited_s += patience_s
            text = f"logged in, but its commands have not come back for {waited_s:.0f} s"
            self._tell(TargetFault(Reason.TIMEOUT, text))
        try:
            return asked.result()
        except EOFError as error:
            await connection.ending()
            raise lost(connection.said) from error


def _longest_s(commands: Collection[RemoteCommand]) -> float:
    """What the commands of a round may take: hardly any host has more than two kinds of accelerators."""
    longest = sorted((command.timeout_s for command in commands), reverse=True)
    return sum(longest[:2])


def _check(there: Looked, known: dict[str, Remote]) -> None:
    """Raises TargetFault where nothing could tell of an accelerator."""
    if there.programs:
        return
    missed = [remote for remote in known.values() if there.pci_vendors & set(remote.pci_vendors)]
    if missed:
        names = _programs(missed)
        text = f"an accelerator is on its PCI bus, but {names} is not installed there"
    else:
        text = f"no accelerator on its PCI bus, and no {_programs(known.values())} there"
    raise TargetFault(Reason.NO_SOURCE, text, retry_after_s=_NOTHING_THERE_S)


def _programs(remotes: "Collection[Remote]") -> str:
    names = [command.programs[0] for remote in remotes for command in remote.commands]
    return " or ".join(dict.fromkeys(names))

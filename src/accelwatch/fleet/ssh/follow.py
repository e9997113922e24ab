"""Following one host by ssh for as long as it is a target: log in, probe, poll."""

import asyncio
import logging
import secrets

import msgspec

from accelwatch.base.backoff import SpreadBackoff
from accelwatch.fleet.follow.failures.faults import NotOurs, Reason, TargetFault
from accelwatch.fleet.follow.follow import Sink
from accelwatch.fleet.follow.poll import PacedReader
from accelwatch.fleet.ssh.answers import (
    HostProbe,
    end_of_probe,
    end_of_round,
    is_due,
    parse_probe,
)
from accelwatch.fleet.ssh.connection import Connection
from accelwatch.fleet.ssh.destination import destination
from accelwatch.fleet.ssh.refusals import TooMany, lost, refusal
from accelwatch.fleet.ssh.rounds import RoundReader
from accelwatch.fleet.ssh.script import PROBE, ROUND, also, script
from accelwatch.fleet.ssh.streaming import Streaming
from accelwatch.fleet.ssh.transport import SshTransport, check
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)

# Bytes that a login shell may print before the answer.
_MAX_GREETING = 64 << 10
# How long commands are polled on a host whose accelwatch did not stream.
_STREAM_AGAIN_S = 300.0
# How long a stream may take to start: loading a driver lasts seconds.
_FIRST_TICK_S = 15.0
# A stream that breaks sooner was not well, and its host is tried less and less.
_STEADY_S = 5.0
# Rounds begin at least so many times their length apart: the host is left alone most of the time.
_SHARE = 3.0
_LONGEST_REST_S = 60.0
# A host whose sshd is busy is tried so often before it counts as failed.
_MOST_DROPS = 3


class SshFollower:
    """Follows one host."""

    def __init__(self, transport: SshTransport, target: Target, sink: Sink) -> None:
        self._transport = transport
        self._target = target
        self._sink = sink
        self._marker = secrets.token_hex(16)
        self._backoff = SpreadBackoff(transport.max_backoff_s)
        self._reading = PacedReader(RoundReader(transport.backends, self._marker), transport.turn)
        # Logins in a row that an sshd dropped.
        self._drops = 0
        # Until then the vendors' commands are polled, although accelwatch is there.
        self._commands_until = 0.0

    async def run(self) -> None:
        """Follow until cancelled."""
        try:
            while True:
                try:
                    await self._visit()
                except TooMany as fault:
                    self._transport.pace.dropped()
                    self._drops += 1
                    if self._drops > _MOST_DROPS:
                        self._report_fault(fault)
                    await asyncio.sleep(self._backoff.next(fault.retry_after_s))
                except TargetFault as fault:
                    self._report_fault(fault)
                    await asyncio.sleep(self._backoff.next(fault.retry_after_s))
        finally:
            self._transport.failures.forget(self._target)

    def _report_fault(self, fault: TargetFault) -> None:
        self._sink.failed(self._target, fault)
        self._transport.failures.failed(self._target, fault)

    async def _visit(self) -> None:
        """Read for as long as the connection lives. Raises TargetFault."""
        loop = asyncio.get_running_loop()
        self._sink.started(self._target, "poll")
        connection, there = await self._logged_in()
        try:
            auto = self._transport.settings.mode == "auto"
            if there.ours and auto and loop.time() >= self._commands_until:
                await self._stream(connection, there)
                return
            check(there, self._transport.backends)
            while True:
                await self._round(connection)
        finally:
            connection.close()

    async def _stream(self, connection: Connection, there: HostProbe) -> None:
        """Returns when the vendors' commands are to be polled instead. Raises TargetFault."""
        transport = self._transport
        first_s = max(_FIRST_TICK_S, transport.settings.connect_timeout_s)
        streaming = Streaming(
            connection, self._target, self._sink, (transport.limit_bytes, first_s)
        )
        started = asyncio.get_running_loop().time()
        try:
            await streaming.run(self._marker)
        except NotOurs as fault:
            if not there.programs:
                raise
            self._commands_until = asyncio.get_running_loop().time() + _STREAM_AGAIN_S
            logger.info("a host does not stream node=%s: %s", self._target.node, fault)
        except TargetFault:
            if asyncio.get_running_loop().time() - started > _STEADY_S:
                self._well()
            raise

    async def _logged_in(self) -> tuple[Connection, HostProbe]:
        """A connection whose shell answers, and what there is. Raises TargetFault."""
        settings = self._transport.settings
        limit_s = 2 * settings.connect_timeout_s
        payload = script(self._transport.commands, self._marker) + PROBE
        async with self._transport.room:
            await self._transport.pace.turn()
            connection = await Connection.start(destination(self._target.address), settings)
            try:
                async with asyncio.timeout(limit_s):
                    until = end_of_probe(self._marker)
                    body = await connection.request(payload, until, _MAX_GREETING)
                self._transport.pace.logged_in()
                self._drops = 0
                return connection, parse_probe(body, self._marker)
            except TimeoutError as error:
                connection.close()
                text = f"no login within {limit_s:g} s: the host hangs before or after it"
                raise TargetFault(Reason.TIMEOUT, text) from error
            except EOFError as error:
                status = await connection.wait_for_exit()
                fault = refusal(status, connection.stderr, connection.printed)
                connection.close()
                raise fault from error
            except BaseException:
                connection.close()
                raise

    async def _round(self, connection: Connection) -> None:
        """One round, and the rest after it. Raises TargetFault."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        body = await self._answer(connection, ROUND)
        for name, command in self._transport.commands.items():
            if is_due(body, self._marker, name, command):
                body += await self._answer(connection, also(self._transport.commands, name))
        duration_s = loop.time() - started
        pace_s = max(self._transport.settings.interval_s, min(_SHARE * duration_s, _LONGEST_REST_S))
        exposed = await self._reading.read(body)
        paced = msgspec.structs.replace(exposed, interval_s=pace_s)
        self._sink.exposed(self._target, paced, duration_s)
        self._well()
        await asyncio.sleep(max(0.0, started + pace_s - loop.time()))

    def _well(self) -> None:
        self._backoff.succeeded()
        self._transport.failures.recovered(self._target)

    async def _answer(self, connection: Connection, command: bytes) -> bytes:
        """What comes of a word. Raises TargetFault.

        A late answer is reported and waited for all the same: a second command beside one that hangs in
        its driver would hang too, and so on.
        """
        pending = connection.request(
            command, end_of_round(self._marker), self._transport.limit_bytes
        )
        patience_s = self._transport.patience_s
        waited_s = 0.0
        while not (await asyncio.wait({pending}, timeout=patience_s))[0]:
            waited_s += patience_s
            text = f"logged in, but its commands have not come back for {waited_s:.0f} s"
            self._report_fault(TargetFault(Reason.TIMEOUT, text))
        try:
            return pending.result()
        except EOFError as error:
            await connection.wait_for_exit()
            raise lost(connection.stderr) from error

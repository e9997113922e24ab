"""A hook that is a program: checked each time, run on a thread, its words freed of secrets."""

import asyncio
import logging
import os
import pwd
import uuid
from collections.abc import Callable, Mapping

import msgspec

from accelwatch.action.step import ReportStatus, stands
from accelwatch.alerting.delivery.transport.blocking import Blocking
from accelwatch.base.errors import ConfigError
from accelwatch.base.untrusted_text import escaped
from accelwatch_script import answer, call, references
from accelwatch_script.answer import HookReply
from accelwatch_script.file_rights import complaint
from accelwatch_script.process.command import CALL, MOST_KEPT, Command, RunResult, Stop
from accelwatch_script.process.run import run
from accelwatch_script.settings import OBSERVE_TIMEOUT_S, HookOptions

_log = logging.getLogger(__name__)

# How long starting, killing and reaping last at most, beside the program's own time.
_OVERHEAD_S = 5.0
KILL_AFTER_S = 10.0
_KILL_OBSERVER_AFTER_S = 2.0
WAIT_FOR_SLOT_S = 5.0
_MOST_LOGGED = 2000


class Slots:
    """How many programs run at the same time."""

    def __init__(self, count: int) -> None:
        # The option `parallel`. A program that waits for it has not started, so an emergency stop
        # cancels it without a trace.
        self._free = asyncio.Semaphore(count)

    async def acquire(self) -> bool:
        """Whether there is one for us; the caller has to release it."""
        try:
            async with asyncio.timeout(WAIT_FOR_SLOT_S):
                await self._free.acquire()
        except TimeoutError:
            return False
        return True

    def give_back(self) -> None:
        """After the program."""
        self._free.release()


class ProgramHook:
    """Runs one program. `kept` is how many bytes of its output are kept."""

    def __init__(
        self,
        key: str,
        options: HookOptions,
        environ: Mapping[str, str],
        slots: Slots,
        *,
        user: tuple[int, int] | None = None,
        is_observer: bool = False,
        kept: int = MOST_KEPT,
    ) -> None:
        """`is_observer`: it changes nothing, and is ended sooner. Raises ConfigError."""
        self.options = options
        self.timeout_s = (
            options.timeout_s if options.timeout or not is_observer else OBSERVE_TIMEOUT_S
        )
        self._is_observer = is_observer
        self._noted = ReportStatus.DONE
        self.kill_after_s = _KILL_OBSERVER_AFTER_S if is_observer else KILL_AFTER_S
        self._key = key
        self._env: dict[str, str] = {}
        self._secrets: list[str] = []
        for name, value in options.env.items():
            self._env[name] = value
            if references.is_reference(value):
                self._env[name] = references.resolved(f"{key}.env.{name}", value, environ)
                self._secrets.append(self._env[name])
        self._slots = slots
        self._user = user
        self._kept = kept
        self._running: set[Stop] = set()

    @property
    def owners(self) -> frozenset[int]:
        """Uids to whom its files may belong."""
        return frozenset({0, os.geteuid()})

    @property
    def longest_s(self) -> float:
        """Seconds after which a call has surely come back."""
        return WAIT_FOR_SLOT_S + self.timeout_s + self.kill_after_s + _OVERHEAD_S

    def complaint(self) -> str:
        """Why it would not be run now; empty if it would."""
        return complaint(self.options.argv, self.owners)

    async def run(self, what: call.Call, withdrawn: Callable[[], str] = stands) -> HookReply:
        """Call it, unless the permission is withdrawn by its turn; raises only what cancels us."""
        if not await self._slots.acquire():
            text = "too many hooks run already"
            return HookReply(report=answer.unsettled(text, idempotent=True))
        try:
            if why := withdrawn():
                return answer.not_started(why)
            result = await self._run_in_thread(what)
        finally:
            self._slots.give_back()
        reply = answer.of_program(
            self._clean(result),
            timeout_s=self.timeout_s,
            idempotent=self.options.idempotent,
            hide=self._hide,
        )
        self._note(reply, result)
        return reply

    async def _run_in_thread(self, what: call.Call) -> RunResult:
        stop = Stop()
        self._running.add(stop)
        work = Blocking[RunResult](f"hook {self._key}")
        try:
            return await work.run(lambda: self._run(what, stop), self.longest_s)
        except TimeoutError:
            stop.set()
            return RunResult()
        except asyncio.CancelledError:
            stop.set()
            raise

    def _run(self, what: call.Call, stop: Stop) -> RunResult:
        try:
            if problem := self.complaint():
                return RunResult(failure=problem)
            command = Command(
                argv=self.options.argv,
                environ={**self._env, **call.variables(what), CALL: uuid.uuid4().hex},
                document=call.document(what),
                timeout_s=self.timeout_s,
                kill_after_s=self.kill_after_s,
                user=self._user,
                kept=self._kept,
            )
            return run(command, stop)
        except ValueError as error:
            return RunResult(failure=str(error))
        finally:
            self._running.discard(stop)
            stop.close()

    def _clean(self, result: RunResult) -> RunResult:
        errors_complete = len(result.errors) < MOST_KEPT
        return msgspec.structs.replace(
            result,
            output=self._without(result.output, is_complete=result.is_complete),
            errors=self._without(result.errors, is_complete=errors_complete),
        )

    def _without(self, data: bytes, *, is_complete: bool) -> bytes:
        if not self._secrets:
            return data
        if not is_complete:
            # A secret that was cut in two would not be known again.
            data = references.without_cut(self._secrets, data)
        return self._hide(data.decode(errors="replace")).encode()

    def _hide(self, text: str) -> str:
        return references.without(self._secrets, text)

    def _note(self, reply: HookReply, result: RunResult) -> None:
        # An observe hook runs every few seconds; only a change of its status is worth a line.
        if self._is_observer and reply.report.status is self._noted:
            return
        self._noted = reply.report.status
        _log.info(
            "hook=%s status=%s text=%s", self._key, reply.report.status.value, reply.report.text
        )
        errors = self._clean(result).errors[-_MOST_LOGGED:].decode(errors="replace")
        if errors.strip():
            _log.info("hook=%s stderr=%s", self._key, escaped(errors.strip()))

    async def close(self) -> None:
        """End what still runs."""
        for stop in list(self._running):
            stop.set()


def user_of(name: str) -> tuple[int, int] | None:
    """Uid and gid of a user to run programs with; None for ourselves. Raises ConfigError."""
    if not name:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ConfigError(f"user: this machine knows no user {name!r}") from None
    if entry.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise ConfigError(f"user: only root can run programs as {name!r}; leave it out")
    return entry.pw_uid, entry.pw_gid

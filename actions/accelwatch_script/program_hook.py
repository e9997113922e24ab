"""A hook that is a program: checked each time, run on a thread, its words freed of secrets."""

import asyncio
import logging
import os
import pwd
import uuid
from collections.abc import Callable, Mapping

import msgspec

from accelwatch.action.step import ToldStatus, stands
from accelwatch.alerting.delivery.blocking import Blocking
from accelwatch.base.errors import ConfigError
from accelwatch.base.untrusted_text import escaped
from accelwatch_script import answer, call, process, references
from accelwatch_script.answer import Said
from accelwatch_script.file_rights import complaint
from accelwatch_script.settings import LOOK_S, HookOptions

_log = logging.getLogger(__name__)

_OVERHEAD_S = 5.0
"""What starting, killing and reaping take at most, beside the program's own time."""
KILL_AFTER_S = 10.0
_KILL_LOOK_AFTER_S = 2.0
WAIT_FOR_SLOT_S = 5.0
_MOST_LOGGED = 2000


class Slots:
    """How many programs run at the same time."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def taken(self) -> bool:
        """Whether there is one for us; it has to be given back."""
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
        looks: bool = False,
        kept: int = process.MOST_KEPT,
    ) -> None:
        """`looks`: it changes nothing, and is ended sooner. Raises ConfigError."""
        self.options = options
        self.timeout_s = options.timeout_s if options.timeout or not looks else LOOK_S
        self._looks = looks
        self._noted = ToldStatus.DONE
        self.kill_after_s = _KILL_LOOK_AFTER_S if looks else KILL_AFTER_S
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
        self._running: set[process.Stop] = set()

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

    async def run(self, what: call.Call, withdrawn: Callable[[], str] = stands) -> Said:
        """Call it, unless the permission is withdrawn by its turn; raises only what cancels us."""
        if not await self._slots.taken():
            text = "too many hooks run already"
            return Said(told=answer.unsettled(text, idempotent=True))
        try:
            if why := withdrawn():
                return answer.not_begun(why)
            ended = await self._ended(what)
        finally:
            self._slots.give_back()
        said = answer.of_program(
            self._clean(ended),
            timeout_s=self.timeout_s,
            idempotent=self.options.idempotent,
            hide=self._hide,
        )
        self._note(said, ended)
        return said

    async def _ended(self, what: call.Call) -> process.Ended:
        stop = process.Stop()
        self._running.add(stop)
        work = Blocking[process.Ended](f"hook {self._key}")
        try:
            return await work.run(lambda: self._run(what, stop), self.longest_s)
        except TimeoutError:
            stop.set()
            return process.Ended()
        except asyncio.CancelledError:
            stop.set()
            raise

    def _run(self, what: call.Call, stop: process.Stop) -> process.Ended:
        try:
            if said := self.complaint():
                return process.Ended(failure=said)
            command = process.Command(
                argv=self.options.argv,
                environ={**self._env, **call.variables(what), process.CALL: uuid.uuid4().hex},
                document=call.document(what),
                timeout_s=self.timeout_s,
                kill_after_s=self.kill_after_s,
                user=self._user,
                kept=self._kept,
            )
            return process.run(command, stop)
        except ValueError as error:
            return process.Ended(failure=str(error))
        finally:
            self._running.discard(stop)
            stop.close()

    def _clean(self, ended: process.Ended) -> process.Ended:
        errors_whole = len(ended.errors) < process.MOST_KEPT
        return msgspec.structs.replace(
            ended,
            output=self._without(ended.output, whole=ended.whole),
            errors=self._without(ended.errors, whole=errors_whole),
        )

    def _without(self, data: bytes, *, whole: bool) -> bytes:
        if not self._secrets:
            return data
        if not whole:
            # A secret that was cut in two would not be known again.
            data = references.without_cut(self._secrets, data)
        return self._hide(data.decode(errors="replace")).encode()

    def _hide(self, text: str) -> str:
        return references.without(self._secrets, text)

    def _note(self, said: Said, ended: process.Ended) -> None:
        # Who looks does so every few seconds; only that it cannot, or can again, is worth a line.
        if self._looks and said.told.status is self._noted:
            return
        self._noted = said.told.status
        _log.info("hook=%s status=%s text=%s", self._key, said.told.status.value, said.told.text)
        errors = self._clean(ended).errors[-_MOST_LOGGED:].decode(errors="replace")
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

"""Asking for the newest checkpoint of a job, without being held up by a file system that hangs."""

import logging
import uuid

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.alerting.delivery.transport.blocking import Blocking
from accelwatch.base.untrusted_text import escaped
from accelwatch_script.process.command import CALL, Command, RunResult, Stop
from accelwatch_script.process.run import run

_log = logging.getLogger(__name__)
_TIMEOUT_S = 5.0
_KILL_AFTER_S = 0.5
_OVERHEAD_S = 3.0


class CheckpointSearch:
    """One search at a time for each job."""

    def __init__(self, options: CheckpointOptions, user: tuple[int, int] | None) -> None:
        self._options = options
        self._user = user
        self._logged = ""
        self.timeout_s = _TIMEOUT_S

    def step_of(self, job: str, path: str) -> int | None:
        """The training step of a checkpoint; None where its path does not say it."""
        return self._options.step_of(job, path)

    async def newest(self, job: str) -> tuple[str, str]:
        """Path of the newest whole checkpoint, and of the one before it where jobs can begin from it.

        Each is empty where none is found in time.
        """
        stop = Stop()
        command = Command(
            argv=self._options.search(job),
            environ={CALL: uuid.uuid4().hex},
            document=b"",
            timeout_s=self.timeout_s,
            kill_after_s=_KILL_AFTER_S,
            user=self._user,
        )
        work = Blocking[RunResult]("checkpoints")
        try:
            result = await work.run(lambda: _ran(command, stop), self.timeout_s + _OVERHEAD_S)
        except TimeoutError:
            result = RunResult()
        if result.status == 0:
            self._logged = ""
            return self._options.read(result.output.decode(errors="replace"))
        why = (
            result.failure or result.errors.decode(errors="replace").strip() or "no answer in time"
        )
        if why != self._logged:
            self._logged = why
            _log.warning("no checkpoint is known job=%s: %s", escaped(job), escaped(why)[:200])
        return "", ""


def _ran(command: Command, stop: Stop) -> RunResult:
    try:
        return run(command, stop)
    finally:
        stop.close()

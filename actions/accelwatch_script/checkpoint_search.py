"""Asking for the newest checkpoint of a job, without being held up by a file system that hangs."""

import logging
import sys
import uuid
from pathlib import Path

from accelwatch.delivery.blocking import Blocking
from accelwatch.untrusted_text import escaped
from accelwatch_script import checkpoints, process
from accelwatch_script.settings import CheckpointOptions

_log = logging.getLogger(__name__)
_TIMEOUT_S = 5.0
_KILL_AFTER_S = 0.5
_OVERHEAD_S = 3.0


class CheckpointSearch:
    """One search at a time for each job that is asked for."""

    def __init__(self, options: CheckpointOptions, user: tuple[int, int] | None) -> None:
        self._options = options
        self._user = user
        self._said = ""
        self.timeout_s = _TIMEOUT_S

    async def newest(self, job: str) -> str:
        """Path of the newest whole checkpoint; empty where none is found in time."""
        stop = process.Stop()
        command = process.Command(
            argv=(
                sys.executable,
                "-IS",
                str(Path(checkpoints.__file__)),
                self._options.pattern,
                job,
                self._options.complete,
            ),
            environ={process.CALL: uuid.uuid4().hex},
            document=b"",
            timeout_s=self.timeout_s,
            kill_after_s=_KILL_AFTER_S,
            user=self._user,
        )
        work = Blocking[process.Ended]("checkpoints")
        try:
            ended = await work.run(lambda: _ran(command, stop), self.timeout_s + _OVERHEAD_S)
        except TimeoutError:
            ended = process.Ended()
        if ended.status == 0:
            self._said = ""
            return ended.output.decode(errors="replace")
        why = ended.failure or ended.errors.decode(errors="replace").strip() or "no answer in time"
        if why != self._said:
            self._said = why
            _log.warning("no checkpoint is known job=%s: %s", escaped(job), escaped(why)[:200])
        return ""


def _ran(command: process.Command, stop: process.Stop) -> process.Ended:
    try:
        return process.run(command, stop)
    finally:
        stop.close()

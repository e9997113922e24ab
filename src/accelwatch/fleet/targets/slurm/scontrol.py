"""Slurm's `scontrol`, called with a deadline; it blocks and is for a thread."""

from collections.abc import Mapping

from accelwatch.base.errors import UsageError
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.system.processes.command import CommandResult, run

# JSON of a node is 3 KB; of 20,000 nodes 60 MB.
_MAX_BYTES = 256 << 20


class Scontrol:
    """The command of one cluster."""

    def __init__(self, settings: SlurmSd) -> None:
        self._settings = settings

    def run(self, *arguments: str, environ: Mapping[str, str] | None = None) -> CommandResult:
        """What became of the command, whatever it was."""
        conf = self._settings.slurm_conf
        return run(
            [self._settings.scontrol, *arguments],
            timeout_s=self._settings.timeout_s,
            environ={**({"SLURM_CONF": conf} if conf else {}), **(environ or {})},
            max_bytes=_MAX_BYTES,
        )

    def printed(self, *arguments: str, environ: Mapping[str, str] | None = None) -> bytes:
        """What it prints. Raises UsageError when it fails."""
        result = self.run(*arguments, environ=environ)
        if not result.ok:
            raise UsageError(why(result))
        return result.output


def why(result: CommandResult) -> str:
    """A failure in words."""
    if result.failure:
        return f"scontrol: {result.failure}"
    lines = result.errors.decode("utf-8", "replace").strip().splitlines()
    return f"scontrol ended with {result.status}: {lines[-1][:200] if lines else 'no message'}"

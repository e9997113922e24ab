"""Where the checkpoints of jobs are, as an action's options say it."""

import sys
from pathlib import Path

import msgspec

from accelwatch.action import checkpoint_paths
from accelwatch.errors import ConfigError


class CheckpointOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the checkpoints of jobs are."""

    pattern: str
    """`/srv/{job}/copy-{copy}/step-{step}`: the greatest copy and step is the newest."""
    complete: str = ""
    """A file that stands in a checkpoint when it is whole."""

    def search(self, job: str) -> tuple[str, ...]:
        """The program that prints the newest one of a job, as a list of words."""
        program = str(Path(checkpoint_paths.__file__))
        return (sys.executable, "-IS", program, self.pattern, job, self.complete)

    def step_of(self, job: str, path: str) -> int | None:
        """The training step of a checkpoint; None for a path that is none."""
        return checkpoint_paths.step_of(self.pattern, job, path)


def check(options: CheckpointOptions | None) -> None:
    """Raises ConfigError for what is wrong, naming the key."""
    if options is None:
        return
    if said := checkpoint_paths.mistake(options.pattern):
        raise ConfigError(f"checkpoints.pattern: {said}")
    if "/" in options.complete or options.complete in (".", ".."):
        raise ConfigError("checkpoints.complete: expected the name of a file, without a folder")

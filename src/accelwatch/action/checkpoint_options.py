"""Where the checkpoints of jobs are, as an action's options say it."""

import re
import sys
from pathlib import Path

import msgspec

from accelwatch.action import checkpoint_paths
from accelwatch.base.errors import ConfigError

# In a comment that other programs parse, and by a shell.
_SHELL_SAFE = re.compile(r"[A-Za-z0-9/._+-]{1,200}")


class CheckpointOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the checkpoints of jobs are."""

    # `/srv/{job}/copy-{copy}/step-{step}`: the greatest copy and step is the newest.
    pattern: str
    # A file that stands in a checkpoint when it is whole.
    complete: str = ""
    # Whether the site's jobs can be made to start from the checkpoint before the newest.
    earlier: bool = False

    def search(self, job: str) -> tuple[str, ...]:
        """The program that prints the newest two of a job, as a list of words."""
        program = str(Path(checkpoint_paths.__file__))
        return (sys.executable, "-IS", program, self.pattern, job, self.complete)

    def read(self, output: str) -> tuple[str, str]:
        """What the program has printed: the newest, and the one before where a job can begin from it."""
        first, _, second = output.partition("\n")
        return first, second if self.earlier and _SHELL_SAFE.fullmatch(second) else ""

    def step_of(self, job: str, path: str) -> int | None:
        """The training step of a checkpoint; None for a path that is none."""
        return checkpoint_paths.step_of(self.pattern, job, path)


def check(options: CheckpointOptions | None) -> None:
    """Raises ConfigError for what is wrong, naming the key."""
    if options is None:
        return
    if problem := checkpoint_paths.mistake(options.pattern):
        raise ConfigError(f"checkpoints.pattern: {problem}")
    if "/" in options.complete or options.complete in (".", ".."):
        raise ConfigError("checkpoints.complete: expected the name of a file, without a folder")

"""Where checkpoints are, by project and session name: the shared options with one placeholder more."""

import msgspec

from accelwatch.action import checkpoint_options
from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.base.errors import ConfigError

PROJECT = "{project}"


def of_project(options: CheckpointOptions, project: str) -> CheckpointOptions:
    """With the project filled in: `{job}` is the name of a session, which users share."""
    pattern = options.pattern.replace(PROJECT, project)
    return msgspec.structs.replace(options, pattern=pattern)


def check(options: CheckpointOptions | None) -> None:
    """Raises ConfigError for what is wrong, naming the key."""
    if options is None:
        return
    checkpoint_options.check(of_project(options, "project"))
    if options.earlier:
        text = "Backend.AI has no way to name the checkpoint from which a session starts"
        raise ConfigError(f"checkpoints.earlier: {text}")

"""Where checkpoints are, by namespace and name: the shared options with one placeholder more."""

import msgspec

from accelwatch.action import checkpoint_options
from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.base.errors import ConfigError

NAMESPACE = "{namespace}"


def of_namespace(options: CheckpointOptions, namespace: str) -> CheckpointOptions:
    """With the namespace filled in: jobs of two namespaces may have the same name."""
    pattern = options.pattern.replace(NAMESPACE, namespace)
    return msgspec.structs.replace(options, pattern=pattern)


def check(options: CheckpointOptions | None) -> None:
    """Raises ConfigError for what is wrong, naming the key."""
    if options is None:
        return
    checkpoint_options.check(of_namespace(options, "namespace"))
    if options.earlier:
        raise ConfigError("checkpoints.earlier: nothing tells a job here from which one to start")

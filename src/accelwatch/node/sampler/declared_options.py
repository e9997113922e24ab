"""What backends declare of their options, read in a separate process.

Reading it loads the backends, which would stay in the caller's memory for months:
`python -m accelwatch.node.sampler.declared_options nvidia` prints it instead.
"""

import logging
import os
import sys
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from accelwatch.backend import Option
from accelwatch.base.errors import PluginError
from accelwatch.plugins import entry_points as plugins

# Options by the name of the backend; one that declares nothing is left out.
Declared = dict[str, tuple[Option, ...]]

logger = logging.getLogger(__name__)

# Loading a backend takes a fraction of a second; on an overloaded machine, more.
_TIMEOUT_S = 30.0


def declared(names: Iterable[str]) -> Declared:
    """What these backends declare; empty, with a line in the log, when the query fails."""
    requested = tuple(sorted(names))
    if not requested:
        return {}
    try:
        return _query_backends(requested)
    except PluginError as error:
        logger.warning("options are not checked backends=%s: %s", ",".join(requested), error)
        return {}


# Starts an interpreter that imports the backends: half a second. Installed backends do not change
# while the process runs.
@lru_cache(maxsize=8)
def _query_backends(names: tuple[str, ...]) -> Declared:
    from accelwatch.system.processes import command

    argv = [sys.executable, "-m", __name__, *names]
    result = command.run(argv, timeout_s=_TIMEOUT_S)
    if not result.ok:
        lines = result.errors.decode("utf-8", "replace").strip().splitlines()
        raise PluginError(lines[-1] if lines else result.failure or f"status {result.status}")
    return msgspec.json.decode(result.output, type=Declared)


def loaded(names: Iterable[str]) -> Declared:
    """The same by loading the backends here; those that cannot be loaded are left out."""
    result: Declared = {}
    for name in names:
        try:
            address = name if ":" in name else plugins.addresses(plugins.BACKENDS)[name]
            options = getattr(plugins.load_address(address), "options", None)
        except (KeyError, PluginError):
            continue
        if isinstance(options, tuple) and all(isinstance(option, Option) for option in options):
            result[name] = options
    return result


def main() -> None:
    """Print what the backends named on the command line declare; what they print goes nowhere."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    os.write(stdout, msgspec.json.encode(loaded(sys.argv[1:])))


if __name__ == "__main__":
    main()

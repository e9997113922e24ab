"""One run of a program: bounded in time and output, alone in its group, and ended with all it started.

Blocking, for a thread of its own. Whatever a program has started ends with it: a subreaper sees to
that (`subreaper.py`). Where that was killed too, and on systems without subreapers, what is left of its
process group ends, and what is found by the variable CALL when it is ended from outside.
"""

import os
import subprocess
import tempfile

from accelwatch.system.processes.child_process import anonymous_file
from accelwatch_script.process.command import Command, RunResult, Stop
from accelwatch_script.process.start import start
from accelwatch_script.process.watch import Watch


def run(command: Command, stop: Stop) -> RunResult:
    """Run a program to its end, or end it. Never raises for what the program does."""
    with tempfile.TemporaryDirectory(prefix="accelwatch-", ignore_cleanup_errors=True) as folder:
        document = anonymous_file("hook")
        try:
            os.write(document, command.document)
            os.lseek(document, 0, os.SEEK_SET)
            process = start(command, folder, document)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            return RunResult(failure=f"{command.argv[0]}: cannot be started: {reason or error}")
        finally:
            os.close(document)
        watch = Watch(process, command, stop)
        try:
            return watch.to_the_end()
        finally:
            watch.close()

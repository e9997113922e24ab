"""The process of a pod's first container: its command as it is, with the container's variables."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.api import Object

_ANNOTATION = re.compile(r"metadata\.(annotations|labels)\['([^']+)'\]")


class PodProcess:
    """One that was started."""

    def __init__(self, pod: Object, folder: Path, variables: Mapping[str, str]) -> None:
        """Start it; what it prints goes into the folder. Raises OSError."""
        container = pod["spec"]["containers"][0]
        argv = [*(container.get("command") or ()), *(container.get("args") or ())]
        with (folder / f"{pod['metadata']['name']}.out").open("ab") as out:
            self._child = subprocess.Popen(
                argv or ["sleep", "infinity"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=folder,
                env={**os.environ, **variables_of(pod), **variables},
                start_new_session=True,
            )
        # Seconds of the monotonic clock, once it got SIGTERM.
        self._kill_at: float | None = None

    @property
    def exit_code(self) -> int | None:
        """As a shell has it, 137 for one that was killed; None while it runs."""
        code = self._child.poll()
        return 128 - code if code is not None and code < 0 else code

    def end(self, grace_s: float) -> None:
        """Send it SIGTERM, once, and kill it that much later."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace_s
            self._signal(signal.SIGTERM)
        if time.monotonic() >= self._kill_at:
            self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """End it and wait for that."""
        self._signal(signal.SIGKILL)
        self._child.wait()

    def _signal(self, number: signal.Signals) -> None:
        """To all that it has started."""
        if self._child.poll() is None:
            os.killpg(self._child.pid, number)


def variables_of(pod: Object) -> dict[str, str]:
    """Of its first container: texts, and fields of the pod."""
    variables: dict[str, str] = {}
    for variable in pod["spec"]["containers"][0].get("env") or ():
        field = (variable.get("valueFrom") or {}).get("fieldRef")
        variables[variable["name"]] = (
            variable.get("value", "") if field is None else _field(pod, field["fieldPath"])
        )
    return variables


def _field(pod: Object, path: str) -> str:
    keyed = _ANNOTATION.fullmatch(path)
    if keyed is not None:
        return str((pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
    section, _, name = path.partition(".")
    return str((pod.get(section) or {}).get(name, ""))

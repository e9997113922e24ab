"""How a lab's sessions were made, for the hub: what a manager before 26.4 does not show of them."""

from pathlib import Path

from accelwatch.api_client.backendai.releases import Ability, Release
from accelwatch.system.files.atomic_file import PRIVATE, replace_file
from accelwatch_lab.cluster.backendai.requests import BATCH_TIMEOUT

JOB = "job-"
_FILE = "sessions.yaml"


def write_specifications(version: str, folder: Path) -> list[dict[str, object]]:
    """Write the file that is needed; the action's option `specifications`, which names it."""
    release = Release.parsed(version)
    if release is None or release.can(Ability.V2):
        return []
    file = folder / _FILE
    # They have no environment and no bootstrap script of their own.
    text = f"environ: {{}}\nbatch_timeout: {BATCH_TIMEOUT}\n"
    replace_file(file, text.encode(), mode=PRIVATE, durable=False)
    return [{"names": [f"{JOB}*"], "file": str(file.absolute())}]

"""How a lab's sessions were made, for the hub: what a manager before 26.4 does not show of them."""

from pathlib import Path

from accelwatch.api_client.backendai.releases import Ability, Release
from accelwatch_lab.cluster.backendai.requests import BATCH_TIMEOUT

JOB = "job-"
_FILE = "sessions.yaml"


def specification_rules(version: str, folder: Path) -> list[dict[str, object]]:
    """The action's option `specifications`, with the file it names written; empty where not needed."""
    release = Release.parsed(version)
    if release is None or release.can(Ability.V2):
        return []
    file = folder / _FILE
    file.touch(mode=0o600)
    # They have no environment and no bootstrap script of their own.
    file.write_text(f"environ: {{}}\nbatch_timeout: {BATCH_TIMEOUT}\n")
    return [{"names": [f"{JOB}*"], "file": str(file.absolute())}]

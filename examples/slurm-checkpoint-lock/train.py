"""A job that counts steps, in place of one that trains: it goes on from its newest checkpoint."""

import argparse
import os
import sys
import time
from pathlib import Path

from checkpoint_lock import CheckpointLock, TakenOver


def main() -> int:
    """Exit code 0 when all steps are done, 3 when a newer copy of the job has begun."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--step-seconds", type=float, default=0.02)
    given = parser.parse_args()
    if int(os.environ.get("RANK", "0")) > 0:
        # Only the first rank has something to write here.
        time.sleep(given.steps * given.step_seconds)
        return 0
    # JOB_COPY is what a launcher without a scheduler counts.
    copy = int(os.environ.get("JOB_COPY") or os.environ.get("SLURM_RESTART_COUNT") or "0")
    lock = CheckpointLock(given.checkpoints, copy)
    try:
        newest = lock.claim(os.environ.get("BEGIN_FROM", ""))
        begin = newest[0] if newest else 0
        print(f"copy {copy} begins after step {begin}", flush=True)
        for step in range(begin + 1, given.steps + 1):
            time.sleep(given.step_seconds)
            lock.save(step, f"copy {copy} step {step}\n".encode())
    except TakenOver as error:
        print(f"copy {copy} ends: {error}", file=sys.stderr, flush=True)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

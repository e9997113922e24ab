#!/usr/bin/env python3
"""Tries the example on this machine: two nodes train, one loses a GPU and leaves, the other goes on.

    two_nodes.py [--torchrun PROGRAM] [--accelwatch PROGRAM] [--folder FOLDER]

The nodes are two `elastic_node.py` with a torchrun each, and an agent each that replays 8 GPUs. Exit
code 0 when the first node has trained on from a checkpoint without the second, else 1; the folder keeps
all logs.
"""

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300
STEPS_ALONE = 30
# All three shorten how long the others wait for a node that is gone: by default that is 15 s until it
# counts as gone, then 30 s for one more to come.
RENDEZVOUS = "is_host=false,keep_alive_interval=1,keep_alive_max_attempt=5,last_call_timeout=3"


class TryOutError(Exception):
    """It did not go as it should; the message says what did not happen."""


class TryOut:
    """The processes and their logs."""

    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        self._options, self._stack = options, stack
        self._until = time.monotonic() + TIMEOUT_S

    def start(self, name: str, words: Sequence[str]) -> Path:
        """Start a program that ends with the try-out; returns its log."""
        log = self._options.folder / f"{name}.log"
        self._stack.enter_context(running(words, log))
        return log

    def wait_for(self, pattern: str, *logs: Path) -> re.Match[str]:
        """The first match in one of the logs. Raises TryOutError."""
        while time.monotonic() < self._until:
            for log in logs:
                found = re.search(pattern, log.read_text(errors="replace"))
                if found:
                    return found
            time.sleep(0.2)
        names = " or ".join(log.name for log in logs)
        raise TryOutError(f"{names} has no {pattern!r} after {TIMEOUT_S} s")

    def agent(self, name: str, scenario: str) -> None:
        """Start an agent that replays a scenario, on the socket that its node asks."""
        replay = {"file": str(HERE / scenario), "loop": False}
        settings = {
            "collect": {"backends": ["replay"], "options": {"replay": replay}},
            "rules": {"packs": ["nvidia"]},
            "blackbox": {"enabled": False},
            "state_dir": str(self._options.folder / f"{name}-state"),
            "web": {"listen_address": "127.0.0.1:0", "unix_socket": self._socket(name)},
        }
        file = self._options.folder / f"{name}-agent.yaml"
        file.write_text(json.dumps(settings))
        words = [self._options.accelwatch, "agent", f"--config.file={file}"]
        self.wait_for("listening address=", self.start(f"{name}-agent", words))

    def _socket(self, name: str) -> str:
        return str(self._options.folder / f"{name}.sock")

    def node(self, name: str, store: str) -> Path:
        """Start a node; returns its log."""
        words = [sys.executable, str(HERE / "elastic_node.py"), "--every", "1"]
        words += ["--agent", self._socket(name)]
        words += ["--accelwatch", self._options.accelwatch, "--", self._options.torchrun]
        words += [
            "--nnodes=1:2",
            "--nproc-per-node=1",
            "--max-restarts=3",
            "--local-addr=127.0.0.1",
        ]
        words += ["--rdzv-backend=c10d", f"--rdzv-endpoint={store}", "--rdzv-id=two-nodes"]
        words += [f"--rdzv-conf={RENDEZVOUS}", str(HERE / "train.py")]
        return self.start(
            name, [*words, "--checkpoints", str(self._options.folder / "checkpoints")]
        )


@contextlib.contextmanager
def running(words: Sequence[str], log: Path) -> Iterator[None]:
    """A program whose output goes to a file; it ends with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def train(attempt: TryOut, python: str) -> None:
    """Both train, the second leaves, the first trains on. Raises TryOutError."""
    store = attempt.start("store", [python, str(HERE / "rendezvous_store.py"), "127.0.0.1", "0"])
    endpoint = attempt.wait_for(r"serving on (\S+)", store)[1]
    first, second = (attempt.node(name, endpoint) for name in ("n1", "n2"))
    # The first to come may have begun alone. Either may have the first rank, which writes.
    attempt.wait_for(r"(?s)nodes 2,.*training: step \d+,", first, second)
    print("two nodes train", flush=True)
    # Only now: the clock of a scenario starts with its agent.
    attempt.agent("n1", "healthy.yaml")
    attempt.agent("n2", "lost_gpu.yaml")
    print(attempt.wait_for("elastic_node: leaves the job: .*", second)[0], flush=True)
    start = attempt.wait_for(r"(?s)nodes 2,.*nodes 1, after step (\d+)", first)
    print(f"one node trains on after step {start[1]}", flush=True)
    if start[1] == "0":
        raise TryOutError("it has begun anew and not from a checkpoint")
    goal = int(start[1]) + STEPS_ALONE
    attempt.wait_for(rf"training: step {goal},", first)
    print(f"it has reached step {goal}", flush=True)


def options_of() -> argparse.Namespace:
    """The command line; without options both programs come from PATH."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--torchrun", default="torchrun", help="of the environment with torch")
    parser.add_argument("--accelwatch", default="accelwatch")
    parser.add_argument("--folder", type=Path, help="for logs and checkpoints, new or empty")
    options = parser.parse_args()
    for name in ("torchrun", "accelwatch"):
        if shutil.which(getattr(options, name)) is None:
            parser.error(f"{getattr(options, name)} is not a program; name it with --{name}")
    return options


def main() -> int:
    """Exit code 0 when it went as it should."""
    options = options_of()
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="two-nodes-"))
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"logs and checkpoints: {options.folder}", flush=True)
    # torchrun is a script of the environment that has torch.
    python = str(Path(str(shutil.which(options.torchrun))).with_name("python"))
    try:
        with contextlib.ExitStack() as stack:
            train(TryOut(options, stack), python)
    except TryOutError as error:
        print(f"two_nodes: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

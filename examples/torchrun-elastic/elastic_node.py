#!/usr/bin/env python3
"""Runs torchrun on one node while the node is healthy, and stops it when accelwatch says otherwise.

    elastic_node.py [options] -- torchrun --nnodes=1:2 ... train.py

torchrun asks nobody whether its node is healthy. This program does, every few seconds. On a node that
should leave it ends torchrun with SIGTERM, which leaves the rendezvous open, and the other nodes go on
without it; once the node has been healthy for a while it starts torchrun again, which joins them.
Standard library only, so that it runs in the environment of the training.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from types import FrameType

# The exit code of `accelwatch check` for a lost device or an open critical incident. All other codes,
# such as that of an agent that does not answer, are no reason to end a job.
CRITICAL = 2
# On a node whose processors are all busy a check may take longer than its usual 5 s.
CHECK_TIMEOUT = "20s"
# For a program that does not end within its own timeout.
ASK_TIMEOUT_S = 30
# With a shared store torchrun (2.15) publishes the address of the first rank only once, and a node that
# joins later waits for it until all of them end with DistStoreError.
ENVIRONMENT = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def log(text: str) -> None:
    """One line for people."""
    print(f"elastic_node: {text}", flush=True)


def ask(words: list[str]) -> tuple[int | None, str]:
    """Exit code and output of a command; None when it does not run or does not end."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    return done.returncode, done.stdout


def reason_to_leave(options: argparse.Namespace) -> str:
    """Why this node should take no part in a job; empty when there is no reason, or nobody can say."""
    program = shlex.split(options.accelwatch)
    code, output = ask([*program, "check", "--agent", options.agent, "--timeout", CHECK_TIMEOUT])
    if code == CRITICAL:
        return (output.splitlines() or ["critical"])[0]
    if options.hub:
        words = ["avoid", "--hub", options.hub, "--reason", "quarantined", "--format", "hostfile"]
        _, output = ask([*program, *words])
        if options.node in output.split():
            return f"the hub {options.hub} has taken {options.node} out"
    return ""


class ElasticNode:
    """torchrun on this node, started and stopped as often as the node's health asks for."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        # Between two runs a signal ends this program at once, during one it is torchrun's.
        self._waiting = True
        self._signal: int | None = None

    def run(self) -> int:
        """The exit code of torchrun, once it ends by itself or by a signal to this program."""
        healthy_for_s = 0.0
        while True:
            self._wait_until_healthy(healthy_for_s)
            code = self._run_while_healthy()
            if code is not None:
                return code if code >= 0 else 128 - code
            healthy_for_s = self._options.healthy_for

    def stop(self, number: int, _frame: FrameType | None) -> None:
        """Signal handler."""
        if self._waiting:
            sys.exit(128 + number)
        self._signal = number
        if self._process is not None:
            self._process.send_signal(number)

    def _wait_until_healthy(self, healthy_for_s: float) -> None:
        """Return after so many seconds without a reason to leave."""
        healthy_since, logged = None, False
        while True:
            reason, now = reason_to_leave(self._options), time.monotonic()
            if reason:
                if not logged:
                    log(f"waits: {reason}")
                healthy_since, logged, healthy_for_s = None, True, self._options.healthy_for
            else:
                healthy_since = now if healthy_since is None else healthy_since
                if now - healthy_since >= healthy_for_s:
                    return
            time.sleep(self._options.every)

    def _run_while_healthy(self) -> int | None:
        """Exit code of torchrun; None when it was stopped because the node has to leave."""
        self._waiting = False
        self._process = process = subprocess.Popen(
            self._options.command, env={**os.environ, **ENVIRONMENT}
        )
        if self._signal is not None:  # it came before there was a process to hand it on to
            process.send_signal(self._signal)
        while True:
            try:
                return process.wait(self._options.every)
            except subprocess.TimeoutExpired:
                reason = reason_to_leave(self._options)
            if reason and self._signal is None and process.poll() is None:
                log(f"leaves the job: {reason}")
                _end(process, self._options.stop_timeout)
                if self._signal is not None:
                    return -self._signal
                self._waiting = True
                return None


def _end(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        # What its workers hang in stays, but the other nodes stop waiting for this one.
        process.kill()
        process.wait()


def options_of(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--agent", default="127.0.0.1:9877", help="agent of this node")
    parser.add_argument("--hub", help="URL of the hub; its quarantine then counts as well")
    parser.add_argument("--node", help="name of this node at the hub or its scheduler")
    parser.add_argument("--every", type=float, default=5, help="seconds between two checks")
    parser.add_argument(
        "--healthy-for", type=float, default=60, help="seconds before it joins again"
    )
    # torchrun kills workers that ignore SIGTERM after 30 s; one that takes longer hangs itself.
    parser.add_argument(
        "--stop-timeout", type=float, default=60, help="seconds from SIGTERM to SIGKILL"
    )
    parser.add_argument("--accelwatch", default="accelwatch", help="the program, with arguments")
    parser.add_argument("command", nargs="+", metavar="torchrun ...")
    options = parser.parse_args(words)
    if options.hub and not options.node:
        parser.error("--hub needs --node, the name of this node at the hub")
    return options


def main() -> int:
    """The exit code of torchrun; 128 and the number of the signal that has ended it or this program."""
    node = ElasticNode(options_of(sys.argv[1:]))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, node.stop)
    return node.run()


if __name__ == "__main__":
    sys.exit(main())

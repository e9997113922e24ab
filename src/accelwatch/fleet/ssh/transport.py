"""What all hosts that are reached by ssh have in common, and what one of them must have to be read."""

import asyncio
from collections.abc import Collection

from accelwatch.backend.kit.remote import Remote, RemoteCommand
from accelwatch.fleet.follow.failures.failure_log import FailureLog
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.ssh.answers import HostProbe
from accelwatch.fleet.ssh.settings import Ssh
from accelwatch.fleet.ssh.vendors import by_pci_vendor, commands_of, remotes

_APART_S, _LONGEST_APART_S = 0.05, 1.0
_CLOSER = 0.9
# How long until a host without accelerators is probed again.
_NOTHING_THERE_S = 60.0
# How much longer than its commands a round may last.
_SLACK_S = 5.0


class Pace:
    """When connections begin, one after the other.

    An sshd drops connections at random from ten on that have not logged in yet (`MaxStartups
    10:30:100`), and a jump host is one sshd in front of all. Each that is dropped makes the others come
    more slowly, each that logs in a little faster again.
    """

    def __init__(self) -> None:
        self.apart_s = _APART_S
        self._next = 0.0

    async def turn(self) -> None:
        """Return when a connection may begin."""
        now = asyncio.get_running_loop().time()
        due = max(self._next, now)
        self._next = due + self.apart_s
        await asyncio.sleep(due - now)

    def dropped(self) -> None:
        """An sshd has dropped a connection."""
        self.apart_s = min(2 * self.apart_s, _LONGEST_APART_S)

    def logged_in(self) -> None:
        """A connection has logged in."""
        self.apart_s = max(_CLOSER * self.apart_s, _APART_S)


class SshTransport:
    """Settings, bounds and commands; made on a running loop."""

    def __init__(
        self,
        settings: Ssh,
        limit_bytes: int,
        max_backoff_s: float,
        turn: Turn,
        *,
        backends: dict[str, Remote] | None = None,
        failures: FailureLog | None = None,
    ) -> None:
        """`limit_bytes` bounds what a round may print; `turn` is of who reads a long one on a thread.

        `backends` is what can be read, by backend; all that is installed, if it is left out.
        """
        self.settings = settings
        self.limit_bytes = limit_bytes
        self.max_backoff_s = max_backoff_s
        self.turn = turn
        self.failures = failures or FailureLog()
        # Of connections that are being opened.
        self.room = asyncio.Semaphore(settings.connecting_at_once)
        self.pace = Pace()
        self.backends = remotes() if backends is None else backends
        self.commands = commands_of(self.backends)
        # How long a round may last until it is reported as hanging.
        self.patience_s = _longest_s(self.commands.values()) + _SLACK_S


def _longest_s(commands: Collection[RemoteCommand]) -> float:
    """How long a round may last: hardly any host has more than two kinds of accelerators."""
    longest = sorted((command.timeout_s for command in commands), reverse=True)
    return sum(longest[:2])


def check(there: HostProbe, backends: dict[str, Remote]) -> None:
    """Raises TargetFault where nothing could read an accelerator."""
    if there.programs:
        return
    missed = [remote for remote in backends.values() if there.pci_vendors & set(remote.pci_vendors)]
    unread = [name for vendor, name in by_pci_vendor().items() if vendor in there.pci_vendors]
    if missed:
        names = " or ".join(_programs(missed))
        text = f"an accelerator is on its PCI bus, but {names} is not installed there"
    elif unread:
        text = f"an accelerator of {unread[0]} is read over ssh only where accelwatch is installed"
    else:
        count = len(_programs(backends.values()))
        there_is = f"none of {count} vendors' commands is installed"
        text = f"no known accelerator on its PCI bus, and {there_is}"
    raise TargetFault(Reason.NO_SOURCE, text, retry_after_s=_NOTHING_THERE_S)


def _programs(remotes: "Collection[Remote]") -> list[str]:
    names = [command.programs[0] for remote in remotes for command in remote.commands]
    return list(dict.fromkeys(names))

"""Reports the agent's state to systemd: datagrams to the socket it names (sd_notify(3))."""

import contextlib
import socket
import time
from collections.abc import MutableMapping

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Notifier:
    """Sends nothing without a NOTIFY_SOCKET."""

    def __init__(self, address: str = "", watchdog_s: float | None = None) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        # Seconds of silence after which systemd restarts the agent; None: it does not watch.
        self.watchdog_s = watchdog_s

    def ready(self, status: str) -> None:
        """The agent serves."""
        self._send(f"READY=1\nSTATUS={status}")

    def reloading(self) -> None:
        """The configuration is being read again; `ready` ends it."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The agent is on its way out."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._send("WATCHDOG=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        ):
            sender.setblocking(False)
            sender.sendto(message.encode(), self._address)


def notifier_of(environ: MutableMapping[str, str], pid: int) -> Notifier:
    """The notifier of the environment; removes its variables, so that child processes lack them."""
    address, usec, watched = (environ.pop(name, "") for name in _VARIABLES)
    mine = watched in ("", str(pid))
    watchdog = int(usec) / 1e6 if usec.isdecimal() and int(usec) > 0 and mine else None
    return Notifier(address, watchdog)

"""Targets by name: every address that a name resolves to, as a headless service in Kubernetes gives."""

import logging
import socket
from collections.abc import Callable, Sequence
from typing import Any

from accelwatch.errors import UsageError
from accelwatch.fleet.targets.target import Target, targets_of

logger = logging.getLogger(__name__)

Resolve = Callable[[str, int], Sequence[tuple[Any, ...]]]
"""Name and port to what getaddrinfo gives. Raises OSError."""


def _resolve(name: str, port: int) -> Sequence[tuple[Any, ...]]:
    return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)


class DnsTargets:
    """Names with ports (`agents.monitoring.svc:9877`); `look` blocks and is for a thread."""

    def __init__(self, names: Sequence[str], scheme: str, resolve: Resolve = _resolve) -> None:
        """Raises UsageError for a name that makes no sense."""
        self._names = {one.address: one for one in targets_of(names, {}, scheme)}
        self._scheme = scheme
        self._resolve = resolve
        self._held: dict[str, list[Target]] = {}
        self.complaints: dict[str, str] = {}
        """Name to what is wrong with it now."""

    def look(self) -> list[Target]:
        """A target for each address; a name that does not resolve keeps those it had."""
        for name in self._names:
            host, _, port = name.rpartition(":")
            try:
                found = self._resolve(host, int(port))
                self._held[name] = self._targets(found, port)
            except (OSError, UnicodeError, UsageError) as error:
                if name not in self.complaints:
                    logger.error("a name does not resolve, its targets stay name=%s", name)
                self.complaints[name] = str(error)
            else:
                self.complaints.pop(name, None)
        return [target for targets in self._held.values() for target in targets]

    def _targets(self, found: Sequence[tuple[Any, ...]], port: str) -> list[Target]:
        hosts = dict.fromkeys(str(one[4][0]) for one in found)
        texts = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in sorted(hosts)]
        return targets_of(texts, {}, self._scheme)

"""Targets by name: the addresses (A, AAAA) or services (SRV) that name servers return for a name."""

import ipaddress
from collections.abc import Sequence

import dns.exception
import dns.nameserver
import dns.resolver

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import MAX_HOSTS
from accelwatch.config.forms import split_address
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import DnsSd


class DnsTargets:
    """Looks names up; a name that fails keeps what it had. `poll` blocks and is for a thread."""

    def __init__(self, settings: DnsSd, rules: Rules) -> None:
        """Raises UsageError for a name that makes no sense."""
        self._settings = settings
        self._rules = rules
        self._names = {name: split_name(name, settings) for name in settings.names}
        self.kept = TargetCache()

    def poll(self) -> list[Target]:
        """A target for each record."""
        for name, (host, port) in self._names.items():
            try:
                addresses = self._addresses(host, port)
                self.kept.update(name, self._rules.targets(addresses, self._settings.labels))
            except dns.exception.DNSException as error:
                self.kept.refuse(name, _why(error))
            except (OSError, UsageError) as error:
                self.kept.refuse(name, str(error))
        return self.kept.targets()

    def _addresses(self, host: str, port: int) -> list[str]:
        record_type = self._settings.type
        resolver = _resolver(self._settings.nameservers)
        answer = resolver.resolve(host, record_type, search=True, lifetime=self._settings.timeout_s)
        if len(answer) > MAX_HOSTS:
            raise UsageError(f"more than {MAX_HOSTS} records")
        if record_type == "SRV":
            return sorted(f"{record.target.to_text(True)}:{record.port}" for record in answer)
        if record_type == "AAAA":
            return sorted(f"[{record.address}]:{port}" for record in answer)
        return sorted(f"{record.address}:{port}" for record in answer)


def _resolver(servers: Sequence[str]) -> dns.resolver.Resolver:
    """A resolver; without servers that of /etc/resolv.conf as it is now."""
    resolver = dns.resolver.Resolver(configure=not servers)
    if servers:
        resolver.nameservers = [_server(server) for server in servers]
    return resolver


def split_name(text: str, settings: DnsSd) -> tuple[str, int]:
    """Name and port of `name` or `name:port`. Raises UsageError."""
    name, colon, port = text.rpartition(":")
    if not colon:
        name, port = text, str(settings.port)
    if not name or name.startswith("[") or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise UsageError(
            f"{text[:100]!r} is not a valid name; write agents.example.org or with a port"
        )
    if any(not label.isascii() or " " in label or len(label) > 63 for label in name.split(".")):
        raise UsageError(f"{text[:100]!r} is not a valid DNS name")
    return name, int(port)


def _server(text: str) -> dns.nameserver.Nameserver:
    host, port = split_address(text)
    return dns.nameserver.Do53Nameserver(host, port)


def _why(error: dns.exception.DNSException) -> str:
    if isinstance(error, dns.resolver.NXDOMAIN):
        return "there is no such name"
    if isinstance(error, dns.resolver.NoAnswer):
        return "the name has no such record"
    if isinstance(error, dns.resolver.LifetimeTimeout):
        return "no name server answered in time"
    return f"the name does not resolve: {str(error)[:200]}"


def check_servers(texts: Sequence[str]) -> None:
    """Raise UsageError for a server that is no IP address."""
    for text in texts:
        try:
            ipaddress.ip_address(split_address(text)[0])
        except ValueError as error:
            raise UsageError(
                f"{text!r} is not a valid address of a name server; write IP:port"
            ) from error

"""IP addresses as the system reads them; for two checks, ipaddress would cost 0.3 MiB."""

import socket

# Before an IPv4 address that is written as one of IPv6; RFC 4291, 2.5.5.2.
_MAPPED = b"\0" * 10 + b"\xff\xff"
_LOOPBACK = b"\0" * 15 + b"\1"
_LOOPBACK_NET = 127
_IPV4_BYTES = 4


def is_address(text: str) -> bool:
    """Whether the text is an address of IPv4 or IPv6, which may name its zone."""
    return _packed(text) is not None


def is_loopback_address(text: str) -> bool:
    """Whether the text is an address at which only this machine can be reached."""
    packed = (_packed(text) or b"").removeprefix(_MAPPED)
    return packed == _LOOPBACK or (len(packed) == _IPV4_BYTES and packed[0] == _LOOPBACK_NET)


def _packed(text: str) -> bytes | None:
    address, percent, zone = text.partition("%")
    if percent and (not zone or "%" in zone or ":" not in address):
        return None
    try:
        return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except (OSError, ValueError):  # it is none, or no text for the system at all
        return None

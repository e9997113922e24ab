"""The hubs that are named on a command line, each with a short name of its own and its credentials."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint, hub_endpoint

# More of them are what a hub over hubs is for.
MOST_HUBS = 8
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,62})=(.+)")


def hub_endpoints(urls: Sequence[str], config_files: Sequence[Path]) -> tuple[HubEndpoint, ...]:
    """The hubs of `--hub`, `NAME=URL` or `URL`, in their order; names are unique.

    One file has the credentials for all of them; several are one for each hub, in the same order.
    Raises UsageError, ConfigError.
    """
    if len(urls) > MOST_HUBS:
        raise UsageError(f"--hub is given {len(urls)} times; {MOST_HUBS} hubs are the most")
    if len(config_files) not in (0, 1, len(urls)):
        raise UsageError(
            f"--hub.config.file is given {len(config_files)} times for {len(urls)} hubs: give one file "
            "for all, or one for each --hub in the same order"
        )
    files = [*config_files] * len(urls) if len(config_files) == 1 else [*config_files]
    files_or_none: list[Path | None] = [*files] or [None] * len(urls)
    split = [_split(url) for url in urls]
    endpoints = [
        hub_endpoint(url, file) for (_, url), file in zip(split, files_or_none, strict=True)
    ]
    bases = Counter((endpoint.base, endpoint.unix_socket) for endpoint in endpoints)
    if repeated := next((key for key, count in bases.items() if count > 1), None):
        raise UsageError(f"--hub {repeated[1] or repeated[0]}: the same hub is given twice")
    if len(endpoints) == 1:
        name = split[0][0]
        return (msgspec.structs.replace(endpoints[0], name=name) if name else endpoints[0],)
    names = _unique([name for name, _ in split], endpoints)
    return tuple(
        msgspec.structs.replace(endpoint, name=name)
        for endpoint, name in zip(endpoints, names, strict=True)
    )


def _split(text: str) -> tuple[str, str]:
    """(name or empty, URL)."""
    match = _NAMED.fullmatch(text)
    return (match[1], match[2]) if match else ("", text)


def _short(endpoint: HubEndpoint) -> str:
    if endpoint.unix_socket is not None:
        return endpoint.unix_socket
    return urlsplit(endpoint.base).hostname or endpoint.name


def _unique(names: Sequence[str], endpoints: Sequence[HubEndpoint]) -> list[str]:
    """Names as given, else short ones where they differ, else those with port and path.

    `names` has an empty text for a hub without a name. Raises UsageError.
    """
    repeated = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if repeated is not None:
        raise UsageError(
            f"--hub: two hubs are called {repeated}; give each a name of its own: "
            f"--hub {repeated}-1=URL --hub {repeated}-2=URL"
        )
    shown = [name or _short(endpoint) for name, endpoint in zip(names, endpoints, strict=True)]
    counts = Counter(shown)
    unique = [
        endpoint.name if counts[short] > 1 and not name else short
        for name, short, endpoint in zip(names, shown, endpoints, strict=True)
    ]
    if len(set(unique)) < len(unique):
        raise UsageError("--hub: two hubs have the same name; write other names, pod-1=URL")
    return unique

"""The hubs that a hub follows (`targets.hubs`): their endpoints, and what no single value shows."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.fleet.follow.access import check_access
from accelwatch.fleet.targets.hub_endpoint import (
    HubAccess,
    HubEndpoint,
    endpoint_with,
    scrape_of,
)
from accelwatch.fleet.targets.settings import FollowedHub, Targets
from accelwatch.web.sockets.listeners import is_loopback

SECTION = "targets.hubs"
# More of them are what another hub between is for.
MOST_HUBS = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
# Settings of a hub that follows hubs; the others are of hubs that follow nodes.
_OF_BOTH = ("targets", "web", "log", "state_dir", "stream_interval_s")


def hub_endpoints(hubs: Sequence[FollowedHub]) -> tuple[HubEndpoint, ...]:
    """Where the hubs are, each with its name. Raises UsageError, ConfigError."""
    return tuple(_endpoint(hub) for hub in hubs)


def _endpoint(hub: FollowedHub) -> HubEndpoint:
    endpoint = endpoint_with(
        hub.url, _access(hub), flag="url", credentials="authorization or basic_auth, with files"
    )
    return msgspec.structs.replace(endpoint, name=_name(hub), device_limit=hub.device_limit)


def _access(hub: FollowedHub) -> HubAccess:
    return HubAccess(
        basic_auth=hub.basic_auth, authorization=hub.authorization, tls_config=hub.tls_config
    )


def _name(hub: FollowedHub) -> str:
    """As it is given, else the host; empty for neither."""
    url = hub.url if "://" in hub.url else f"//{hub.url}"
    return hub.name or (urlsplit(url).hostname or "")


def mistakes_of_hubs(targets: Targets) -> Iterator[tuple[str, str]]:
    """Every mistake with its key."""
    if len(targets.hubs) > MOST_HUBS:
        yield SECTION, f"{len(targets.hubs)} hubs, and {MOST_HUBS} are the most"
    names: Counter[str] = Counter()
    addresses: Counter[str] = Counter()
    for number, hub in enumerate(targets.hubs):
        key = f"{SECTION}[{number}]"
        try:
            check_access(scrape_of(_access(hub)), key)
            endpoint = _endpoint(hub)
        except ConfigError as error:
            location, _, text = str(error).partition(": ")
            yield location, text
            continue
        except (UsageError, ValueError) as error:
            yield f"{key}.url", str(error).removeprefix("url: ").removeprefix("url ")
            continue
        names[endpoint.name] += 1
        addresses[endpoint.unix_socket or endpoint.base] += 1
        if not _NAME.fullmatch(endpoint.name):
            yield f"{key}.name", "write a name of letters, digits and ._- such as pod-1"
        elif names[endpoint.name] > 1:
            yield f"{key}.name", f"another hub is called {endpoint.name} too: write another name"
        if addresses[endpoint.unix_socket or endpoint.base] > 1:
            yield f"{key}.url", "the same hub is listed before: remove one of them"
        if _is_sent_unencrypted(hub, endpoint):
            text = "credentials could be read on the way: write https://, or credentials_over_http"
            yield f"{key}.url", text


def _is_sent_unencrypted(hub: FollowedHub, endpoint: HubEndpoint) -> bool:
    """Whether its credentials would go to another machine over http."""
    shown = bool(hub.basic_auth.password_file or hub.authorization.credentials_file)
    is_plain = endpoint.unix_socket is None and endpoint.base.startswith("http:")
    if not (shown and is_plain) or hub.credentials_over_http:
        return False
    return not is_loopback(urlsplit(endpoint.base).netloc)


def mistakes_beside_hubs(
    settings: msgspec.Struct, defaults: msgspec.Struct, targets: Targets
) -> Iterator[tuple[str, str]]:
    """Settings of a hub that are given beside `targets.hubs`, and belong to the hubs that it follows."""
    if not targets.hubs:
        return
    for field in _changed(targets, Targets()):
        if field.name != "hubs":
            text = (
                "a hub follows either nodes or hubs: follow these with a hub of their own, and list it "
                "in targets.hubs"
            )
            yield f"targets.{field.encode_name}", text
    for field in _changed(settings, defaults):
        if field.name not in _OF_BOTH:
            text = "does nothing in a hub that follows hubs: set it at the hubs of targets.hubs"
            yield field.encode_name, text


def _changed(
    settings: msgspec.Struct, defaults: msgspec.Struct
) -> Iterator[msgspec.structs.FieldInfo]:
    """The settings that are not as by default."""
    for field in msgspec.structs.fields(settings):
        if getattr(settings, field.name) != getattr(defaults, field.name):
            yield field

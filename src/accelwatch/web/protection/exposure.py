"""The protection of a server: whether strangers could read it, and that no reload removes protection."""

from collections.abc import Callable
from pathlib import Path

from accelwatch.base.errors import ConfigError
from accelwatch.config.model import Web
from accelwatch.web.protection.web_config import Protection, load_protection
from accelwatch.web.sockets.listeners import exposed


def protection_of(web: Web) -> Protection:
    """The protection that the web configuration gives. Raises ConfigError when it is not enough."""
    protection = load_protection(Path(web.config_file)) if web.config_file else Protection()
    check_exposure(web, protection)
    return protection


def check_exposure(web: Web, protection: Protection) -> None:
    """Raise ConfigError when other machines could read the agent without credentials."""
    open_to_all = exposed(web.listen_address)
    if open_to_all and not protection.authenticates and not web.listen_any:
        raise ConfigError(
            f"web.listen_address: other machines can reach {', '.join(open_to_all)} and no client has "
            "to authenticate; name a web configuration with basic_auth_users, bearer_token_file or "
            "client certificates (--web.config.file), or allow it with --web.listen-any"
        )


# What can be required of a client; each counts besides the others.
_FACTORS: tuple[tuple[str, Callable[[Protection], object]], ...] = (
    ("passwords and tokens", lambda protection: protection.users or protection.tokens),
    ("client certificates", lambda protection: protection.client_certificates),
    ("client_allowed_sans", lambda protection: protection.allowed_sans),
    ("TLS", lambda protection: protection.tls),
    ("roles", lambda protection: protection.roles is not None),
)


def check_kept(before: Protection, after: Protection) -> None:
    """Raise ConfigError when a reload would remove a protection.

    A file is empty for a moment while a careless tool writes it, and stays so when the disk is full.
    """
    file = next(iter(before.files), "web.config_file")
    if before.configured and after.files and not after.configured:
        raise ConfigError(
            f"{file}: the file is empty; write it again, or restart to serve without it"
        )
    lost = [name for name, has_factor in _FACTORS if has_factor(before) and not has_factor(after)]
    if lost:
        raise ConfigError(
            f"{file}: nothing asks for {' and '.join(lost)} any more, and a reload never takes a "
            "protection away; complete the file, or restart to serve without"
        )

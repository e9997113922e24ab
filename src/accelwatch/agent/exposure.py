"""Whether other machines could read the agent without credentials, and what the web file protects."""

from pathlib import Path

from accelwatch import plugins
from accelwatch.agent.listeners import exposed
from accelwatch.agent.web_config import Protection, load_protection
from accelwatch.config.model import Settings, Web
from accelwatch.errors import ConfigError


def checked(settings: Settings) -> Protection:
    """The protection in force. Raises ConfigError for what no single key shows: names, exposure."""
    if missing := plugins.unknown(plugins.BACKENDS, settings.collect.backends):
        raise ConfigError(f"collect.backends: {missing}")
    return protection_of(settings.web)


def protection_of(web: Web) -> Protection:
    """The protection that the web configuration gives. Raises ConfigError when it is not enough."""
    found = load_protection(Path(web.config_file)) if web.config_file else Protection()
    check_exposure(web, found)
    return found


def check_exposure(web: Web, protection: Protection) -> None:
    """Raise ConfigError when other machines could read the agent without credentials."""
    open_to_all = exposed(web.listen_address)
    if open_to_all and not protection.authenticates and not web.listen_any:
        raise ConfigError(
            f"web.listen_address: other machines can reach {', '.join(open_to_all)} and nobody must "
            "authenticate; name a web configuration with basic_auth_users, bearer_token_file or "
            "client certificates (--web.config.file), or allow it with --web.listen-any"
        )

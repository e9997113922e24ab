"""A ping for as long as all is well: silence raises the alarm at whoever expects it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from accelwatch.alerting.delivery.transport.post import Poster, PostError
from accelwatch.base.errors import ConfigError
from accelwatch.config.alerts import DeadMan
from accelwatch.plugins.options import check_url
from accelwatch.system.located_yaml.nodes import read_file

_TIMEOUT_S = 10.0


class DeadManPing:
    """Requests one URL periodically; a watcher without data must not look healthy."""

    def __init__(self, settings: DeadMan, well: Callable[[], bool] | None) -> None:
        """Raises ConfigError."""
        assert settings.url_file is not None
        self._url = ping_url(settings.url_file)
        self._interval_s = settings.interval_s
        self._well = well
        self._poster = Poster(_TIMEOUT_S)
        self.problem = "" if well else "health is unknown, so nothing is pinged"

    async def run(self) -> None:
        """Ping, for ever."""
        while self._well is not None:
            await self._once(self._well)
            await asyncio.sleep(self._interval_s)

    async def _once(self, well: Callable[[], bool]) -> None:
        try:
            if not well():
                self.problem = "not pinged, because there are problems"
                return
            answer = await self._poster.post(self._url, b"", method="GET")
            self.problem = "" if answer.well else f"answered {answer.code}"
        except PostError as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001 - who cannot say that all is well says that it is not
            self.problem = f"not pinged: {type(error).__name__}"

    async def close(self) -> None:
        """Give the connection back."""
        await self._poster.close()


def ping_url(file: str) -> str:
    """The URL that a file holds. Raises ConfigError, which does not repeat it."""
    try:
        url = read_file(Path(file)).decode().strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"dead_man.url_file: {file} is not text") from error
    return check_url(url, key="dead_man.url_file")

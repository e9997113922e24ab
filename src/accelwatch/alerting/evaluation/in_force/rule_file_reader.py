"""Rule files read beside the loop: a file system that hangs delays no tick and changes no rule."""

import asyncio

import msgspec

from accelwatch.alerting.delivery.transport.blocking import Blocking, StillBusyError
from accelwatch.alerting.rules.loading.configured import FileStamps, file_stamps, loaded_rules
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.base.errors import AccelwatchError, ConfigError
from accelwatch.config.model import RuleSettings

# Loading many rules lasts a second.
WAIT_S = 30.0


class RuleFilesHangError(ConfigError):
    """The file system of the rule files does not answer."""


class RuleFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What the rule files say."""

    stamps: FileStamps
    # The rules or why they are refused; None where the stamps are those that were cached.
    outcome: RuleSet | AccelwatchError | OSError | None


class RuleFileReader:
    """One reading at a time, on a thread of its own, with a deadline."""

    def __init__(self) -> None:
        self._reading: Blocking[RuleFiles] = Blocking("rule files")
        # A reload waits for a check of the files, and does not report it as hanging.
        self._turn = asyncio.Lock()

    async def read(self, settings: RuleSettings, cached: FileStamps | None = None) -> RuleFiles:
        """The files now; the rules only where the stamps are not the `cached` ones.

        Raises RuleFilesHangError.
        """
        async with self._turn:
            try:
                return await self._reading.run(lambda: _read(settings, cached), WAIT_S)
            except (TimeoutError, StillBusyError) as error:
                text = "rule files cannot be read, the rules in force stay: no answer from the disk"
                raise RuleFilesHangError(text) from error


def _read(settings: RuleSettings, cached: FileStamps | None) -> RuleFiles:
    stamps = file_stamps(settings)
    outcome: RuleSet | AccelwatchError | OSError | None = None
    if stamps != cached:
        try:
            outcome = loaded_rules(settings)
        except (AccelwatchError, OSError) as error:
            outcome = error
    return RuleFiles(stamps=stamps, outcome=outcome)

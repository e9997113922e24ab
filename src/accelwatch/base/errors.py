"""The one exception tree. A vendor's own exceptions never leave the module that imports its library."""

from collections.abc import Mapping
from typing import ClassVar

from accelwatch.base.absence import Absence
from accelwatch.base.exit_codes import FAILED, UNKNOWN, UNMET, USAGE


class AccelwatchError(Exception):
    """Root of all errors that accelwatch raises on purpose."""

    exit_code: ClassVar[int] = FAILED


class UsageError(AccelwatchError):
    """The command line names something that does not exist; the message says what does."""

    exit_code = USAGE


class UnmetError(AccelwatchError):
    """A selector or constraint matched nothing; the message names the valid choices."""

    exit_code = UNMET


class PartialAnswerError(UnmetError):
    """A name means nothing to those who answered, and not all of those who may know it did."""

    exit_code = FAILED


class FollowsError(AccelwatchError):
    """Another hub has to make the change; the message names it."""


def check_leads(refusal: str) -> None:
    """Raises FollowsError unless `refusal`, which names the hub that leads instead, is empty."""
    if refusal:
        raise FollowsError(refusal)


class ConfigError(AccelwatchError):
    """A configuration file is wrong; the message names file, line, key and the mend."""

    exit_code = USAGE


class OptionsError(ConfigError):
    """Options of a plug-in are wrong: a line for each mistake, which are also there by key."""

    def __init__(self, mistakes: Mapping[str, str]) -> None:
        super().__init__("\n".join(f"{key}: {text}" for key, text in mistakes.items()))
        self.mistakes = dict(mistakes)


class ExpressionError(AccelwatchError):
    """An expression cannot be compiled; the message carries a caret and, where it can, a suggestion."""

    exit_code = USAGE


class UncertainError(AccelwatchError):
    """A change was sent, and it is unknown whether it was made; the message says where to look."""

    exit_code = UNKNOWN


class WithdrawnError(AccelwatchError):
    """A write was not sent, because its permission was withdrawn; the text says why."""


class WireError(AccelwatchError):
    """A document or frame cannot be read: damaged, or of a newer major version."""


class PluginError(AccelwatchError):
    """A plug-in cannot be loaded or breaks its contract; the message names it and the fault."""


class ReadError(AccelwatchError):
    """A device could not be read; `absence` is the reason every quantity of it gets."""

    absence: ClassVar[Absence] = Absence.ERROR

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class DeviceLost(ReadError):  # noqa: N818
    """The device was there and is gone, or answers only with a fatal error."""

    absence = Absence.LOST


class DeviceTimeout(ReadError):  # noqa: N818
    """The device did not answer before its deadline."""

    absence = Absence.TIMEOUT


class DevicePermission(ReadError):  # noqa: N818
    """This user may not read the device; the message names the permission."""

    absence = Absence.PERMISSION


class DeviceSuspended(ReadError):  # noqa: N818
    """The device sleeps and was left asleep."""

    absence = Absence.SUSPENDED

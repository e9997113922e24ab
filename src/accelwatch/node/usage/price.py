"""The price that the configuration gives."""

from collections.abc import Mapping

from accelwatch.base.errors import AccelwatchError
from accelwatch.config.usage import UsageSettings
from accelwatch.node.usage.report import EnergyPrice


def price_of(settings: UsageSettings) -> EnergyPrice | None:
    """None where none is configured."""
    if settings.price_per_kwh is None:
        return None
    return EnergyPrice(per_kwh=settings.price_per_kwh, currency=settings.currency)


def configured_price(environ: Mapping[str, str]) -> tuple[EnergyPrice | None, str]:
    """By the agent's configuration on this machine, and why it cannot be read, if it cannot."""
    from accelwatch.config.layers import effective, find_file

    try:
        return price_of(effective(find_file(None, environ), environ).settings.usage), ""
    except AccelwatchError as error:
        return None, str(error)

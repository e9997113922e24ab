"""The price that the configuration gives."""

from accelwatch.config.usage import UsageSettings
from accelwatch.usage.report import EnergyPrice


def price_of(settings: UsageSettings) -> EnergyPrice | None:
    """None where none is configured."""
    if settings.price_per_kwh is None:
        return None
    return EnergyPrice(per_kwh=settings.price_per_kwh, currency=settings.currency)

"""The price that the configuration gives."""

from accelwatch.config.usage import UsageSettings
from accelwatch.usage.report import Price


def price_of(settings: UsageSettings) -> Price | None:
    """None where none is configured."""
    if settings.price_per_kwh is None:
        return None
    return Price(per_kwh=settings.price_per_kwh, currency=settings.currency)

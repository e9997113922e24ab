"""What energy costs here."""

from typing import Annotated

import msgspec
from msgspec import Meta

Amount = Annotated[float, Meta(extra={"form": "price"})]
Currency = Annotated[str, Meta(extra={"form": "currency"})]


class UsageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The price by which `usage` tells what users and jobs cost; without one it tells energy alone."""

    price_per_kwh: Amount | None = None
    currency: Currency = ""

"""Whether use is counted, and what energy costs here."""

from typing import Annotated

import msgspec
from msgspec import Meta

Amount = Annotated[float, Meta(extra={"form": "price"})]
Currency = Annotated[str, Meta(extra={"form": "currency"})]


class UsageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who uses what; without a price, energy is reported and no money."""

    # An hour of 8,000 devices costs a hub about 6 MiB.
    count: bool = True
    price_per_kwh: Amount | None = None
    currency: Currency = ""

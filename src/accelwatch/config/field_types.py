"""What the fields of settings hold: a text of a certain form, a duration in seconds, a count."""

from typing import Annotated

from msgspec import Meta

Path = Annotated[str, Meta(extra={"form": "path"})]
Address = Annotated[str, Meta(extra={"form": "address"})]
Host = Annotated[str, Meta(extra={"form": "host"})]
Group = Annotated[str, Meta(extra={"form": "group"})]
Short = Annotated[float, Meta(ge=0.1, le=60, extra={"form": "duration"})]
VeryShort = Annotated[float, Meta(ge=0.001, le=60, extra={"form": "duration"})]
Long = Annotated[float, Meta(ge=1, le=3600, extra={"form": "duration"})]
UpToMonth = Annotated[float, Meta(ge=1, le=30 * 86_400, extra={"form": "duration"})]
Expected = Annotated[int, Meta(ge=0, le=4096)]
Count = Annotated[int, Meta(ge=1, le=100_000)]

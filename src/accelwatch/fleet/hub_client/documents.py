"""What a hub or an agent has answered, as the struct that it was written from."""

from typing import TypeVar

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError

Document = TypeVar("Document", bound=msgspec.Struct)


def decoded(body: bytes, kind: type[Document]) -> Document:
    """A document of the API. Raises AccelwatchError for what cannot be read."""
    try:
        return msgspec.json.decode(body, type=kind)
    except DECODE_ERRORS as error:
        raise AccelwatchError(f"the answer cannot be read: {error}") from error

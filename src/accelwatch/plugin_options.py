"""A plug-in's own options as a struct of its own, with complaints that never repeat a value."""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from accelwatch.errors import ConfigError
from accelwatch.located_yaml.complaint import unknown

Options = TypeVar("Options", bound=msgspec.Struct)


def checked(options: Mapping[str, object], kind: type[Options]) -> Options:
    """The options as a struct. Raises ConfigError, without the values."""
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in options:
        if key not in known:
            raise ConfigError(f"{key}: {unknown(key, known)}")
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error).replace("`$.", "`").replace("`$`", "options")) from None


def check_url(url: str, *, key: str = "url") -> str:
    """The URL, if a message can be sent to it. Raises ConfigError, which does not repeat it."""
    try:
        parts = urlsplit(url)
        well = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        well = None
    if not well or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError(f"{key}: expected a URL, https://HOST/PATH")
    if parts.username is not None:
        raise ConfigError(f"{key}: no user or password belongs into a URL")
    return url

"""A plug-in's own section of the configuration, as a struct of its own."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from accelwatch.errors import ConfigError

Options = TypeVar("Options", bound=msgspec.Struct)


def checked(options: Mapping[str, object], kind: type[Options]) -> Options:
    """The options as a struct. Raises ConfigError, without the values."""
    from accelwatch.located_yaml.complaint import unknown

    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in options:
        if key not in known:
            raise ConfigError(f"{key}: {unknown(key, known)}")
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error).replace("`$.", "`").replace("`$`", "options")) from None

"""Which keys hold secrets, and what is shown instead of them."""

import re

_SECRET = re.compile(r"(^|_)(password|passwd|secret|token|api_?key|private_?key)$", re.IGNORECASE)
HIDDEN = "<hidden>"


def secret_key(name: str) -> bool:
    """Whether a key of this name holds a secret itself; `*_file` keys name a file and do not."""
    return _SECRET.search(name) is not None


def without_secrets(value: object) -> object:
    """The value with whatever stands under a secret's name hidden."""
    if isinstance(value, dict):
        return {
            key: HIDDEN if secret_key(str(key)) else without_secrets(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(item) for item in value]
    return value

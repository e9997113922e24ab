"""What is shown instead of secrets."""

from accelwatch.plugins.options import secret_key

HIDDEN = "<hidden>"


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

"""The settings in force as YAML with the source of each value as a comment."""

import msgspec
import yaml
from msgspec import inspect

from accelwatch.config.forms import duration_text
from accelwatch.config.layers import Effective, leaves
from accelwatch.config.model import Settings
from accelwatch.plugins.options import secret_key

HIDDEN = "<hidden>"


def shown(effective: Effective[Settings]) -> str:
    """A file that gives the same settings; each line says where its value came from."""
    lines = [f"# file: {effective.file or 'none'}"]
    sections: list[str] = []
    for dotted, field_type in leaves().items():
        *heads, key = dotted.split(".")
        for depth, head in enumerate(heads):
            if sections[: depth + 1] != heads[: depth + 1]:
                lines.append(f"{'  ' * depth}{head}:")
                sections = heads[: depth + 1]
        sections = heads
        source = effective.sources.get(dotted, "default")
        text = _text(_value(effective.settings, dotted), field_type)
        lines.append(f"{'  ' * len(heads)}{key}: {text}  # {source}")
    return "\n".join(lines) + "\n"


def _value(settings: Settings, dotted: str) -> object:
    value: object = settings
    shape: inspect.Type = inspect.type_info(Settings)
    for key in dotted.split("."):
        assert isinstance(shape, inspect.StructType)
        field = next(field for field in shape.fields if field.encode_name == key)
        value, shape = getattr(value, field.name), field.type
    return value


def _text(value: object, field_type: inspect.Type) -> str:
    if isinstance(field_type, inspect.Metadata) and isinstance(field_type.type, inspect.FloatType):
        assert isinstance(value, float)
        return duration_text(value)
    if isinstance(value, frozenset):
        value = sorted(value)
    plain = without_secrets(msgspec.to_builtins(value))
    text = yaml.safe_dump(plain, default_flow_style=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


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

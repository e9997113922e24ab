"""The section `collect.options` against what the backends declare of their options."""

from collections.abc import Iterator, Mapping

from accelwatch import plugins
from accelwatch.backend import Option
from accelwatch.located_yaml.complaint import unknown
from accelwatch.sampler.declared_options import declared

Given = Mapping[str, Mapping[str, object]]
"""Options by the name of the backend."""


def mistakes(given: Given) -> Iterator[tuple[str, str]]:
    """What no backend knows, with its key below `collect.options`."""
    known = declared(given)
    for name, options in given.items():
        if missing := plugins.unknown(plugins.BACKENDS, [name]):
            yield name, missing
        elif name in known:
            for key, text in _of_backend(options, known[name]):
                yield f"{name}.{key}", text


def _of_backend(
    given: Mapping[str, object], options: tuple[Option, ...]
) -> Iterator[tuple[str, str]]:
    known = [option.name for option in options]
    for key in given:
        if key not in known:
            yield key, unknown(key, known) if known else "unknown key; this backend has no options"

"""Exporters by name, ours found exactly as a stranger's; what they break is an error with their name."""

from collections.abc import Mapping

from accelwatch.base.errors import AccelwatchError, PluginError
from accelwatch.exposition.exporter import Exporter
from accelwatch.plugins import entry_points as plugins
from accelwatch.schema.snapshot import Snapshot


def formats() -> tuple[str, ...]:
    """Names of the installed exporters; imports none."""
    return tuple(plugins.names(plugins.EXPORTERS))


def exporter_of(name: str) -> Exporter:
    """A new exporter. Raises PluginError when it is not installed or breaks its contract."""
    factory = plugins.load(plugins.EXPORTERS, name)
    try:
        made = factory()
    except Exception as error:
        raise PluginError(f"exporter {name} cannot be built: {error!r}") from error
    if not isinstance(made, Exporter):
        raise PluginError(f"exporter {name} breaks its contract: {made!r:.80} is not an Exporter")
    return made


def rendered(exporter: Exporter, snapshot: Snapshot, provided: Mapping[str, object]) -> bytes:
    """The document, by those of the given options that the exporter accepts.

    Raises UsageError for a value that does not exist, PluginError for what the exporter breaks.
    """
    options = {name: value for name, value in provided.items() if name in exporter.options}
    try:
        document = exporter.render(snapshot, options)
    except AccelwatchError:
        raise
    except Exception as error:
        raise PluginError(f"exporter {exporter.name} failed: {error!r}") from error
    if not isinstance(document, bytes):
        kind = type(document).__name__
        raise PluginError(f"exporter {exporter.name} breaks its contract: a {kind} is not bytes")
    return document

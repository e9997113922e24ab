"""What the shell offers after an option; a list that cannot be made is empty, never an error."""

from collections.abc import Callable, Iterable

from accelwatch.base.errors import AccelwatchError


def _fields() -> Iterable[str]:
    from accelwatch.schema.fields import fields

    return ("help", *(field.name for field in fields()))


def _formats() -> Iterable[str]:
    from accelwatch.cli.plan import formats

    return formats()


def _groups() -> Iterable[str]:
    from accelwatch.schema.catalogue.lookup import opt_in_groups

    return ("all", *opt_in_groups())


def _backends() -> Iterable[str]:
    from accelwatch.node.collecting import installed_backends

    return installed_backends()


def _devices() -> Iterable[str]:
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.snapshots import read_once
    from accelwatch.schema.snapshot import NO_ACCELERATORS

    settings = CollectSettings(
        one_shot=True, timeout_s=1.0, processes=False, without=NO_ACCELERATORS
    )
    for view in read_once(settings).devices:
        yield f"{view.device.vendor}:{view.device.index}"
        if view.device.uuid:  # which is not known yet where the time is over before the reading
            yield view.device.uuid


def _query_fields() -> Iterable[str]:
    from accelwatch_nvidia_smi import query_fields

    return ("help", *query_fields())


def _app_fields() -> Iterable[str]:
    from accelwatch_nvidia_smi import app_fields

    return ("help", *app_fields())


def _themes() -> Iterable[str]:
    from accelwatch.tui.theme.palettes import PALETTES

    return PALETTES


def _vendors() -> Iterable[str]:
    from accelwatch_lab.simulator.nodes import VENDORS

    return VENDORS


_LISTS: dict[str, Callable[[], Iterable[str]]] = {
    "fields": _fields,
    "groups": _groups,
    "backends": _backends,
    "devices": _devices,
    "query_fields": _query_fields,
    "app_fields": _app_fields,
    "formats": _formats,
    "fleet_formats": lambda: ("table", "json", "csv", "prometheus"),
    "colors": lambda: ("auto", "always", "never"),
    "groupings": lambda: ("rack", "partition", "job", "user", "model", "vendor", "node"),
    "themes": _themes,
    "vendors": _vendors,
    "profiles": lambda: ("minimal", "default"),
}


def offered(list_name: str, incomplete: str) -> list[str]:
    """The continuations of what has been typed, a comma-separated list."""
    done, comma, last = incomplete.rpartition(",")
    try:
        candidates = list(_LISTS[list_name]())
    except (AccelwatchError, OSError):
        return []
    return [done + comma + candidate for candidate in candidates if candidate.startswith(last)]

"""Which process of which host metrics come from: OpenTelemetry's attributes of a resource."""

from collections.abc import Mapping

SERVICE = "accelwatch"


def resource_of(service: str, host: str, version: str, more: Mapping[str, str]) -> dict[str, str]:
    """The attributes of what a process on a host says; `more` wins.

    What is written on to Prometheus has `instance` from `service.instance.id`: without one the series
    of all hosts would be the same.
    """
    ours = {
        "service.name": service,
        "service.instance.id": host,
        "service.version": version,
        "host.name": host,
    }
    return {**ours, **more}

"""What each package is called, needs and does when it is installed or removed."""

from typing import NamedTuple

from package_tree import CONFIG, SERVICES, Service

# deb-control(5) wants an address; this one is reserved to lead nowhere (RFC 2606).
MAINTAINER = "accelwatch developers <nobody@accelwatch.invalid>"
LICENSE = "Apache-2.0"


class Package(NamedTuple):
    """One package, whatever its format."""

    name: str
    summary: str
    # Other packages, as a format's own words; `{version}` is that of this one.
    needs: tuple[str, ...]
    service: Service | None = None

    @property
    def config_files(self) -> tuple[str, ...]:
        """Files that an administrator changes, and an upgrade leaves alone."""
        return () if self.service is None else (f"/{CONFIG}/{self.service.config.name}",)


SUMMARY = "Monitor for every accelerator: dashboard, exporter, fleet, rules"


def after_install(service: Service) -> str:
    """Shell: have systemd read the unit; a service that ran goes on with the new version.

    Nothing is enabled: the configuration is looked at first.
    """
    unit = service.unit.name
    return f"""\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    systemctl try-restart {unit} || true
fi
"""


def before_removal(service: Service) -> str:
    """Shell: stop the service for good."""
    return f"""\
if [ -d /run/systemd/system ]; then
    systemctl disable --now {service.unit.name} || true
fi
"""


AFTER_REMOVAL = """\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
"""


def packages() -> tuple[Package, ...]:
    """The program, and one package for each service."""
    program = Package("accelwatch", SUMMARY, needs=())
    services = (
        Package(f"accelwatch-{one.name}", one.summary, needs=("accelwatch",), service=one)
        for one in SERVICES
    )
    return (program, *services)


def indented(body: str) -> str:
    """A part of a script inside a condition."""
    return "".join(f"    {line}\n" for line in body.splitlines())

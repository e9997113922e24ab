"""Which targets of a hub are followed by ssh, and by what; nothing of it is loaded for others."""

from typing import TYPE_CHECKING

from accelwatch.fleet.follow.follow import Following, MakeFollowing, Sink
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.target import SSH, Target

if TYPE_CHECKING:
    from accelwatch.fleet.ssh.transport import SshTransport


def by_ssh(settings: HubSettings, client: Client, sink: Sink) -> MakeFollowing:
    """Makes followers of the targets that ssh reaches."""
    transport: SshTransport | None = None

    def make(target: Target) -> Following | None:
        nonlocal transport
        if target.scheme != SSH:
            return None
        from accelwatch.fleet.ssh.follow import SshFollower
        from accelwatch.fleet.ssh.transport import SshTransport

        if transport is None:
            scrape = settings.scrape
            limit_bytes = scrape.body_size_limit_bytes
            transport = SshTransport(
                settings.ssh,
                limit_bytes,
                scrape.max_backoff_s,
                client.reading,
                failures=client.failures,
            )
        return SshFollower(transport, target, sink)

    return make

"""An archive made of what a Prometheus-compatible store has."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.history.archive_arguments import need_pyarrow, parse_time
from accelwatch.cli.output import complain

if TYPE_CHECKING:
    from accelwatch.fleet.tsdb.settings import Store


class StoreAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Which store is queried for what, with which credentials; secrets are in files only."""

    url: str
    node_label: tuple[str, ...] = ()
    matchers: str = ""
    tenant: str = ""
    user: str = ""
    password_file: str | None = None
    token_file: str | None = None
    ca_file: str | None = None


def _store(access: StoreAccess) -> "Store":
    """The same as settings. Raises ConfigError, UsageError."""
    from accelwatch.base.errors import UsageError
    from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, TlsConfig
    from accelwatch.fleet.tsdb.settings import NODE_LABELS, RemoteWrite, Store, check_peers

    if bool(access.user) != (access.password_file is not None):
        raise UsageError("--user goes with --password-file")
    basic = BasicAuth(username=access.user, password_file=access.password_file)
    store = Store(
        url=access.url,
        node_labels=(*access.node_label, *NODE_LABELS),
        timeout_s=60.0,
        matchers=access.matchers,
        tenant=access.tenant,
        basic_auth=basic if access.user else BasicAuth(),
        authorization=Authorization(credentials_file=access.token_file),
        tls_config=TlsConfig(ca_file=access.ca_file),
    )
    check_peers(store, RemoteWrite())
    return store


def history_export(access: StoreAccess, start: str, end: str, output: Path, interval: str) -> int:
    """Make an archive of what a store has. Raises AccelwatchError."""
    import asyncio
    import time

    need_pyarrow()
    from accelwatch.base.durations import seconds
    from accelwatch.base.errors import UsageError
    from accelwatch.cli.progress import progress, recorded_time
    from accelwatch.fleet.archive.export import Export

    now = time.time()
    first, last = parse_time(start, now, "--from"), parse_time(end, now, "--to")
    step = seconds(interval)
    if first >= last:
        raise UsageError(f"--from {start} is not before --to {end}")
    if not 1 <= step <= 3600:
        raise UsageError(f"--interval is 1s to 1h, not {interval}")
    store = _store(access)

    async def run() -> int:
        with progress("export", last - first, recorded_time) as bar:
            written = Export(store, step).run(output, first, last, lambda at: bar.at(at - first))
            done = await written
        for warning in done.warnings:
            complain(f"the store warns: {warning}")
        if done.unplaced:
            complain(f"{done.unplaced} series have no label that names a node; see --node-label")
        if not done.samples:
            complain("the store has no devices in this time")
            return FAILED
        return OK

    return asyncio.run(run())

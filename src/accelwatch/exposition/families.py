"""From a snapshot to samples by family. Pure; knows no text format.

A sample is (owner, series, value): `owner` holds the identity labels as text, `series` the key and
its label values. Partitions of a device become `accel_partition_*` of the parent, never its own sums.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from accelwatch.base.untrusted_text import escaped
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, UP, Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Scope, Series
from accelwatch.schema.reading import Number, Process, is_cut
from accelwatch.schema.snapshot import DeviceView, Snapshot

Sample = tuple[str, Series, Number]

MAX_CODES = 32
MAX_PROCESSES = 20

_PARTITION_KEYS = {
    "memory_size_bytes": "partition_memory_size_bytes",
    "memory_used_bytes": "partition_memory_used_bytes",
    "utilization_ratio": "partition_utilization_ratio",
    "compute_active_ratio": "partition_compute_active_ratio",
}


def escape(value: str) -> str:
    """A label value as the text format writes it; what no terminal should be shown is not in it."""
    return escaped(value, keep="\n").replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def owner_of(device: Device) -> str:
    """The three identity labels as text, without braces."""
    return (
        f'vendor="{escape(device.vendor)}",device="{escape(device.name)}"'
        f',uuid="{escape(device.label_id())}"'
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _identity(owner: str, device: Device) -> Iterator[Sample]:
    info = (device.kind, device.model, device.architecture, device.pci_bus_id, device.numa_node)
    labels = (*map(_text, info), device.parent_id or "")
    yield owner, ("device_info", *labels), 1
    inventory = (device.serial, device.part_number, device.firmware_version, device.vbios_version)
    if any(inventory):
        yield owner, ("device_inventory_info", *map(_text, inventory)), 1


def _status(owner: str, view: DeviceView) -> Iterator[Sample]:
    yield owner, ("device_up",), int(view.state in UP)
    if view.state not in UP:
        reason = view.reading.absent.get(("*",)) or ABSENCE_WITHOUT_VALUES[view.state]
        yield owner, ("device_unreadable_info", view.state.value, reason.value), 1
    if view.state is DeviceState.SUSPENDED:
        yield owner, ("device_suspended",), 1
    if view.sample_time is not None:
        yield owner, ("device_last_read_timestamp_seconds",), view.sample_time
    for health in Health:
        yield owner, ("health", health.value), int(view.health is health)


def _events(owner: str, view: DeviceView) -> Iterator[Sample]:
    counts = sorted(view.event_counts, key=lambda count: -count.last_time)
    for count in counts[:MAX_CODES]:
        labels = (count.code, count.category)
        yield owner, ("error_events_total", *labels), count.total
        yield owner, ("error_event_last_timestamp_seconds", *labels), count.last_time
    if others := counts[MAX_CODES:]:
        yield owner, ("error_events_total", "other", "other"), sum(count.total for count in others)


def _processes(owner: str, view: DeviceView) -> Iterator[Sample]:
    processes = view.reading.processes
    if processes is None:
        return
    kinds = Counter(kind for process in processes for kind in process.type.split("+"))
    for kind in dict.fromkeys(("compute", "graphics", *kinds)) if not is_cut(view.reading) else ():
        yield owner, ("processes", kind), kinds[kind]
    largest: list[Process] = sorted(processes, key=lambda entry: -(entry.gpu_memory_bytes or 0))
    for process in largest[:MAX_PROCESSES]:
        pid = str(process.pid)
        who = (pid, process.command or "", process.user or "")
        yield owner, ("process_info", *who), 1
        if process.gpu_memory_bytes is not None:
            yield owner, ("process_memory_used_bytes", pid), process.gpu_memory_bytes
        if process.utilization_ratio is not None:
            yield owner, ("process_utilization_ratio", pid), process.utilization_ratio


def _links(owner: str, view: DeviceView) -> Iterator[Sample]:
    for link in view.reading.links:
        if link.remote:
            yield owner, ("link_info", link.fabric, link.link, link.remote), 1


def _owners(owner: str, partition: str, view: DeviceView) -> Iterator[Sample]:
    for user in view.owners:
        if user.kind == "job":
            job = (user.scheduler, user.job_id, user.user, user.account, user.queue)
            yield owner, ("job_allocation_info", partition, *job, user.job_name), 1
        else:
            labels = (user.namespace, user.pod, user.container, user.pod_uid, user.resource)
            yield owner, ("kubernetes_allocation_info", partition, *labels), 1


def _partition(owner: str, view: DeviceView) -> Iterator[Sample]:
    device = view.device
    name = device.partition or device.id
    technology, profile = device.partition_technology or "", device.partition_profile or ""
    yield owner, ("partition_info", name, device.uuid or "", technology, profile), 1
    for key, family in _PARTITION_KEYS.items():
        value = view.reading.values.get((key,))
        if value is not None:
            yield owner, (family, name), value
    yield from _owners(owner, name, view)


def _all_samples(owner: str, view: DeviceView) -> Iterator[Sample]:
    yield from _identity(owner, view.device)
    yield from _status(owner, view)
    for series, value in view.reading.values.items():
        yield owner, series, value
    yield from _events(owner, view)
    yield from _processes(owner, view)
    yield from _links(owner, view)
    yield from _owners(owner, "", view)


def device_samples(snapshot: Snapshot, keep: Callable[[Device], bool]) -> Iterator[list[Sample]]:
    """Samples of each kept device and its partitions, a list a device row."""
    owners: dict[str, str] = {}
    for view in snapshot.devices:
        device = view.device
        if not keep(device):
            continue
        if device.parent_id is not None:
            yield list(_partition(owners.get(device.parent_id, owner_of(device)), view))
            continue
        owner = owners[device.id] = owner_of(device)
        yield list(_all_samples(owner, view))


def node_samples(snapshot: Snapshot) -> Iterator[Sample]:
    """Samples without a device: counts by state, driver versions, the host, ourselves."""
    yield from _counts(snapshot.devices)
    for backend in snapshot.backends:
        if backend.devices:
            for component, version in backend.versions.items():
                owner = f'vendor="{escape(backend.vendor)}"'
                yield owner, ("driver_info", component, version), 1
    if snapshot.node is not None:
        for series, value in snapshot.node.reading.values.items():
            yield "", series, value
    for series, value in snapshot.own.items():
        if by_key()[series[0]].scope is Scope.VENDOR:
            key, vendor, *labels = series
            yield f'vendor="{escape(vendor)}"', (key, *labels), value
        else:
            yield "", series, value


def _counts(views: Iterable[DeviceView]) -> Iterator[Sample]:
    counts: dict[str, Counter[str]] = {}
    for view in views:
        if view.device.parent_id is None:
            counts.setdefault(view.device.vendor, Counter())[view.state.value] += 1
    for vendor, states in counts.items():
        for state in DeviceState:
            yield f'vendor="{escape(vendor)}"', ("devices", state.value), states[state.value]

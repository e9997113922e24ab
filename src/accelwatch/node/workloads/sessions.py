"""Backend.AI's sessions as jobs: which devices they were given, and which a process is of. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from accelwatch.node.workloads.device_ids import DeviceIndex
from accelwatch.node.workloads.settings import BACKENDAI
from accelwatch.node.workloads.sources.backendai import Kernel
from accelwatch.node.workloads.sources.environ import Job
from accelwatch.node.workloads.sources.slurm import joined

# Device name of a slot (`cuda` of `cuda.shares`; the manager's table of resource slot types) to our
# backends' names of its vendor. Plug-ins name a device by its index or by its uuid.
VENDORS: Mapping[str, tuple[str, ...]] = {
    "cuda": ("nvidia",),
    "rocm": ("amd",),
    "tpu": ("tpu", "google"),
    "ipu": ("graphcore",),
    "atom": ("rebellions",),
    "atom-plus": ("rebellions",),
    "atom-max": ("rebellions",),
    "gaudi2": ("habana",),
    "gaudi3": ("habana",),
    "warboy": ("furiosa",),
    "rngd": ("furiosa",),
    "hyperaccel-lpu": ("hyperaccel",),
}
# Not devices of ours.
_HOST = frozenset({"cpu", "mem"})


def listed(
    index: DeviceIndex, kernels: Iterable[Kernel], order: Mapping[str, str]
) -> Iterator[tuple[str, Job]]:
    """(device id, session) of all that kernels were given; `order` as for other schedulers' indices."""
    for kernel in kernels:
        for slot, name in kernel.devices:
            if slot in _HOST:
                continue
            mapped = order.get(name, name)
            if mapped.isdecimal():
                ids = index.indexed(VENDORS.get(slot, ()), int(mapped[:6]))
            else:
                ids = index.named(mapped)
            yield from ((device_id, kernel.session) for device_id in ids)


def of_process(labelled: Job | None, declared: Job | None, kernels: Iterable[Kernel]) -> Job | None:
    """The job of a process by the labels of its container, else by its own environment.

    The scratch folder is the first to be believed of who the session's user is: it has a name where
    labels have a uuid only.
    """
    job = labelled or declared
    if job is None or job.scheduler != BACKENDAI:
        return job
    reports = [kernel.session for kernel in kernels]
    reports += [report for report in (declared, labelled) if report is not None]
    same = [
        report for report in reports if (report.scheduler, report.job_id) == (BACKENDAI, job.job_id)
    ]
    return reduce(joined, same)

"""Settings of the kernel on which the speed of jobs depends: which there are, how each is read."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.system.kernel.sysfs import read_text

MOST_CHARACTERS = 120
# Value of an option that is not on the kernel's command line.
NOT_SET = "not given"
_CHOSEN = re.compile(r"\[([^\]]*)\]")
# Options of the command line (kernel doc admin-guide/kernel-parameters.rst). `pci` has those for ACS:
# `disable_acs_redir`, `config_acs`. No other option is reported: it may hold a secret.
_OPTIONS = (
    "amd_iommu",
    "default_hugepagesz",
    "intel_idle.max_cstate",
    "intel_iommu",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "isolcpus",
    "mitigations",
    "nohz_full",
    "numa_balancing",
    "pci",
    "pcie_acs_override",
    "pcie_aspm",
    "processor.max_cstate",
    "transparent_hugepage",
)


class Setting(msgspec.Struct, frozen=True):
    """One setting: its name, the file under the root, and what of the file's text it is."""

    name: str
    path: str
    # None where the text is no such value.
    value: Callable[[str], str | None] = lambda text: " ".join(text.split())


def chosen(text: str) -> str | None:
    """`madvise` of `always [madvise] never`."""
    match = _CHOSEN.search(text)
    return match[1] if match else None


def _sysctl(name: str) -> Setting:
    return Setting(name, f"proc/sys/{name.replace('.', '/')}")


SETTINGS = (
    _sysctl("kernel.nmi_watchdog"),
    _sysctl("kernel.numa_balancing"),
    _sysctl("net.core.default_qdisc"),
    _sysctl("net.core.netdev_max_backlog"),
    _sysctl("net.core.rmem_max"),
    _sysctl("net.core.somaxconn"),
    _sysctl("net.core.wmem_max"),
    _sysctl("net.ipv4.tcp_congestion_control"),
    _sysctl("net.ipv4.tcp_mtu_probing"),
    _sysctl("net.ipv4.tcp_rmem"),
    _sysctl("net.ipv4.tcp_wmem"),
    _sysctl("vm.compaction_proactiveness"),
    _sysctl("vm.max_map_count"),
    _sysctl("vm.nr_hugepages"),
    _sysctl("vm.overcommit_memory"),
    _sysctl("vm.swappiness"),
    _sysctl("vm.zone_reclaim_mode"),
    Setting("clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    Setting("cpu_governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    Setting("iommu_domain", "sys/kernel/iommu_groups/0/type"),
    Setting("pcie_aspm_policy", "sys/module/pcie_aspm/parameters/policy", chosen),
    Setting("smt", "sys/devices/system/cpu/smt/control"),
    Setting("transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled", chosen),
    Setting("transparent_hugepage_defrag", "sys/kernel/mm/transparent_hugepage/defrag", chosen),
)


def settings(root: Path) -> Iterator[tuple[str, str | Absence]]:
    """Every setting with its value, or the reason why it has none."""
    for setting in SETTINGS:
        text = read_text(root / setting.path)
        value = text if isinstance(text, Absence) else setting.value(text)
        yield setting.name, _plain(value)
    line = read_text(root / "proc/cmdline")
    configured = {} if isinstance(line, Absence) else options(line)
    for name in _OPTIONS:
        value = line if isinstance(line, Absence) else configured.get(name, NOT_SET)
        yield f"cmdline.{name}", _plain(value)


def options(line: str) -> dict[str, str]:
    """The options of a command line that are reported, by name; one that is given twice has both values.

    What follows `--` is for init. A name may be written with `-` for `_`, and a value in quotes.
    """
    values: dict[str, list[str]] = {}
    for argument in re.findall(r'(?:[^\s"]|"[^"]*")+', line):
        if argument == "--":
            break
        name, _, value = argument.partition("=")
        values.setdefault(name.replace("-", "_"), []).append(value.strip('"') or "given")
    return {name: " ".join(values[name]) for name in _OPTIONS if name in values}


def _plain(value: str | Absence | None) -> str | Absence:
    """A value as a label can have it."""
    if isinstance(value, Absence):
        return value
    if not value or not value.isprintable():
        return Absence.ERROR
    return value[:MOST_CHARACTERS]

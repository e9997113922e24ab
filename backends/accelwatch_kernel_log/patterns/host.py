"""Messages of the host's kernel: NFS, disks, file systems, hangs, memory."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import Pattern, row

_DISK_FOLD_S = 300.0
_DISK = r"(?P<subject>[\w!-]+)"


_OTHER, _HANG, _APPLICATION = Category.OTHER, Category.HANG, Category.APPLICATION

_STORAGE: tuple[Pattern, ...] = (
    row(
        "nfs_not_responding",
        _OTHER,
        r"nfs: server (?P<subject>\S+) not responding, (?P<state>still trying|timed out)",
    ),
    row("nfs_ok", _OTHER, r"nfs: server (?P<subject>\S+) OK"),
    row("nfs_lock_reclaim_failed", _OTHER, r"(?i:NFS): \w+: Lock reclaim failed"),
    row(
        "disk_io_error",
        _OTHER,
        r"(?:blk_update_request: |print_req_error: )?(?:critical )?"
        rf"(?P<kind>I/O|medium|target|nexus|space allocation|timeout|protection) error, dev {_DISK}, "
        r"sector (?P<sector>\d+)",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "disk_io_error",
        _OTHER,
        rf"Buffer I/O error on dev(?:ice)? {_DISK}",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "filesystem_readonly",
        _OTHER,
        r"(?:EXT4-fs|BTRFS)(?: \w+)? \((?:device )?(?P<subject>[\w!-]+)[^)\n]*\)[^\n]*?"
        r"(?:Remounting filesystem read-only|forced readonly)",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "filesystem_error",
        _OTHER,
        r"(?:EXT4-fs error|BTRFS error|BTRFS critical) \((?:device )?(?P<subject>[\w!-]+)",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "filesystem_shutdown",
        _OTHER,
        r"XFS \((?P<subject>[\w!-]+)\): [^\n]*(?i:shut ?down|shutting down)",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "nvme_timeout",
        _OTHER,
        r"nvme (?P<subject>nvme\d+): I/O (?:tag )?\d+ [^\n]*?timeout",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "nvme_down",
        _OTHER,
        r"nvme (?P<subject>nvme\d+): controller is down; will reset",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "nvme_disabled",
        _OTHER,
        r"nvme (?P<subject>nvme\d+): (?:Disabling device after|Removing after probe failure)",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "disk_beyond_end",
        _OTHER,
        r"[^\n]{0,64}attempt to access beyond end of device(?:\n(?P<subject>[\w!-]+): )?",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "raid_disk_failed",
        _OTHER,
        r"md/raid[\w]*:(?P<subject>\w+): Disk failure on (?P<disk>\w+)",
        fold_s=_DISK_FOLD_S,
    ),
)

_KERNEL: tuple[Pattern, ...] = (
    row(
        "hung_task",
        _HANG,
        r"(?:INFO: )?task (?P<subject>[^\n]+):(?P<pid>\d+) "
        r"blocked for more than (?P<seconds>\d+) seconds",
    ),
    row(
        "soft_lockup",
        _HANG,
        r"(?:NMI )?(?:watchdog: )?BUG: soft lockup - (?P<subject>CPU#\d+) stuck for (?P<seconds>\d+)s"
        r"(?:! \[(?P<process>[^\n]+):(?P<pid>\d+)\])?",
    ),
    row(
        "hard_lockup",
        _HANG,
        r"(?:NMI )?(?:watchdog: )?Watchdog detected hard LOCKUP on (?P<subject>cpu ?\d+)",
    ),
    row(
        "rcu_stall",
        _HANG,
        r"(?:rcu: )?INFO: \w+ (?:self-)?detected (?:expedited )?stalls? on (?P<subject>CPUs?)",
    ),
    row("kernel_panic", _OTHER, r"Kernel panic - not syncing: (?P<reason>[^\n]*)"),
    row(
        "kernel_oops",
        _OTHER,
        r"(?:BUG: unable to handle|BUG: kernel NULL pointer|Oops: |general protection fault"
        r"|kernel BUG at)",
    ),
    row("file_limit_reached", _OTHER, r"VFS: file-max limit (?P<limit>\d+) reached"),
    row(
        "netdevice_stuck",
        _OTHER,
        r"unregister_netdevice: waiting for (?P<subject>\S+) to become free",
        fold_s=_DISK_FOLD_S,
    ),
    row(
        "oom_kill",
        _APPLICATION,
        r"Out of memory: Kill(?:ed)? process (?P<pid>\d+)(?:, UID \d+)?,? "
        r"\((?P<subject>[^\n]+?)\)(?!\))",
    ),
    row(
        "oom_kill_cgroup",
        _APPLICATION,
        r"Memory cgroup out of memory: Kill(?:ed)? process (?P<pid>\d+)(?:, UID \d+)?,? "
        r"\((?P<subject>[^\n]+?)\)(?!\))",
    ),
)

HOST: tuple[Pattern, ...] = (*_STORAGE, *_KERNEL)

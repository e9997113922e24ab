"""Composed messages of storage, memory, bus and network drivers, in the wording of their source."""

from accelwatch.schema.event import Category
from backends.kernel_log.accelerator_messages import Composed

_NIC = "mlx5_core 0000:5e:00.0: "

NFS: list[Composed] = [
    ("nfs: server st-1 not responding, still trying", "nfs_not_responding", Category.OTHER, "st-1"),
    ("nfs: server st-1 not responding, timed out", "nfs_not_responding", Category.OTHER, "st-1"),
    ("nfs: server st-1 OK", "nfs_ok", Category.OTHER, "st-1"),
    (
        "NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
        "nfs_lock_reclaim_failed",
        Category.OTHER,
        "",
    ),
]

DISKS: list[Composed] = [
    ("I/O error, dev sda, sector 81 op 0x0:(READ)", "disk_io_error", Category.OTHER, "sda"),
    (
        "blk_update_request: critical medium error, dev sdb, sector 9",
        "disk_io_error",
        Category.OTHER,
        "sdb",
    ),
    (
        "Buffer I/O error on dev dm-0, logical block 5, lost async page write",
        "disk_io_error",
        Category.OTHER,
        "dm-0",
    ),
    (
        "tar: attempt to access beyond end of device\nsda1: rw=0, sector=9, nr_sectors = 8 limit=1",
        "disk_beyond_end",
        Category.OTHER,
        "sda1",
    ),
    (
        "md/raid1:md0: Disk failure on sdb1, disabling device.",
        "raid_disk_failed",
        Category.OTHER,
        "md0",
    ),
]

FILE_SYSTEMS: list[Composed] = [
    (
        "EXT4-fs error (device sda2): ext4_find_entry:1455: inode #2: comm x",
        "filesystem_error",
        Category.OTHER,
        "sda2",
    ),
    (
        "EXT4-fs (sda2): Remounting filesystem read-only",
        "filesystem_readonly",
        Category.OTHER,
        "sda2",
    ),
    (
        "BTRFS info (device sdc1: state E): forced readonly",
        "filesystem_readonly",
        Category.OTHER,
        "sdc1",
    ),
    (
        "XFS (nvme0n1p1): Filesystem has been shut down due to log error (0x2).",
        "filesystem_shutdown",
        Category.OTHER,
        "nvme0n1p1",
    ),
]

NVME: list[Composed] = [
    (
        "nvme nvme1: I/O 12 QID 4 timeout, reset controller",
        "nvme_timeout",
        Category.OTHER,
        "nvme1",
    ),
    (
        "nvme nvme1: I/O tag 12 (100c) opcode 0x2 (Read) QID 4 timeout, aborting",
        "nvme_timeout",
        Category.OTHER,
        "nvme1",
    ),
    (
        "nvme nvme1: Disabling device after reset failure: -19",
        "nvme_disabled",
        Category.OTHER,
        "nvme1",
    ),
    (
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "nvme_down",
        Category.OTHER,
        "nvme1",
    ),
]

KERNEL: list[Composed] = [
    (
        "INFO: task kworker/u8:3:4711 blocked for more than 120 seconds.",
        "hung_task",
        Category.HANG,
        "kworker/u8:3",
    ),
    (
        "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:99]",
        "soft_lockup",
        Category.HANG,
        "CPU#3",
    ),
    (
        "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7",
        "hard_lockup",
        Category.HANG,
        "cpu 7",
    ),
    ("rcu: INFO: rcu_sched self-detected stall on CPU", "rcu_stall", Category.HANG, "CPU"),
    (
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rcu_stall",
        Category.HANG,
        "CPUs",
    ),
    ("Kernel panic - not syncing: Fatal exception", "kernel_panic", Category.OTHER, ""),
    (
        "BUG: unable to handle page fault for address: ffff",
        "kernel_oops",
        Category.OTHER,
        "",
    ),
    ("VFS: file-max limit 1024 reached", "file_limit_reached", Category.OTHER, ""),
    (
        "unregister_netdevice: waiting for eth7 to become free. Usage count = 1",
        "netdevice_stuck",
        Category.OTHER,
        "eth7",
    ),
    (
        "Memory cgroup out of memory: Killed process 44 (a (b)) total-vm:1kB",
        "oom_kill_cgroup",
        Category.APPLICATION,
        "a (b)",
    ),
    (
        "Memory cgroup out of memory: Killed process 5 (train) total-vm:1kB",
        "oom_kill_cgroup",
        Category.APPLICATION,
        "train",
    ),
]

MEMORY_AND_CPU: list[Composed] = [
    (
        "EDAC MC0: 1 UE on mc#0csrow#0channel#0 (csrow:0 channel:0 page:0x0)",
        "edac_ue",
        Category.MEMORY_FATAL,
        "mc#0csrow#0channel#0",
    ),
    (
        "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0)",
        "edac_ue",
        Category.MEMORY_FATAL,
        "CPU_SrcID#0_Ha#0_Chan#1_DIMM#0",
    ),
    (
        "EDAC MC1: 3 CE memory read error on DIMM_B2 (channel:1)",
        "edac_ce",
        Category.MEMORY_CONTAINED,
        "DIMM_B2",
    ),
    (
        "mce: CPU12: Core temperature is above threshold, cpu clock is throttled (total events = 1)",
        "cpu_throttled",
        Category.THERMAL,
        "",
    ),
    (
        "mce: [Hardware Error]: Machine check events logged",
        "machine_check",
        Category.OTHER,
        "",
    ),
    (
        "{1}[Hardware Error]: event severity: corrected",
        "hardware_error_corrected",
        Category.OTHER,
        "",
    ),
    (
        "{2}[Hardware Error]: event severity: info",
        "hardware_error_corrected",
        Category.OTHER,
        "",
    ),
    (
        "{3}[Hardware Error]: event severity: recoverable",
        "hardware_error",
        Category.OTHER,
        "",
    ),
    (
        "[Hardware Error]: event severity: fatal",
        "hardware_error_fatal",
        Category.OTHER,
        "",
    ),
]

PCIE: list[Composed] = [
    (
        "pcieport 10000:e0:06.0: AER: Corrected error received: 10000:e1:00.0",
        "pcie_corrected",
        Category.LINK,
        "10000:e1:00.0",
    ),
    (
        "pcieport 0000:64:00.0: AER: Corrected error received: 0000:65:00.0",
        "pcie_corrected",
        Category.LINK,
        "0000:65:00.0",
    ),
    (
        "pcieport 0000:64:00.0: AER: Uncorrectable (Fatal) error message received from 0000:65:00.0",
        "pcie_uncorrected_fatal",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "nvidia 0000:65:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "pcie_corrected",
        Category.LINK,
        "0000:65:00.0",
    ),
    (
        "nvidia 0000:65:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
        "type=Transaction Layer, (Requester ID)",
        "pcie_uncorrected_nonfatal",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "pcieport 0000:5d:00.0: pciehp: Slot(1-2): Link Down",
        "pcie_slot_link_down",
        Category.BUS,
        "0000:5d:00.0",
    ),
    (
        "pcieport 0000:5d:00.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcie_contained",
        Category.BUS,
        "0000:5d:00.0",
    ),
]

MELLANOX: list[Composed] = [
    (
        f"{_NIC}poll_health:957:(pid 0): Fatal error 1 detected",
        "mlx5_fatal",
        Category.FIRMWARE,
        "0000:5e:00.0",
    ),
    ("mlx5_core 0000:5e:00.0 ens1np0: Link down", "mlx5_link_down", Category.LINK, "0000:5e:00.0"),
    (
        f"{_NIC}mlx5_pcie_event:301:(pid 268): Detected insufficient power on the PCIe slot (27W).",
        "mlx5_insufficient_power",
        Category.POWER,
        "0000:5e:00.0",
    ),
    (
        f"{_NIC}Port module event[error]: module 0, Cable error, High Temperature",
        "mlx5_module_temperature",
        Category.THERMAL,
        "0000:5e:00.0",
    ),
    (
        f"{_NIC}Port module event: module 0, Cable unplugged",
        "mlx5_port_module_event",
        Category.LINK,
        "0000:5e:00.0",
    ),
    (
        f"{_NIC}mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, status bad",
        "mlx5_access_reg_failed",
        Category.OTHER,
        "0000:5e:00.0",
    ),
    (
        f"{_NIC}poll_health:789:(pid 0): device's health compromised - reached miss count",
        "mlx5_health_compromised",
        Category.FIRMWARE,
        "0000:5e:00.0",
    ),
]

MACHINE = [*NFS, *DISKS, *FILE_SYSTEMS, *NVME, *KERNEL, *MEMORY_AND_CPU, *PCIE, *MELLANOX]

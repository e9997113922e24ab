"""Which conditions, taints and labels of a node other tools set, and when they mean that it is bad.

A row each. The kubelet's own conditions (Ready, MemoryPressure, ...) are not here: they say whether a
node accepts pods, not what is wrong with its hardware. Sites add rows in hub.yaml.
"""

import msgspec

from accelwatch.fleet.documents.evidence import Severity

NPD = "node-problem-detector"
NVSENTINEL = "nvsentinel"
AMD = "amd-gpu-operator"
EKS = "eks-node-monitoring-agent"

# What we set ourselves. It is never evidence, whatever the configuration says: it would prove itself.
OWN_CONDITION = "AcceleratorHealthy"
OWN_PREFIX = "accelwatch.io/"


class ConditionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that a tool sets on nodes."""

    type: str
    source: str
    # Status that means bad.
    bad: str = "True"
    severity: Severity = "critical"


class TaintRow(msgspec.Struct, frozen=True, kw_only=True):
    """A taint that a tool sets on nodes that it calls bad."""

    key: str
    source: str
    # Only with this value; with any where it is empty.
    value: str = ""
    code: str = ""
    severity: Severity = "critical"


class LabelRow(msgspec.Struct, frozen=True, kw_only=True):
    """Labels by which a tool marks each device that is bad."""

    prefix: str
    suffix: str
    # Between prefix and suffix is the index of the device.
    bad: str
    source: str
    code: str
    severity: Severity = "critical"


def _rows(source: str, severity: Severity, *types: str, bad: str = "True") -> list[ConditionRow]:
    return [ConditionRow(type=name, source=source, severity=severity, bad=bad) for name in types]


CONDITIONS: tuple[ConditionRow, ...] = (
    # kubernetes/node-problem-detector, config/*.json: True is a problem, also of health checkers.
    *_rows(
        NPD,
        "critical",
        "KernelDeadlock",
        "ReadonlyFilesystem",
        "XfsShutdown",
        "CperHardwareErrorFatal",
    ),
    *_rows(
        NPD,
        "warning",
        *("CorruptDockerOverlay2", "FrequentUnregisterNetDevice", "FrequentKubeletRestart"),
        *("FrequentDockerRestart", "FrequentContainerdRestart"),
        *("KubeletUnhealthy", "ContainerRuntimeUnhealthy"),
    ),
    # The same with Azure's checks for GPU node pools (learn.microsoft.com: AKS, GPU health monitoring).
    *_rows(NPD, "critical", "GPUMissing", "XIDErrors", "NVLinkStatusInactive"),
    *_rows(NPD, "warning", "IBLinkFlapping", "GPUClockThrottling", "UnhealthyNvidiaDevicePlugin"),
    # ROCm/gpu-operator: the node problem detector with AMD's plug-in, example configuration of its docs.
    *_rows(AMD, "critical", "AMDGPUUnhealthy"),
    # NVIDIA/NVSentinel, its integration guide; others of its checks are known by their reason, below.
    *_rows(
        NVSENTINEL,
        "critical",
        *("GpuMemWatch", "GpuThermalWatch", "GpuPcieWatch", "GpuPowerWatch", "GpuInforomWatch"),
        *("GpuSmWatch", "GpuNvlinkWatch", "GpuMcuWatch", "GpuPmuWatch", "GpuDriverWatch"),
        *("SysLogsXIDError", "SysLogsSXIDError", "SysLogsGPUFallenOff"),
        *("NVSwitchFatalError", "NVSwitchDown"),
    ),
    # docs.aws.amazon.com, EKS node monitoring agent: False is a problem.
    *_rows(EKS, "critical", "AcceleratedHardwareReady", bad="False"),
    *_rows(
        EKS,
        "warning",
        *("KernelReady", "NetworkingReady", "StorageReady", "ContainerRuntimeReady"),
        bad="False",
    ),
)

# NVSentinel names a condition after any check, and gives it as reason the name of the check and this
# (platform-connectors, kubernetes/process_node_events.go).
NVSENTINEL_REASON = "IsNotHealthy"

TAINTS: tuple[TaintRow, ...] = (
    # ROCm/gpu-operator, remediation of nodes: while it runs, and for as long as it has failed.
    TaintRow(key="amd-gpu-unhealthy", source=AMD, code="amd_gpu_unhealthy"),
    # NVIDIA/NVSentinel, fault quarantine: the taint of its example; sites choose others.
    TaintRow(key="nvidia.com/gpu-error", source=NVSENTINEL, code="gpu_error"),
)

LABELS: tuple[LabelRow, ...] = (
    # ROCm/device-metrics-exporter: none of a healthy GPU.
    LabelRow(
        prefix="metricsexporter.amd.com.gpu.",
        suffix=".state",
        bad="unhealthy",
        source="amd-metrics-exporter",
        code="amd_gpu_unhealthy",
    ),
)


def is_own(name: str) -> bool:
    """Whether a condition, taint or label of that name is one of ours."""
    return name == OWN_CONDITION or name.startswith(OWN_PREFIX)

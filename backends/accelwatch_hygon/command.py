"""hy-smi, its driver and the devices that it lists."""

from accelwatch.backend.kit.bus_devices import ACCELERATOR, DISPLAY
from accelwatch.backend.kit.tool_backend import Command
from accelwatch.schema.device import DeviceKind

# The same vendor's CPUs, bridges and network functions are of other classes.
COMMAND = Command(
    names=("hy-smi",),
    option="hy_smi",
    remedy="install the driver package (hyhal), which brings /opt/hyhal/bin/hy-smi",
    vendor_id=0x1D94,
    prefix="dcu",
    driver="sys/module/hydcu",
    module="hydcu",
    folders=("opt/hyhal/bin", "usr/local/hyhal/bin", "opt/dtk/bin"),
    classes=(ACCELERATOR, DISPLAY),
    kind=DeviceKind.GPU,
)

"""mx-smi, its driver and the devices that it lists."""

from accelwatch.backend.kit.bus_devices import ACCELERATOR, DISPLAY
from accelwatch.backend.kit.tool_backend import Command
from accelwatch.schema.device import DeviceKind

# The second program is of the Mars boards, with the same output.
COMMAND = Command(
    names=("mx-smi", "ht-smi"),
    option="mx_smi",
    remedy="install the driver package (mxdriver), which brings /opt/mxdriver/bin/mx-smi",
    vendor_id=0x9999,
    prefix="metax",
    driver="sys/module/metax",
    module="metax",
    folders=("opt/mxdriver/bin", "opt/maca/bin", "opt/hpcc/bin"),
    classes=(DISPLAY, ACCELERATOR),
    kind=DeviceKind.GPU,
)

"""A GPU of a list that says of itself that it is no more."""

import pytest

from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.base.errors import DeviceLost


def gpu(**attributes: str) -> Gpu:
    fields: dict[tuple[str, ...], object] = {
        ("block", key.replace("_", " ")): value for key, value in attributes.items()
    }
    return Gpu(number=3, pci_bus_id=None, fields=fields)


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"fan_speed": "GPU is lost"}, "gpu_is_lost"),
        ({"fan_speed": "[PPU is lost]"}, "gpu_is_lost"),
        ({"used": "GPU requires reset"}, "reset_required"),
        ({"gpu_current_temp": "[GPU requires reset]"}, "reset_required"),
    ],
)
def test_a_gpu_that_does_not_answer(attributes: dict[str, str], code: str) -> None:
    with pytest.raises(DeviceLost, match="gpu3: its command says") as lost:
        gpu(power="61 W", **attributes).must_answer("gpu3")
    assert lost.value.code == code


@pytest.mark.parametrize(
    "attributes",
    [
        {"used": "12 MiB"},
        {"used": "N/A"},
        {"used": "Unknown Error"},
        {"process_name": "sh: GPU is lost"},
        {"pending_page_blacklist": "GPU requires reset"},
    ],
)
def test_a_gpu_that_answers(attributes: dict[str, str]) -> None:
    gpu(**attributes).must_answer("gpu3")

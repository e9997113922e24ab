"""Since when a polled device is in its state: since the first page that said so."""

from accelwatch.fleet.dialects.foreign import ForeignReader
from accelwatch.schema.device import DeviceState
from accelwatch_prometheus import PrometheusExporter
from support.machines import composed as machines

FURIOSA = (
    'furiosa_npu_alive{{uuid="u-1",device="npu0"}} {alive}\n'
    'furiosa_npu_hw_power{{uuid="u-1",device="npu0",label="rms"}} 60\n'
)


def since(reader: ForeignReader, page: str, alive: int, now: float) -> tuple[DeviceState, float]:
    (view,) = reader.read(page.format(alive=alive), now).devices
    return view.state, view.state_since


def test_a_state_is_as_old_as_the_first_page_that_reports_it() -> None:
    reader = ForeignReader()
    times = [since(reader, FURIOSA, alive, 100.0 + at) for at, alive in enumerate([1, 1, 0, 0, 1])]
    assert times == [
        (DeviceState.OK, 100.0),
        (DeviceState.OK, 100.0),
        (DeviceState.LOST, 102.0),
        (DeviceState.LOST, 102.0),
        (DeviceState.OK, 104.0),
    ]


def test_the_page_of_an_agent_too() -> None:
    page, reader = (
        PrometheusExporter().render(machines.snapshot(machines.view()), {}),
        ForeignReader(),
    )
    times = [reader.read(page, machines.NOW + at).devices[0].state_since for at in (0.0, 30.0)]
    assert times == [machines.NOW, machines.NOW]


def test_a_device_that_was_gone_from_the_page_starts_over() -> None:
    reader = ForeignReader()
    since(reader, FURIOSA, 1, 100.0)
    other = FURIOSA.replace("u-1", "u-2").replace("npu0", "npu1")
    reader.read(other.format(alive=1), 110.0)
    assert since(reader, FURIOSA, 1, 120.0) == (DeviceState.OK, 120.0)


def test_a_device_that_is_not_well_on_its_first_page_has_no_start() -> None:
    reader = ForeignReader()
    times = [since(reader, FURIOSA, alive, 100.0 + at) for at, alive in enumerate([0, 0, 1, 0])]
    assert times == [
        (DeviceState.LOST, 0.0),
        (DeviceState.LOST, 0.0),
        (DeviceState.OK, 102.0),
        (DeviceState.LOST, 103.0),
    ]

"""What columns have to be asked for."""

from accelwatch.fleet.detection.sources import UPTIME, needs_of


def test_needs_have_the_sources_who_devices_are_and_boots() -> None:
    needs = needs_of([[("a",)], [("b", "x"), ("b", "y")]])
    assert needs.series == {("a",), ("b", "x"), ("b", "y"), UPTIME}
    assert needs.fields >= {"id", "job", "model"}
    assert needs.labels == {"stage"}

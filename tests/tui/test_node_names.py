"""Names of nodes in narrow columns can be told apart."""

import msgspec
import pytest

from accelwatch.fleet.picture.model import FleetView
from accelwatch.tui.drawing.node_names import NONE, CommonAffixes, common_affixes, shortened
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, event, fleet_view, on

ADDRESSES = [f"127.0.0.1:{port}" for port in range(19400, 19412)]
DOMAINS = [f"gpu{number:03d}.cluster-a.example.com" for number in range(12)]
BOTH = [f"rack-7-node{number:02d}-infiniband" for number in range(12)]


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (ADDRESSES, CommonAffixes(10, 0)),
        (DOMAINS, CommonAffixes(3, 22)),
        (BOTH, CommonAffixes(11, 11)),
        (["n1", "n10"], CommonAffixes(1, 0)),
        (["a-1", "b-1"], CommonAffixes(0, 2)),
        (["a101", "a201"], CommonAffixes(1, 0)),
        (["x", "y"], NONE),
        (["same"], NONE),
        ([], NONE),
    ],
)
def test_what_names_have_in_common_never_parts_a_number(
    names: list[str], ends: CommonAffixes
) -> None:
    assert common_affixes(names) == ends


@pytest.mark.parametrize("width", range(8, 40))
@pytest.mark.parametrize("names", [ADDRESSES, DOMAINS, BOTH, [*ADDRESSES, *DOMAINS]])
def test_shortened_names_differ_and_fit(names: list[str], width: int) -> None:
    ends = common_affixes(names)
    short = [shortened(name, width, ends, "…") for name in names]
    assert all(len(name) <= width for name in short)
    if len(names) == 12:
        assert len(set(short)) == len(names)
    for name, cut in zip(names, short, strict=True):
        assert cut == name or "…" in cut


def test_the_end_that_distinguishes_them_stays() -> None:
    assert shortened(ADDRESSES[1], 14, common_affixes(ADDRESSES), "…") == "…7.0.0.1:19401"
    assert shortened(ADDRESSES[1], 8, common_affixes(ADDRESSES), "…") == "…1:19401"
    assert shortened(DOMAINS[7], 12, common_affixes(DOMAINS), "…") == "gpu007.clus…"
    assert shortened(BOTH[7], 10, common_affixes(BOTH), "…") == "…7-node07…"
    assert shortened("a-single-long-name-01", 10, NONE, "…") == "a-s…ame-01"


def renamed(view: FleetView) -> FleetView:
    """The same fleet under addresses for names."""
    names = {one.node: f"127.0.0.1:{19400 + n}" for n, one in enumerate(view.nodes)}
    slots = [slot and msgspec.structs.replace(slot, node=names[slot.node]) for slot in view.slots]
    return msgspec.structs.replace(
        view,
        nodes=[msgspec.structs.replace(one, node=names[one.node]) for one in view.nodes],
        slots=slots,
        node_labels={},
        events=[msgspec.structs.replace(one, node=names[one.node]) for one in view.events],
    )


@pytest.mark.parametrize("size", [(40, 20), (80, 30), (120, 40), (200, 50)])
@pytest.mark.parametrize("form", ["list", "grid"])
def test_every_address_of_a_fleet_can_be_distinguished(size: tuple[int, int], form: str) -> None:
    view = renamed(fleet_view(12, faults=FAULTS, events=[event(n) for n in range(3)]))

    async def check(stage: FleetStage) -> None:
        text = stage.text()
        seen = [port for port in range(19400, 19412) if str(port) in text]
        assert len(seen) == 12 or form == "grid"
        assert 19400 in seen

    on(check, size=size, source=FedFleet(view), fleet_form=form)


@pytest.mark.parametrize("size", [(80, 30), (120, 40)])
def test_events_show_the_node_and_the_device(size: tuple[int, int]) -> None:
    view = renamed(fleet_view(12, faults=FAULTS, events=[event(n) for n in range(3)]))

    async def check(stage: FleetStage) -> None:
        lines = [line for line in stage.text().splitlines() if "xid_79" in line]
        assert len(lines) == 3
        assert all("nvidia0" in line for line in lines)
        assert {line[line.index("1940") : line.index("1940") + 5] for line in lines} == {
            "19400",
            "19401",
            "19402",
        }

    on(check, size=size, source=FedFleet(view), fleet_events=True)

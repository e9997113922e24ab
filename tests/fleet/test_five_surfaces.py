"""Check, why, incidents, the row and Fleet say the same of each device of each vendor's machines."""

import importlib.util
from functools import cache
from pathlib import Path

import pytest

from support.dashboards.surfaces import NOTHING, Shown, documents, shown

DOCS = Path(__file__).parents[2] / "docs"
# What check, why, an agent's incidents and a hub's say, by the word of the row.
TEXTS = {
    "failed": ("critical", "wrong", "critical", "critical"),
    "lost": ("critical", "wrong", "critical", "critical"),
    "degraded": ("warning", "wrong", "warning", "warning"),
    "suspended": (NOTHING, NOTHING, NOTHING, NOTHING),
    "excluded": (NOTHING, NOTHING, NOTHING, NOTHING),
}


@cache
def everything() -> tuple[Shown, ...]:
    return shown()


@pytest.mark.parametrize("machine", sorted(documents()))
def test_the_five_surfaces_agree(machine: str) -> None:
    mine = [one for one in everything() if one.machine == machine]
    for one in mine:
        assert one.fleet == one.row, one
        assert one.agent == one.hub, one
        if one.row in TEXTS:
            assert (one.check, one.why, one.agent, one.hub) == TEXTS[one.row], one
        else:
            # Rules on numbers ring for a device that calls itself well, but none calls it failed.
            assert (one.row, one.why) == ("ok", NOTHING), one
            assert "critical" not in (one.check, one.agent), one


def test_the_machines_are_in_every_state_that_can_be_distinguished() -> None:
    assert {one.row for one in everything()} == {*TEXTS, "ok"}
    for vendor in {one.vendor for one in everything()}:
        assert any(one.row == "ok" for one in everything() if one.vendor == vendor), vendor


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_states", DOCS / "build_states.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (DOCS / "states.md").read_text(encoding="utf-8")
    assert page == module.build(everything()), "run: python docs/build_states.py"

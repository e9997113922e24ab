"""A network that loses, delays and parts: its nodes age, come back, and cost no other."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from fleet.misbehaving_targets.namespaces import (
    PORT,
    Space,
    address,
    check_tools,
    relay,
    simulator,
    space,
    veth,
)
from fleet.misbehaving_targets.processes import HubProcess, hub_process

_ORDER = ["up", "slow", "stale", "down"]
_WELL, _PARTED = "10.77.1.2", "10.77.2.2"

# From when on a node is what, until all parted nodes have been seen as that: they pass no state unseen,
# however long the machine lets the hub or the test stand.
_THRESHOLDS = {
    "slow": {"slow_after": "1s", "stale_after": "20m", "down_after": "30m"},
    "stale": {"slow_after": "1s", "stale_after": "2s", "down_after": "30m"},
    "down": {"slow_after": "1s", "stale_after": "2s", "down_after": "3s"},
}

# Makes the way `poor` (loses and delays), `parted` or `well`.
Spoil = Callable[[str], Awaitable[None]]


_NETEM = ("tc", "qdisc", "replace", "dev")


def has_netem(nodes: Space) -> bool:
    """Whether the kernel was built with netem (CONFIG_NET_SCH_NETEM)."""
    words = [*nodes.enter, *_NETEM, "lo", "root", "netem"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextlib.asynccontextmanager
async def by_netem(hub: Space, nodes: Space) -> AsyncIterator[Spoil]:
    """A veth pair whose far end netem spoils; only answers pass it, requests arrive."""
    veth(hub, nodes, "way")
    rules = {
        "poor": ("loss", "20%", "delay", "150ms", "50ms"),
        "parted": ("loss", "100%"),
        "well": (),
    }

    async def spoil(how: str) -> None:
        nodes.run(*_NETEM, "way", "root", "netem", *rules[how])

    yield spoil


@contextlib.asynccontextmanager
async def by_relay(hub: Space, nodes: Space) -> AsyncIterator[Spoil]:
    """TUN devices and a relay; parted, requests still arrive and no answer comes back."""
    rules = {
        "poor": {"loss_out": 0.2, "loss_back": 0.2, "delay_s": 0.15},
        "parted": {"loss_out": 0.0, "loss_back": 1.0, "delay_s": 0.0},
        "well": {"loss_out": 0.0, "loss_back": 0.0, "delay_s": 0.0},
    }
    async with relay(hub, nodes) as way:

        async def spoil(how: str) -> None:
            await way.set(**rules[how])

        yield spoil


def _reported_of(rows: dict[str, Any], prefix: str) -> list[Any]:
    return [row for name, row in rows.items() if name.startswith(prefix)]


async def _look(hub: HubProcess) -> list[str]:
    """States of the parted nodes; the others are well, and nothing that is old is called healthy."""
    rows = await hub.rows()
    for row in _reported_of(rows, _WELL):
        (target,) = row["targets"]
        assert (target["connected"], target["failures_total"]) == (True, 0)
        assert target["missed_ticks_total"] == 0
    parted = _reported_of(rows, _PARTED)
    for row in parted:
        assert row["state"] != "up" or row["age_s"] <= 1.5
    for device in (await hub.get("/v1/devices"))["devices"]:
        if device["node_state"] in ("stale", "down"):
            assert device["state"] in ("stale", "unreachable")
            assert device["health"] == "unknown"
    return [row["state"] for row in parted]


def _timed_out(page: Any) -> bool:
    rows = {row["node"]: row for row in page["nodes"]}
    faults = [row["targets"][0]["fault"] for row in _reported_of(rows, _PARTED)]
    return all(fault is not None and fault["reason"] == "timeout" for fault in faults)


async def _until(hub: HubProcess, wanted: str) -> list[list[str]]:
    """Look until every parted node is in a state; the different states on the way."""
    seen: list[list[str]] = []
    async with asyncio.timeout(60):
        while not seen or set(seen[-1]) != {wanted}:
            seen.append(await _look(hub))
            await asyncio.sleep(0.05)
    return seen


def test_parted_nodes_age_come_back_and_cost_no_other(tmp_path: Path) -> None:
    check_tools("ip", "tc")
    settings = {
        "targets": {
            "static": [f"http://{at}:{PORT}/node/n[001-003]" for at in (_WELL, _PARTED)],
        },
        "scrape": {"scrape_timeout": "12s", "max_backoff": "1s", "mode": "stream"},
    }
    aging = {state: {**settings, "state": ages} for state, ages in _THRESHOLDS.items()}

    async def main() -> None:
        async with (
            space() as inner,
            space(inner) as far,
            space(inner) as other,
            (by_netem if has_netem(other) else by_relay)(inner, other) as spoil,
        ):
            veth(inner, far, "well")
            for at, (there, device) in enumerate(((far, "well"), (other, "way")), start=1):
                address(inner, device, 1, at)
                address(there, device, 2, at)
            async with (
                simulator(far, f"{_WELL}:{PORT}"),
                simulator(other, f"{_PARTED}:{PORT}"),
                hub_process(tmp_path, aging["slow"], inner.enter) as hub,
            ):
                await hub.until(lambda fleet: fleet["nodes"]["up"] == 6)
                await spoil("poor")
                before = (await hub.rows())[f"{_PARTED}/node/n001"]["last_seen"]
                async with asyncio.timeout(60):
                    for _ in range(4):  # whatever is lost, news keep arriving
                        while (rows := await hub.rows())[f"{_PARTED}/node/n001"][
                            "last_seen"
                        ] == before:
                            await asyncio.sleep(0.05)
                        before = rows[f"{_PARTED}/node/n001"]["last_seen"]
                        await _look(hub)
                await spoil("well")
                await _until(hub, "up")
                await spoil("parted")
                seen: list[list[str]] = []
                for state, config in aging.items():
                    hub.reload(config)
                    seen += await _until(hub, state)
                for states in zip(*seen, strict=True):
                    ranks = [_ORDER.index(state) for state in states]
                    assert ranks == sorted(ranks)
                    assert set(ranks) >= {1, 2, 3}
                # The others may be stale for a moment, by the thresholds of now.
                await hub.until(lambda fleet: fleet["health"] == {"ok": 6})
                assert (await hub.get("/v1/fleet"))["nodes"]["down"] == 3
                await hub.until(_timed_out, "/v1/nodes")
                await spoil("well")
                await _until(hub, "up")
                await hub.until(lambda fleet: fleet["health"] == {"ok": 12})

    asyncio.run(main())

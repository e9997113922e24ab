"""The hub's API against its own OpenAPI document: requests that it allows, and some that it does not."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accelwatch.config.model import RuleSettings
from fleet.misbehaving_targets.short_waits import simulation
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock, IdleLoop

_EXAMPLES = 25
# Bodies take long to make, and what is refused of them has tests of its own.
_EXAMPLES_OF_CHANGES = 6
_WITHIN_S = 120.0
_CONFORMS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
_CHECKS = {
    GenerationMode.POSITIVE: _CONFORMS,
    GenerationMode.NEGATIVE: [*_CONFORMS, negative_data_rejection],
}


class Serving(threading.Thread):
    """A hub over a few nodes, one of which has lost a device, on a loop of its own."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.base = ""
        self.failure: BaseException | None = None
        self.ready = threading.Event()
        self._end: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def run(self) -> None:
        try:
            # As the fixture that gives every test this loop comes after those of a module.
            with asyncio.Runner(loop_factory=IdleLoop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - raised by `stop` on the thread of the test
            self.failure = error
        finally:
            self.ready.set()

    async def _serve(self) -> None:
        stop = asyncio.Event()
        self._end = asyncio.get_running_loop(), stop
        async with simulation(IdleClock(), 3) as simulated, agent() as losing:
            simulated.server.start()
            targets = [simulated.target(name) for name in simulated.names]
            rules = RuleSettings(packs=("nvidia",))
            everybody = (*targets, losing.address, "127.0.0.1:1")
            async with hub(*everybody, rules=rules) as running:
                await running.devices(losing.address, 8)
                losing.feed.put(machines.snapshot(machines.view(0), machines.view(1)))
                await running.devices(losing.address, 2)
                nodes = running.hub.fleet.nodes
                await running.until(lambda: sum(bool(node.devices) for node in nodes.values()) == 4)
                self.base = running.base
                self.ready.set()
                await stop.wait()

    def stop(self) -> None:
        if self._end is not None and self.is_alive():
            loop, event = self._end
            loop.call_soon_threadsafe(event.set)
        self.join(_WITHIN_S)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    serving = Serving()
    serving.start()
    try:
        assert serving.ready.wait(_WITHIN_S)
        yield serving.base
    finally:
        serving.stop()


def _operations(base: str) -> list[Any]:
    document = requests.get(f"{base}/v1/openapi.json", timeout=_WITHIN_S).json()
    schema = schemathesis.openapi.from_dict(document)
    found = list(schema.get_all_operations())
    operations = [one.ok() for one in found if isinstance(one, Ok)]
    assert len(operations) == len(found)
    return operations


def _known(base: str) -> dict[str, str]:
    """Values of parameters that exist."""
    page = requests.get(f"{base}/v1/devices?limit=1", timeout=_WITHIN_S).json()
    (row,) = page["devices"]
    return {
        "node": row["node"],
        "device": row["id"],
        "filter": "power_watts > 0 and not node == 'x'",
        "fields": "power_watts,temperature_celsius",
        "by": "node",
        "cursor": page["next"],
    }


def _check(base: str, operation: Any, mode: GenerationMode) -> None:
    known = _known(base)

    @settings(
        max_examples=_EXAMPLES if operation.method == "get" else _EXAMPLES_OF_CHANGES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), exists=st.booleans())
    def request(case: Any, exists: bool) -> None:
        for given_ in (case.path_parameters, case.query):
            if exists and given_ and mode is GenerationMode.POSITIVE:
                given_.update({name: known[name] for name in given_.keys() & known.keys()})
        if operation.path == "/v1/stream":
            _look_at_stream(case.as_transport_kwargs(base_url=base))
        else:
            response = case.call(base_url=base, timeout=_WITHIN_S)
            case.validate_response(response, checks=_CHECKS[mode])

    request()


def _look_at_stream(words: dict[str, Any]) -> None:
    """A stream has no end: what it starts with is as declared."""
    with requests.request(**words, stream=True, timeout=_WITHIN_S) as response:
        assert response.status_code in (200, 400, 503), response.text
        media = response.headers["Content-Type"].partition(";")[0]
        assert media in ("application/x-ndjson", "text/plain")


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_answers_as_it_says(base: str, mode: GenerationMode) -> None:
    operations = _operations(base)
    assert len(operations) >= 11
    for operation in operations:
        with contextlib.suppress(Unsatisfiable):  # there is nothing that it refuses
            _check(base, operation, mode)
    assert requests.get(f"{base}/-/ready", timeout=_WITHIN_S).status_code == 200

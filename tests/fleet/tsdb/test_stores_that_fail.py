"""Stores that are slow, partial, too large, strange or not there; samples without nodes; ages."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

from aiohttp import web

from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, TlsConfig
from accelwatch.fleet.tsdb.settings import RemoteWrite, Store
from support.fleet.hub_peers import Running
from support.servers.certificate_authority import Authority
from support.servers.fake_prometheus import FakeStore, fake_store, soon


def reading(url: str, **more: Any) -> Store:
    usual = {"interval_s": 0.1, "timeout_s": 2.0, "max_backoff_s": 0.1}
    return Store(url=url, **{**usual, **more})


def devices(running: Running) -> dict[str, int]:
    return {name: len(node.devices) for name, node in running.hub.fleet.nodes.items()}


def age(running: Running, node: str) -> float:
    held = running.hub.fleet.nodes[node]
    return held.age_s(running.hub.fleet.clock.monotonic()) or 0.0


def test_ages_are_those_of_the_samples(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            store.gpu(age_s=100.0, node="old", instance="a:9400", job="dcgm")
            store.gpu(age_s=1.0, node="new", instance="b:9400", job="dcgm", UUID="GPU-2")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: devices(running) == {"old": 1, "new": 1})
                assert 100.0 <= age(running, "old") < 110.0
                assert 1.0 <= age(running, "new") < 10.0
                assert (await running.get("/v1/nodes/old"))["state"] == "down"
                found = await running.get("/v1/devices?filter=node=='new'&fields=power_watts")
                assert found["devices"][0]["values"] == {"power_watts": 642.5}

    asyncio.run(main())


def test_instance_names_a_node_only_when_that_is_wanted(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            store.gpu(instance="gpu7.example:9400", job="dcgm")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: running.hub.peers.ready)
                note = (await running.get("/v1/fleet"))["store"]
                assert (devices(running), note["unplaced_series"]) == ({}, 3)
                assert "accel_fleet_store_unplaced_series 3\n" in await running.get("/metrics")
            wanted = reading(store.url, instance_as_node=True)
            async with start_hub(prometheus=wanted) as running:
                await soon(lambda: devices(running) == {"gpu7.example": 1})

    asyncio.run(main())


def test_labels_of_the_target_are_taken_off_again(start_hub: Any) -> None:
    """The pod of an exporter owns no device; a workload's pod does, whatever it was renamed to."""

    async def main() -> None:
        async with fake_store() as store:
            target: dict[str, Any] = {
                "job": "dcgm",
                "instance": "a:9400",
                "pod": "dcgm-x",
                "namespace": "monitoring",
            }
            store.put("up", 1, node="n1", rack="r3", **target)
            store.gpu(node="n1", rack="r3", **target)
            other: dict[str, Any] = {"gpu": "1", "UUID": "GPU-2", "device": "nvidia1"}
            work: dict[str, Any] = {
                "exported_pod": "train-0",
                "exported_namespace": "ml",
                "exported_container": "main",
            }
            store.gpu(node="n1", rack="r3", **target, **other, **work)
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: devices(running) == {"n1": 2})
                node = await running.get("/v1/nodes/n1")
                shown = {one["uuid"]: one["owners"] for one in node["snapshot"]["devices"]}
                assert shown["GPU-1"] == []
                assert [one["pod"] for one in shown["GPU-2"]] == ["train-0"]
                assert node["labels"] == {"rack": "r3", "pod": "dcgm-x", "namespace": "monitoring"}

    asyncio.run(main())


def test_what_a_partial_answer_lacks_is_not_gone(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            store.gpu(node="n1", instance="a:9400", job="dcgm")
            store.gpu(node="n2", instance="b:9400", job="dcgm", UUID="GPU-2")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: devices(running) == {"n1": 1, "n2": 1})
                store.warnings = ["store 10.0.0.9 is not there"]
                lacking = [one for one in store.samples if one[0]["node"] == "n2"]
                store.samples = [one for one in store.samples if one[0]["node"] == "n1"]
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)
                note = (await running.get("/v1/fleet"))["store"]
                assert note["warnings"] == ["store 10.0.0.9 is not there"]
                assert devices(running) == {"n1": 1, "n2": 1}
                store.warnings = []
                store.samples += lacking
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)
                assert devices(running) == {"n1": 1, "n2": 1}
                assert (await running.get("/v1/fleet"))["store"]["warnings"] == []

    asyncio.run(main())


def test_what_a_whole_answer_lacks_is_missing(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            for number in range(3):
                one: dict[str, Any] = {
                    "UUID": f"GPU-{number}",
                    "gpu": str(number),
                    "device": f"nvidia{number}",
                }
                store.gpu(node="n1", instance="a:9400", job="dcgm", **one)
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: devices(running) == {"n1": 3})
                store.samples = [one for one in store.samples if one[0]["UUID"] != "GPU-1"]
                await soon(lambda: devices(running) == {"n1": 2})
                node = await running.get("/v1/nodes/n1")
                assert (node["devices_expected"], node["devices_missing"]) == (3, 1)
                store.samples = []
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)
                assert devices(running) == {"n1": 2}

    asyncio.run(main())


def test_two_copies_of_a_target_are_one_node(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            for replica, age_s in (("a", 1.0), ("b", 400.0)):
                store.gpu(age_s, node="n1", instance="a:9400", job="dcgm", replica=replica)
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: devices(running) == {"n1": 1})
                await soon(lambda: len(running.hub.fleet.nodes["n1"].sources) == 2)
                assert age(running, "n1") < 60.0

    asyncio.run(main())


def test_retry_after_is_kept_and_the_fault_is_shown(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            store.gpu(node="n1", instance="a:9400", job="dcgm")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: devices(running) == {"n1": 1})
                store.fail = lambda _path, _form: web.Response(
                    status=503, headers={"Retry-After": "30"}
                )
                await soon(lambda: bool(running.hub.peers.store.note.fault))
                asked = len(store.requests)
                await asyncio.sleep(0.2)
                assert len(store.requests) == asked
                assert (await running.get("/v1/fleet"))["store"]["fault"].startswith("answered 503")
                assert "accel_fleet_store_up 0\n" in await running.get("/metrics")
                device = next(iter(running.hub.fleet.nodes["n1"].devices))
                await running.get(f"/v1/nodes/n1/history?device={device}", 503)

    asyncio.run(main())


def test_a_query_that_is_refused_costs_only_its_families(start_hub: Any) -> None:
    def refuse(_path: str, form: dict[str, str]) -> web.Response | None:
        if "POWER_USAGE" not in form.get("query", ""):
            return None
        text = b'{"status":"error","errorType":"execution","error":"too many samples"}'
        return web.Response(status=422, body=text)

    async def main() -> None:
        async with fake_store() as store:
            store.gpu(node="n1", instance="a:9400", job="dcgm")
            store.fail = refuse
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: "too many samples" in running.hub.peers.store.note.fault)
                store.fail = lambda _path, _form: None
                await soon(lambda: devices(running) == {"n1": 1})

    asyncio.run(main())


def test_limits_on_series_and_bytes(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            for number in range(60):
                store.gpu(node="n1", instance="a:9400", job="dcgm", UUID=f"GPU-{number}")
            few = reading(store.url, series_limit=100)
            async with start_hub(prometheus=few) as running:
                await soon(lambda: "series_limit" in running.hub.peers.store.note.fault)
            small = reading(store.url, body_size_limit_bytes=2000)
            async with start_hub(prometheus=small) as running:
                await soon(lambda: "2000 bytes" in running.hub.peers.store.note.fault)

    asyncio.run(main())


def test_answers_that_make_no_sense(start_hub: Any) -> None:
    answers = [
        web.Response(body=b"<html>", content_type="text/html"),
        web.Response(body=b'{"status":"success","data":{"resultType":"scalar","result":[]}}'),
        web.Response(body=b'{"status":"error","error":"no"}'),
        web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
        web.Response(status=401),
    ]

    async def main() -> None:
        async with fake_store() as store:
            held = iter(answers)
            current: list[web.Response] = []

            def fail(_path: str, _form: dict[str, str]) -> web.Response:
                if not current:
                    current.append(next(held))
                one = current[0]
                return web.Response(body=one.body, status=one.status, headers=one.headers.copy())

            store.fail = fail
            async with start_hub(prometheus=reading(store.url)) as running:
                seen: list[str] = []
                for _ in answers:
                    await soon(lambda: running.hub.peers.store.note.fault not in ("", *seen))
                    seen.append(running.hub.peers.store.note.fault)
                    current.clear()
                    if len(seen) == len(answers):
                        break
                assert running.hub.alive
                assert any("redirects" in text for text in seen)
                assert any("credentials" in text for text in seen)
                current.append(answers[0])

    asyncio.run(main())


def test_prefix_tenant_and_credentials(start_hub: Any, tmp_path: Path) -> None:
    async def main() -> None:
        secret, region = tmp_path / "password", tmp_path / "region"
        secret.write_text("hunter2\n")
        region.write_text("eu-1\n")
        async with fake_store() as store:
            store.gpu(node="n1", instance="a:9400", job="dcgm")
            settings = reading(
                f"{store.url}/prometheus/",
                tenant="ml",
                matchers='cluster="a"',
                headers={"X-Plain": "yes"},
                header_files={"X-Region": str(region)},
                basic_auth=BasicAuth(username="hub", password_file=str(secret)),
            )
            async with start_hub(prometheus=settings) as running:
                await soon(lambda: devices(running) == {"n1": 1})
            _check_queries(store)

    asyncio.run(main())


def _check_queries(store: FakeStore) -> None:
    pair = base64.b64encode(b"hub:hunter2").decode()
    for path, form, headers in store.requests:
        assert path.startswith("/prometheus/api/v1/")
        assert headers["X-Scope-OrgID"] == "ml"
        assert (headers["X-Plain"], headers["X-Region"]) == ("yes", "eu-1")
        assert headers["Authorization"] == f"Basic {pair}"
        if "query" in form:
            assert 'cluster="a"' in form["query"]


def test_store_and_receiver_by_tls_with_a_token(start_hub: Any, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("store")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    token = tmp_path / "token"
    token.write_text("s3cret")

    async def main() -> None:
        bearer = Authorization(credentials_file=str(token))
        trusting: dict[str, Any] = {
            "tls_config": TlsConfig(ca_file=str(authority.file)),
            "authorization": bearer,
        }
        async with fake_store(context) as store, fake_store(context) as receiver:
            store.gpu(node="n1", instance="a:9400", job="dcgm")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: "TLS" in running.hub.peers.store.note.fault)
            write = RemoteWrite(url=f"{receiver.url}/write", interval_s=0.1, **trusting)
            settings = reading(store.url, **trusting)
            async with start_hub(prometheus=settings, remote_write=write) as running:
                await soon(lambda: devices(running) == {"n1": 1} and bool(receiver.written))
            headers = [asked[2] for asked in (*store.requests, *receiver.requests)]
            assert {one["Authorization"] for one in headers} == {"Bearer s3cret"}

    asyncio.run(main())


def test_a_read_is_reported_with_its_own_numbers(start_hub: Any) -> None:
    """Sums that were counted while the store was being read are not reported with the read."""

    async def main() -> None:
        async with fake_store() as store:
            store.put("up", 1, job="dcgm", instance="10.0.0.1:9400", node="n1")
            store.gpu(job="dcgm", instance="10.0.0.1:9400", node="n1")
            store.pause_s = 0.05
            async with start_hub(prometheus=reading(store.url)) as running:
                while (fleet := await running.get("/v1/fleet"))["store"]["read_at"] is None:
                    await asyncio.sleep(0)
                assert fleet["devices_total"] == 1

    asyncio.run(main())

"""What each path answers, in which form, and what is refused."""

import gzip
import http.client
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from accelwatch.agent.server import ServerLimits
from accelwatch.schema.json.wire import decode
from support.machines import composed as machines

Serve = Callable[..., Any]

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS_ACCEPT = (
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
    "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


def test_metrics_by_default(serve: Serve) -> None:
    answer = serve().get()
    assert answer.status == 200
    assert answer.headers["Content-Type"] == TEXT
    assert answer.headers["Server"] == "accelwatch"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"accel_utilization_ratio", "accel_exporter_scrapes", "accel_device_up"} <= names


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        (PROMETHEUS_ACCEPT, OPENMETRICS),
        ("application/openmetrics-text", OPENMETRICS),
        ("application/openmetrics-text;q=0.1, text/plain;q=0.9", TEXT),
        ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", TEXT),
        ("application/openmetrics-text;q=0", TEXT),
        ("image/png", TEXT),
        ("text/*;q=0.2, application/*;q=0.3", OPENMETRICS),
        ("application/openmetrics-text;q=nonsense,,;;", TEXT),
    ],
)
def test_format_follows_accept(serve: Serve, accept: str, kind: str) -> None:
    answer = serve().get(headers={"Accept": accept})
    assert answer.headers["Content-Type"] == kind
    assert answer.text.endswith("# EOF\n") is (kind == OPENMETRICS)
    if kind == OPENMETRICS:
        assert len(list(openmetrics_families(answer.text))) > 50


def test_gzip_when_accepted(serve: Serve) -> None:
    served = serve()
    plain = served.get(headers={"Accept-Encoding": "identity"})
    packed = served.get(headers={"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) / 5
    assert b"accel_utilization_ratio{" in gzip.decompress(packed.body)
    refused = served.get(headers={"Accept-Encoding": "gzip;q=0, *;q=1"})
    assert "Content-Encoding" not in refused.headers


def test_profiles_groups_and_backends(serve: Serve) -> None:
    served = serve()
    whole = served.get().text
    small = served.get("/metrics?profile=minimal").text
    assert "accel_power_limit_watts" in whole
    assert "accel_clock_limit_hertz" in whole
    assert "accel_clock_limit_hertz" not in small
    assert "accel_process_info{" not in whole
    assert "accel_process_info{" in served.get("/metrics?group=processes").text
    assert "accel_process_info{" in served.get("/metrics?group=pipes,processes").text
    assert "accel_device_up{" in served.get("/metrics?collect[]=nvidia").text
    assert "accel_device_up{" in served.get("/metrics?collect%5B%5D=nvidia").text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/metrics?profile=tiny", "no profile 'tiny'; there are minimal, default"),
        ("/metrics?group=pipe", "no opt-in group 'pipe'; did you mean pipes?"),
        ("/metrics?collect[]=nvidai", "no backend 'nvidai'; did you mean nvidia?"),
        ("/metrics?profil=minimal", "no parameter 'profil'; did you mean profile?"),
        (
            "/v1/snapshot?fields=power_wats",
            "no field named 'power_wats'; did you mean power_watts?",
        ),
        ("/v1/snapshot?filter=power_wats+>+1", "did you mean power_watts?"),
        ("/v1/stream?x=1", "no parameter 'x'"),
        ("/metrics?" + "a=1&" * 100, "the query cannot be read"),
    ],
)
def test_what_does_not_exist_is_named(serve: Serve, path: str, message: str) -> None:
    answer = serve().get(path.replace(" ", "%20"))
    assert answer.status == 400
    assert message in answer.text
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert len(answer.body) < 1000


def test_an_unknown_device_is_not_found(serve: Serve) -> None:
    answer = serve().get("/v1/snapshot?device=nvidia:77")
    assert answer.status == 404
    assert "nvidia:0" in answer.text


def test_unknown_pages_and_methods(serve: Serve) -> None:
    served = serve()
    missing = served.get("/etc/passwd")
    assert (missing.status, missing.text) == (404, "no such page\n")
    posted = served.get("/metrics", method="POST", body=b"x=1")
    assert (posted.status, posted.headers["Allow"]) == (405, "GET, HEAD")


def test_head_has_headers_only(serve: Serve) -> None:
    served = serve()
    for path in ("/metrics", "/v1/snapshot", "/capabilities", "/", "/-/healthy", "/v1/stream"):
        answer = served.get(path, method="HEAD")
        assert (answer.status, answer.body) == (200, b"")


def test_snapshot_can_be_read_back_and_cut(serve: Serve) -> None:
    served = serve()
    assert decode(served.get("/v1/snapshot").body).devices == served.feed.snapshot().devices
    cut = json.loads(served.get("/v1/snapshot?fields=power_watts&device=nvidia:1,nvidia:2").body)
    assert [set(item) for item in cut["devices"]] == [
        {"id", "index", "vendor", "state", "power_watts", "absent"}
    ] * 2
    hot = json.loads(served.get("/v1/snapshot?filter=power_watts%20%3E%20649").body)
    assert [item["index"] for item in hot["devices"]] == [7]


def test_capabilities_give_reasons(serve: Serve) -> None:
    served = serve()
    served.feed.put(machines.snapshot(machines.view(0), machines.lost_view(1)))
    document = json.loads(served.get("/capabilities").body)
    (backend,) = document["backends"]
    healthy, lost = backend["quantities"]
    assert "power_watts" in healthy["available"]
    assert healthy["unavailable"]["fan_speed_ratio"] == "unsupported"
    assert lost["unavailable"] == {"*": "lost"}
    assert "pipes" in document["groups"]
    assert document["workloads"] == []


def test_probes(serve: Serve) -> None:
    served = serve()
    served.ready = False
    assert served.get("/-/healthy").status == 200
    assert served.get("/-/ready").status == 503
    served.ready = True
    assert served.get("/-/ready").text == "ready\n"


def test_the_index_escapes_what_it_shows(serve: Serve) -> None:
    served = serve()
    served.feed.put(machines.snapshot(host="<script>"))
    page = served.get("/")
    assert "<script>" not in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_one_rendering_serves_many_scrapes(serve: Serve) -> None:
    served = serve()
    served.scrape.max_age_s = 1e9
    bodies = {served.get().body for _ in range(5)}
    taken = served.feed.taken
    assert (len(bodies), taken) == (1, 1)
    served.feed.put(machines.snapshot(machines.view(0)))
    assert served.get().body not in bodies


def test_scrapes_are_counted(serve: Serve) -> None:
    served = serve()
    served.get()
    served.get("/metrics?profile=x")
    served.feed.put(machines.snapshot())
    text = served.get().text
    assert 'accel_exporter_scrapes_total{code="200"} 1\n' in text
    assert 'accel_exporter_scrapes_total{code="400"} 1\n' in text
    assert "accel_exporter_scrape_duration_seconds_count 2\n" in text
    assert 'accel_exporter_scrape_duration_seconds_bucket{le="+Inf"} 2\n' in text


def test_series_of_an_exposition_are_counted_truly(serve: Serve) -> None:
    text = serve().get().text
    samples = [
        sample for family in text_string_to_metric_families(text) for sample in family.samples
    ]
    (count,) = (sample.value for sample in samples if sample.name == "accel_exporter_series")
    assert count == len(samples)


def test_a_fault_inside_is_not_reported(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    served = serve()
    served.feed.fault = RuntimeError("/secret/path")
    answer = served.get("/v1/snapshot")
    assert (answer.status, answer.text) == (500, "internal error\n")
    assert "/secret/path" in caplog.text
    served.feed.fault = None
    assert served.get("/v1/snapshot").status == 200


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 1000 + b"\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"413"),
    ],
)
def test_oversized_and_damaged_requests(
    serve: Serve, caplog: pytest.LogCaptureFixture, request_bytes: bytes, code: bytes
) -> None:
    served = serve()
    with served.connect() as client:
        client.sendall(request_bytes)
        answer = client.recv(65536)
    assert answer.split(b" ")[1] == code
    assert b"Traceback" not in answer
    assert b".py" not in answer
    assert len(answer) < 1000
    body = answer.split(b"\r\n\r\n")[1]
    assert body == b"bad request\n" or b"more than 65536 bytes or no Content-Length" in body
    assert served.get("/-/healthy").status == 200
    assert caplog.records == []


def test_credentials_in_a_damaged_request_are_not_logged(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    served = serve()
    with served.connect() as client:
        client.sendall(
            b"GET /\xff?hunter2 HTTP/1.1\r\nHost: localhost\r\nAuthorization: hunter2\r\n\r\n"
        )
        assert b"hunter2" not in client.recv(65536)
    assert "cannot be read" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_connection_is_kept_for_the_next_scrape(serve: Serve) -> None:
    client = http.client.HTTPConnection("127.0.0.1", serve().port, timeout=60)
    client.connect()
    sock = client.sock
    for _ in range(3):
        client.request("GET", "/metrics")
        client.getresponse().read()
        assert client.sock is sock
    client.close()


def test_too_many_requests_are_turned_away(serve: Serve) -> None:
    served = serve(limits=ServerLimits(requests=0))
    answer = served.get()
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


def test_an_answer_ages_without_a_change_of_the_store(serve: Serve) -> None:
    served = serve()
    served.scrape.max_age_s = 0.0
    served.get()
    served.get()
    assert served.feed.taken == 2


def test_without_rules_there_are_no_incidents(serve: Serve) -> None:
    answer = serve().get("/v1/incidents")
    assert answer.status == 404
    assert "rules.packs" in answer.text

"""Negotiation, log lines and notification without a server."""

import json
import logging
import signal
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.exposition.text import OPENMETRICS, TEXT
from accelwatch.system.daemon.logs import JsonFormatter, TextFormatter
from accelwatch.system.daemon.notify import Notifier, notifier_of
from accelwatch.web.pages.negotiation import accepts_gzip, choose


@given(st.text(max_size=300))
def test_no_header_breaks_negotiation(header: str) -> None:
    assert choose(header, (TEXT, OPENMETRICS)) in (TEXT, OPENMETRICS, None)
    assert accepts_gzip(header) in (True, False)


@pytest.mark.parametrize(
    ("header", "takes"),
    [
        ("gzip", True),
        ("GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip;q=0.0, *", False),
    ],
)
def test_compression_is_negotiated(header: str, takes: bool) -> None:
    assert accepts_gzip(header) is takes


def _record(message: str, *, fault: bool = False) -> logging.LogRecord:
    info = None
    if fault:
        try:
            raise ValueError("inside")
        except ValueError:
            info = sys.exc_info()
    record = logging.LogRecord("accelwatch.x", logging.INFO, "f.py", 1, message, (), info)
    record.created = 1_800_000_000.5
    return record


def test_a_record_is_one_line() -> None:
    line = TextFormatter().format(_record("name=a\nb", fault=True))
    assert line.startswith("2027-01-15T08:00:00.500Z info accelwatch.x name=a\\nb\\nTraceback")
    assert "\n" not in line
    document = json.loads(JsonFormatter().format(_record("name=a\nb")))
    assert document == {
        "time": "2027-01-15T08:00:00.500Z",
        "level": "info",
        "logger": "accelwatch.x",
        "message": "name=a\nb",
        "event": "name=a\\nb",
        "fields": {},
    }


@pytest.mark.parametrize(
    ("form", "values", "event", "fields"),
    [
        ("rules in force count=%d", (12,), "rules in force", {"count": 12}),
        (
            "a target fails node=%s reason=%s: %s",
            ("n006", "closed", "without an answer"),
            "a target fails",
            {"node": "n006", "reason": "closed"},
        ),
        (
            "%s again error=%s times=%d",
            ("a page", "KeyError", 3),
            "",
            {"error": "KeyError", "times": 3},
        ),
        ("no value path=%r", (Path("/x"),), "no value", {"path": "PosixPath('/x')"}),
        ("share=%.2f is 100%% of=%s", (0.25, True), "", {"share": 0.25, "of": True}),
        ("not a number value=%s", (float("nan"),), "not a number", {"value": "nan"}),
        ("signal sent signal=%s", (signal.SIGTERM,), "signal sent", {"signal": 15}),
        ("nothing but words", (), "nothing but words", {}),
        ("by name=%(name)s", ({"name": "x"},), "by name=x", {}),
    ],
)
def test_values_of_a_record_are_fields_of_its_object(
    form: str, values: tuple[object, ...], event: str, fields: dict[str, object]
) -> None:
    record = logging.LogRecord("x", logging.INFO, "f.py", 1, form, values, None)
    document = json.loads(JsonFormatter().format(record))
    assert (document["event"], document["fields"]) == (event, fields)
    assert document["message"] == record.getMessage()


def test_nobody_to_notify_is_no_fault(tmp_path: Path) -> None:
    Notifier().ready("x")
    Notifier(str(tmp_path / "nobody")).ready("x")


def test_notification_is_read_from_and_taken_out_of_the_environment(tmp_path: Path) -> None:
    environ = {"NOTIFY_SOCKET": str(tmp_path / "n"), "WATCHDOG_USEC": "30000000", "X": "y"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(environ["NOTIFY_SOCKET"])
        notifier = notifier_of(environ, 7)
        notifier.ready("serving")
        assert manager.recv(100) == b"READY=1\nSTATUS=serving"
    assert notifier.watchdog_s == 30.0
    assert environ == {"X": "y"}
    assert notifier_of({"WATCHDOG_USEC": "1", "WATCHDOG_PID": "8"}, 7).watchdog_s is None


def test_an_abstract_notify_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("")
        name = manager.getsockname().decode().replace("\0", "@", 1)
        Notifier(name).stopping()
        assert manager.recv(100) == b"STOPPING=1"


def test_durations_of_scrapes_are_cumulative() -> None:
    own = OwnMetrics()
    for seconds in (0.0005, 0.001, 0.003, 5.0):
        own.scraped(200, seconds)
    assert own.histograms() == {"exporter_scrape_duration_seconds": ((2, 2, 3, 3, 3, 3, 4), 5.0045)}

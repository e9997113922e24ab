"""The signature, by vectors of an implementation of its own (Python's standard library, one by one)."""

from datetime import UTC, datetime

import pytest

from accelwatch.api_client.backendai.signing import clock_offset_s, signed_headers

AT = datetime(2026, 11, 29, 0, 30, 15, 999_999, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("method", "target", "signature"),
    [
        ("GET", "/", "88f53011d7b1bb0052863ef093a1f2520f15a9685fe32d0645c98b53b3b32c00"),
        ("POST", "/admin/gql", "37015a4acd014d12d57420dd0bb738ae15883c006f2e3c3bbfec0234533365df"),
        (
            "DELETE",
            "/session/7f0e?forced=true&owner_access_key=AKIA%2F1",
            "6e9532a738cfca19a640c155bc8eab5c95c31f9cd86bf7fd90115658c6b81766",
        ),
    ],
)
def test_a_request_is_signed_as_the_manager_checks_it(
    method: str, target: str, signature: str
) -> None:
    headers = signed_headers(
        method,
        target,
        host="127.0.0.1:21310",
        access_key="AKIAIOSFODNN7EXAMPLE",
        secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        at=AT,
    )
    assert headers == {
        "Date": "2026-11-29T00:30:15+00:00",
        "Content-Type": "application/json",
        "X-BackendAI-Version": "v6.20230315",
        "Authorization": (
            f"BackendAI signMethod=HMAC-SHA256, credential=AKIAIOSFODNN7EXAMPLE:{signature}"
        ),
    }


@pytest.mark.parametrize(
    ("date", "offset_s"),
    [
        ("Sun, 29 Nov 2026 00:30:15 GMT", 0.999_999),
        ("Sun, 29 Nov 2026 00:14:15 GMT", 960.999_999),
        ("Sun, 29 Nov 2026 00:46:15 GMT", -959.000_001),
    ],
)
def test_the_offset_of_our_clock_is_read_from_the_answer(date: str, offset_s: float) -> None:
    assert clock_offset_s(date, AT) == pytest.approx(offset_s)


@pytest.mark.parametrize("date", ["", "yesterday", "Sun, 99 Nov 2026 00:30:15 GMT"])
def test_a_date_that_is_none_reports_no_offset(date: str) -> None:
    assert clock_offset_s(date, AT) is None

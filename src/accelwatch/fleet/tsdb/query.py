"""Queries of the HTTP API that Prometheus, VictoriaMetrics, Thanos and Mimir share, within bounds.

A series' labels stay the bytes that arrived: a series that is known is recognised without reading them.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import check_code
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.http.exchange import Exchange
from accelwatch.fleet.tsdb.peer import Peer
from accelwatch.fleet.tsdb.settings import Store

_FORM = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
}
_PLAIN = {"Accept": "application/json", "Accept-Encoding": "gzip"}
# VictoriaMetrics hides the newest 30 s from answers otherwise; other servers know neither word.
_NOW = {"nocache": "1", "latency_offset": "1ms"}
_SMALL_BYTES = 1 << 20
# Codes whose body says what is wrong with a query.
_QUERY_ERROR_CODES = (400, 422)
_OK = 200
_MAX_TEXT = 200


class Instant(msgspec.Struct, frozen=True, gc=False):
    """One series of an instant query: labels as JSON, moment of the evaluation and number."""

    metric: msgspec.Raw
    value: tuple[float, str]


class Range(msgspec.Struct, frozen=True, gc=False):
    """One series of a range query."""

    metric: msgspec.Raw
    values: list[tuple[float, str]]


class _InstantData(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: list[Instant] = []


class _RangeData(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: list[Range] = []


class _QueryResponse(msgspec.Struct, frozen=True, rename="camel"):
    status: str = ""
    error: str = ""
    warnings: list[str] = []
    is_partial: bool = False


class _InstantAnswer(_QueryResponse, frozen=True, rename="camel"):
    data: _InstantData | None = None


class _RangeAnswer(_QueryResponse, frozen=True, rename="camel"):
    data: _RangeData | None = None


class _NamesAnswer(_QueryResponse, frozen=True, rename="camel"):
    data: list[str] | None = None


_A = TypeVar("_A", bound=_QueryResponse)
_decode_error = msgspec.json.Decoder(_QueryResponse)


class Queries(Protocol):
    """Queries to a store. Everything raises TargetFault."""

    warnings: list[str]

    async def names(self, start: float, end: float) -> list[str]:
        """Names of all families that have samples between two Unix times."""
        ...

    async def instant(self, expression: str) -> list[Instant]:
        """The series of an expression now."""
        ...

    async def range(self, expression: str, start: float, end: float, step_s: float) -> list[Range]:
        """The series of an expression in steps."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class QueryClient:
    """Queries one server. Its warnings are kept in `warnings` until they are read."""

    def __init__(self, settings: Store) -> None:
        self._settings = settings
        self._peer = Peer(settings)
        self._instant = msgspec.json.Decoder(_InstantAnswer)
        self._range = msgspec.json.Decoder(_RangeAnswer)
        self._names = msgspec.json.Decoder(_NamesAnswer)
        self.warnings: list[str] = []

    async def close(self) -> None:
        """Close every connection."""
        self._peer.close()

    async def names(self, start: float, end: float) -> list[str]:
        """Names of all families that have samples between two Unix times. Raises TargetFault."""
        params = {"start": f"{start:.0f}", "end": f"{end:.0f}"}
        path = "/api/v1/label/__name__/values"
        response = await self._peer.request("GET", path, _PLAIN, self._open_answer, params=params)
        return (await self._read(response, self._names)).data or []

    async def instant(self, expression: str) -> list[Instant]:
        """The series of an expression now, as the server's clock says. Raises TargetFault."""
        answer = await self._query("query", {"query": expression}, self._instant)
        if answer.data is None or answer.data.result_type != "vector":
            raise TargetFault(Reason.GARBAGE, "the answer to a query is not a vector")
        return answer.data.result

    async def range(self, expression: str, start: float, end: float, step_s: float) -> list[Range]:
        """The series of an expression in steps. Raises TargetFault."""
        form = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        answer = await self._query("query_range", {**form, "step": f"{step_s:g}"}, self._range)
        if answer.data is None or answer.data.result_type != "matrix":
            raise TargetFault(Reason.GARBAGE, "the answer to a query is not a matrix")
        return answer.data.result

    async def _query(
        self, what: str, form: Mapping[str, str], decoder: "msgspec.json.Decoder[_A]"
    ) -> _A:
        body = urlencode({**form, **_NOW, "timeout": f"{self._settings.timeout_s:g}s"}).encode()
        response = await self._peer.request(
            "POST", f"/api/v1/{what}", _FORM, self._open_answer, body=body
        )
        return await self._read(response, decoder)

    def _open_answer(self, code: int, headers: Mapping[str, str]) -> Body | None:
        coding = headers.get("content-encoding")
        if code in _QUERY_ERROR_CODES:
            return Body(coding, _SMALL_BYTES)
        return Body(coding, self._settings.body_size_limit_bytes) if code == _OK else None

    async def _read(self, response: Exchange, decoder: "msgspec.json.Decoder[_A]") -> _A:
        code = response.status
        if code in _QUERY_ERROR_CODES:
            raise TargetFault(Reason.STATUS, _complaint(response.body(), code), code=code)
        check_code(code, response.headers.get("retry-after"))
        body = response.body()
        small = len(body) <= _SMALL_BYTES
        try:
            answer = (
                decoder.decode(body) if small else await asyncio.to_thread(decoder.decode, body)
            )
        except DECODE_ERRORS as error:
            raise TargetFault(Reason.GARBAGE, f"no answer of the query API: {error}") from error
        if answer.status != "success":
            raise TargetFault(Reason.GARBAGE, f"the query failed: {_short(answer.error)}")
        self.warnings += [_short(text) for text in answer.warnings[:8]]
        if answer.is_partial:
            self.warnings.append("the answer is partial")
        return answer


def _complaint(body: bytes, code: int) -> str:
    try:
        return f"answered {code}: {_short(_decode_error.decode(body).error)}"
    except DECODE_ERRORS:
        return f"answered {code}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 3] + "..."


def quoted(text: str) -> str:
    """A string of PromQL."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


def selector(names: Iterable[str], matchers: str = "") -> str:
    """All series of families, which are plain names and need no escaping in a pattern."""
    families = sorted(names)
    name = (
        f'__name__="{families[0]}"' if len(families) == 1 else f'__name__=~"{"|".join(families)}"'
    )
    return (
        "{" + ",".join(matcher for matcher in (name, matchers.strip().rstrip(",")) if matcher) + "}"
    )


def chunks(
    names: Sequence[str], series: Mapping[str, int], limit: int, unknown: int
) -> Iterator[list[str]]:
    """Families by query, so that none gives many more than `limit` series by the counts of before."""
    batch: list[str] = []
    total = 0
    for name in names:
        count = series.get(name, unknown)
        if batch and (total + count > limit or len(batch) >= _MAX_NAMES):
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += count
    if batch:
        yield batch


_MAX_NAMES = 64

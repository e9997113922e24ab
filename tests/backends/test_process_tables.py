"""Tables of processes in which a row cannot be read: no device may look unused for it."""

import re
from collections.abc import Callable

import pytest

from accelwatch.base.errors import ReadError
from accelwatch_ascend import table as ascend
from accelwatch_cambricon import table as cambricon
from accelwatch_hygon.document import jobs_of
from accelwatch_iluvatar.vendor import VENDOR as ILUVATAR
from accelwatch_metax import table as metax
from accelwatch_mthreads.vendor import VENDOR as MTHREADS
from accelwatch_rebellions.document import parse
from accelwatch_thead.vendor import VENDOR as THEAD
from support.machines.samples import FIXTURES

Parse = Callable[[bytes], object]
NOBODY = re.compile(r"^.*no (?:running )?process(?:es)? found.*$", re.IGNORECASE | re.MULTILINE)
TABLES: list[tuple[str, Parse, str, str]] = [
    (
        "iluvatar/bi-v100-bad-day.txt",
        lambda output: ILUVATAR.table.parse(output).jobs,
        "| 0  4711  python3  12 |",
        "| 1  47x1  python3  12 |",
    ),
    (
        "mthreads/s4000-bad-day.txt",
        lambda output: MTHREADS.table.parse(output).jobs,
        "0  4711  python3  12MiB",
        "1  47x1  python3  12MiB",
    ),
    (
        "thead/zw810e-bad-day.txt",
        lambda output: THEAD.table.parse(output).jobs,
        "| 0  N/A  N/A  4711  C  python3  12MiB |",
        "| 1  N/A  N/A  47x1  C  python3  12MiB |",
    ),
    (
        "metax/c500-old/table.txt",
        lambda output: metax.parse_table(output).jobs,
        "| 0  4711  python3  12 |",
        "| 1  47x1  python3  12 |",
    ),
]


@pytest.mark.parametrize(("file", "jobs", "good", "bad"), TABLES, ids=[one[0] for one in TABLES])
def test_one_row_that_cannot_be_read(file: str, jobs: Parse, good: str, bad: str) -> None:
    text = (FIXTURES / file).read_text()
    assert len(NOBODY.findall(text)) == 1
    assert jobs(text.encode()) == ()
    listed = jobs(NOBODY.sub(good, text).encode())
    assert isinstance(listed, tuple)
    assert len(listed) == 1
    assert jobs(NOBODY.sub(f"{good}\n{bad}", text).encode()) is None
    assert jobs(NOBODY.sub("", text).encode()) is None, "nobody says that nobody uses it"


def test_a_card_of_cambricon() -> None:
    text = (FIXTURES / "cambricon/mlu370s4-table-only.txt").read_text()
    (row,) = (line for line in text.splitlines() if "4711" in line)
    cards = cambricon.parse_table(text.encode()).cards
    assert [job.pid for card in cards for job in card.jobs or ()] == [4711]
    for damaged in (text.replace(row, row.replace("4711", "47x1")), text.replace(row, "")):
        assert {card.jobs for card in cambricon.parse_table(damaged.encode()).cards} == {None}


def test_an_npu_of_ascend_with_two_chips() -> None:
    text = (FIXTURES / "ascend/310p3-duo.txt").read_text()
    (row,) = (line for line in text.splitlines() if "4711" in line)
    assert ascend.parse_table(text.encode()).npus_reporting_jobs == frozenset({4})
    other = row.replace("| 4       0 ", "| 4       1 ").replace("4711", "N/A ")
    damaged = ascend.parse_table(text.replace(row, f"{row}\n{other}").encode())
    assert damaged.npus_reporting_jobs == frozenset(), "chip 1 is in use by it"


def test_a_list_of_hygon() -> None:
    text = (FIXTURES / "hygon/k100ai-x2/pids.txt").read_text()
    assert [job.pid for job in jobs_of(text.encode())] == [4711, 4712]
    assert jobs_of(b"PIDs for KFD processes:\n\n") == ()
    for damaged in (
        text.replace("HCU Index: ['0'] \n", "HCU Number: 0\n"),
        text.replace("PID: 4711", "PID= 4711"),
        "",
        "no such option\n",
    ):
        with pytest.raises(ReadError, match="hy-smi --showpids"):
            jobs_of(damaged.encode())


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        (', "contexts": null', ()),
        (', "contexts": []', ()),
        ("", None),
        (', "contexts": "none"', None),
        (', "contexts": [{"npu": 0, "process": "a"}]', None),
        (', "contexts": [{"pid": 4711, "process": "a"}]', None),
    ],
)
def test_contexts_of_rebellions(contexts: str, expected: tuple[()] | None) -> None:
    document = f'{{"devices": [{{"npu": 0}}]{contexts}}}'
    assert parse(document.encode()).contexts == expected

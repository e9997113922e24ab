"""Snapshots whose checksum is right and which no detector of this version wrote."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from accelwatch.detection.baselines.state_arrays import Array
from accelwatch.detection.detector import Detector
from accelwatch.detection.saving.saved_detector import (
    FINDINGS,
    ROWS,
    SavedDetector,
    UnusableSnapshotError,
    arrays_of,
    documents_of,
    named,
)
from accelwatch.detection.saving.snapshot import Snapshot
from support.detection.simulated import Fleet

Arrays = dict[str, Array]


def written() -> Snapshot:
    detector, fleet = Detector(), Fleet(2)
    for _ in range(3):
        detector.detect(fleet.frame())
    documents = {
        name: msgspec.msgpack.encode(document) for name, document in documents_of(detector).items()
    }
    return Snapshot(detector.rows.now, documents, named(arrays_of(detector)))


def test_a_snapshot_of_now_is_used() -> None:
    past = SavedDetector(written())
    assert (past.devices, past.nodes) == (16, 2)
    assert past.now == 1_000_090.0


@pytest.mark.parametrize("name", [ROWS, FINDINGS])
@pytest.mark.parametrize("instead", [None, b"", b"\x81", msgspec.msgpack.encode([1])])
def test_documents_that_are_missing_or_others(name: str, instead: bytes | None) -> None:
    whole = written()
    documents = {key: value for key, value in whole.documents.items() if key != name}
    if instead is not None:
        documents[name] = instead
    with pytest.raises(UnusableSnapshotError):
        SavedDetector(whole._replace(documents=documents))


@pytest.mark.parametrize("name", sorted(written().arrays))
@pytest.mark.parametrize("fault", ["missing", "leading", "type", "scalar"])
def test_each_array_must_be_there_and_be_like_that_of_now(name: str, fault: str) -> None:
    whole = written()
    arrays = dict(whole.arrays)
    array = arrays.pop(name)
    if fault == "leading":
        arrays[name] = np.stack((array, array))
    elif fault == "type":
        arrays[name] = np.zeros(array.shape, dtype=np.complex128)
    elif fault == "scalar":
        arrays[name] = np.array(array.flat[0] if array.size else 0, dtype=array.dtype)
    with pytest.raises(UnusableSnapshotError):
        SavedDetector(whole._replace(arrays=arrays))


@pytest.mark.parametrize("name", sorted(name for name in written().arrays if name[0] in "dn"))
def test_each_array_of_rows_must_have_all_rows(name: str) -> None:
    whole = written()
    arrays = {**whole.arrays, name: whole.arrays[name][..., 1:]}
    with pytest.raises(UnusableSnapshotError, match="not as long"):
        SavedDetector(whole._replace(arrays=arrays))


def unknown(arrays: Arrays) -> None:
    arrays["somewhere/else"] = np.zeros(1)


def further(arrays: Arrays) -> None:
    arrays["devices/channels.peer.since_ever"] = np.zeros(16)


def other_group(arrays: Arrays) -> None:
    arrays["other/passes.devices.code"] = np.full(16, 7, dtype=np.intp)


def fewer_groups(arrays: Arrays) -> None:
    for name, array in arrays.items():
        if ".devices.groups." in name:
            arrays[name] = array[..., :0]


def shorter_code(arrays: Arrays) -> None:
    arrays["other/passes.nodes.code"] = np.zeros(1, dtype=np.intp)


def other_families(arrays: Arrays) -> None:
    arrays["other/fusion.budget.factor"] = np.ones(2)


def fewer_jobs(arrays: Arrays) -> None:
    arrays["other/fusion.jobs.level"] = np.zeros(5, dtype=np.int16)


def burst(arrays: Arrays, node: int, device: int) -> None:
    columns: Arrays = {
        "node": np.array([node]),
        "device": np.array([device]),
        "code": np.array(["xid_79"]),
        "category": np.array(["bus"]),
        "is_decisive": np.array([True]),
        "started": np.array([1.0]),
        "received": np.array([1.0]),
        "newest": np.array([1.0]),
    }
    arrays |= {f"other/channels.log.{name}": column for name, column in columns.items()}


def burst_of_no_node(arrays: Arrays) -> None:
    burst(arrays, 2, -1)


def burst_of_no_device(arrays: Arrays) -> None:
    burst(arrays, 0, 17)


def uneven_bursts(arrays: Arrays) -> None:
    burst(arrays, 0, 1)
    arrays["other/channels.log.code"] = np.array(["xid_79", "xid_79"])


def uneven_scores(arrays: Arrays) -> None:
    arrays["other/channels.prior.keys"] = np.array(["node:n1"])


@pytest.mark.parametrize(
    "spoil",
    [
        unknown,
        further,
        other_group,
        fewer_groups,
        shorter_code,
        other_families,
        fewer_jobs,
        burst_of_no_node,
        burst_of_no_device,
        uneven_bursts,
        uneven_scores,
    ],
)
def test_parts_that_do_not_fit_one_another(spoil: Callable[[Arrays], None]) -> None:
    whole = written()
    arrays = dict(whole.arrays)
    spoil(arrays)
    with pytest.raises(UnusableSnapshotError):
        SavedDetector(whole._replace(arrays=arrays))


def test_a_burst_of_an_unknown_category_is_left_out() -> None:
    whole = written()
    arrays = dict(whole.arrays)
    burst(arrays, 0, 1)
    SavedDetector(whole._replace(arrays=arrays))
    arrays["other/channels.log.category"] = np.array(["of_another_version"])
    SavedDetector(whole._replace(arrays=arrays))

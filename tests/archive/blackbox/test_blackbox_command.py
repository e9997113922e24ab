"""`accelwatch blackbox`: what is listed, shown and exported, and what is said when there is nothing."""

import json
from pathlib import Path

import pytest

from accelwatch.archive.blackbox import exporting, locations
from accelwatch.archive.blackbox.files import Frozen, frozen_files, segments
from accelwatch.archive.blackbox.writer import Writer
from accelwatch.archive.recording import Recording
from accelwatch.cli.startup.entry import dispatch
from accelwatch.schema.snapshot import Snapshot
from archive.blackbox.test_writer import LOST, SHORT, play
from support.machines import composed as machines


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This machine's own black boxes are none of the tests'."""
    monkeypatch.setattr(locations, "state_folders", lambda _: (tmp_path / "state",))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "state" / "blackbox"
    writer = Writer(folder, SHORT)
    play(writer, range(100))
    play(writer, range(100, 125), states=LOST)
    writer.close()
    return folder


def run(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, str, str]:
    code = dispatch(["blackbox", *words])
    out, err = capfdbinary.readouterr()
    return code, out.decode(), err.decode()


def test_without_one_the_list_says_who_keeps_it(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    code, out, err = run(capfdbinary, "list")
    assert (code, out) == (1, "")
    assert "no black box is kept here; an agent keeps one" in err
    code, out, _ = run(capfdbinary, "list", "--json")
    assert (code, json.loads(out)) == (1, {"frozen": [], "rings": []})


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("show",), ("export",)])
def test_an_empty_one_is_reported_with_its_folder(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "state" / "blackbox"
    folder.mkdir(parents=True)
    code, out, err = run(capfdbinary, *words)
    assert code == 1
    assert f"nothing is frozen and the ring is empty in {folder}; an agent or dashboard" in err
    if "--json" in words:
        document = json.loads(out)
        assert (document["frozen"], document["rings"][0]["folder"]) == ([], str(folder))
    else:
        assert out == ""


@pytest.mark.parametrize("words", [("list",), ("show",), ("show", "now"), ("export", "now")])
def test_where_there_is_none_each_command_says_so(
    capfdbinary: pytest.CaptureFixture[bytes], words: tuple[str, ...]
) -> None:
    code, out, err = run(capfdbinary, *words)
    assert (code, out) == (1, "")
    assert "no black box is kept here; an agent keeps one" in err


def test_what_is_frozen_is_listed_where_the_ring_is_empty(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for segment in box.glob("ring-*"):
        segment.unlink()
    code, out, _ = run(capfdbinary, "list")
    assert code == 0
    assert out.endswith(f"the ring is empty, in {box}\n")
    assert run(capfdbinary, "show")[0] == 0
    code, out, err = run(capfdbinary, "show", "now")
    assert (code, out) == (1, "")
    assert f"the ring is empty in {box}; an agent" in err


def test_a_ring_is_listed_where_nothing_is_frozen(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for frozen in set(box.glob("*.zst")) - set(box.glob("ring-*")):
        frozen.unlink()
    code, out, err = run(capfdbinary, "list")
    assert (code, err) == (0, "")
    assert out.startswith("ring since ")
    code, _, err = run(capfdbinary, "show")
    assert code == 4
    assert "there is no frozen file 1; nothing is frozen; `now` means the last minutes" in err


def test_the_list_has_the_newest_first(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, err = run(capfdbinary, "list")
    assert (code, err) == (0, "")
    rows = out.splitlines()
    assert rows[1].split()[:4] == ["1", "2027-01-15T08:01:40Z", "nvidia1", "lost"]
    assert rows[2].startswith("ring since 2027-01-15T08:01:")
    _, out, _ = run(capfdbinary, "list", "--json")
    (frozen,) = json.loads(out)["frozen"]
    assert (frozen["device"], frozen["reason"]) == ("nvidia1", "lost")
    assert Path(frozen["file"]).stat().st_size == frozen["bytes"]


def test_another_folder_is_looked_at_instead(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    assert run(capfdbinary, "list", "--state-dir", str(box.parent))[0] == 0
    assert run(capfdbinary, "list", "--state-dir", str(tmp_path / "other"))[0] == 1


def test_a_folder_that_may_not_be_read_is_a_matter_of_permission(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(locations, "frozen_files", refused)
    code, _, err = run(capfdbinary, "list")
    assert code == 5
    assert f"{box}: Permission denied" in err
    for which in ("1", "now"):
        code, _, err = run(capfdbinary, "show", which)
        assert code == 1
        assert f"{box}: Permission denied" in err


def test_one_that_may_not_be_read_is_reported_beside_one_that_may(
    box: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"

    def refused(folder: Path) -> list[Frozen]:
        if folder == other / "blackbox":
            raise PermissionError(13, "Permission denied")
        return frozen_files(folder)

    monkeypatch.setattr(locations, "state_folders", lambda _: (other, box.parent))
    monkeypatch.setattr(locations, "frozen_files", refused)
    code, out, err = run(capfdbinary, "list")
    assert (code, "ring since" in out) == (0, True)
    assert f"{other / 'blackbox'}: Permission denied" in err


def test_on_a_pipe_each_device_has_a_row_a_second(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, err = run(capfdbinary, "show", "--before", "2", "--after", "1s")
    assert (code, err) == (0, "")
    rows = [row.split() for row in out.splitlines()]
    assert rows[0] == ["time", "device", "state", "load", "memory", "power", "temp"]
    assert ["2027-01-15T08:01:39.000Z", "nvidia0", "ok", "97%", "76%", "642W", "61C"] in [
        [cell.replace("°", "") for cell in row] for row in rows
    ]
    assert "nvidia1       ! state: lost, was ok" in out
    assert ["2027-01-15T08:01:40.000Z", "nvidia1", "lost", "-", "-", "-", "-"] in rows


def test_as_json_there_is_a_value_a_time(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, out, _ = run(capfdbinary, "show", "1", "--json")
    excerpt = json.loads(out)
    assert excerpt["time"] == "2027-01-15T08:01:40.000Z"
    assert excerpt["device_id"] == machines.device(1).id
    device = excerpt["devices"][0]
    assert len(device["states"]) == len(device["power_watts"]) == len(excerpt["times"])
    assert device["power_watts"][-1] is None
    assert excerpt["marks"][0]["code"] == "lost"


def test_now_is_the_ring(box: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    _, out, _ = run(capfdbinary, "show", "now", "--json", "--before", "10", "--after", "0")
    times = json.loads(out)["times"]
    assert (times[0], times[-1]) == ("2027-01-15T08:01:54.000Z", "2027-01-15T08:02:04.000Z")


@pytest.mark.parametrize(("which", "code"), [("7", 4), ("0", 4), ("nothing.zst", 2)])
def test_what_is_not_there_is_reported_with_what_is(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], which: str, code: int
) -> None:
    given, out, err = run(capfdbinary, "show", which)
    assert (given, out) == (code, "")
    assert "there are 1 to 1: accelwatch blackbox list" in err


@pytest.mark.parametrize("command", ["show", "export"])
def test_an_empty_name_is_not_taken_for_this_folder(
    box: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.chdir(box)
    code, out, err = run(capfdbinary, command, "")
    assert (code, out) == (2, "")
    assert "WHICH is empty; give a number or name of `accelwatch blackbox list`" in err


def test_an_exported_file_is_a_recording(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    target = tmp_path / "send.ndjson.zst"
    code, out, err = run(capfdbinary, "export", "-o", str(target))
    assert (code, out) == (0, "")
    assert f"play it: accelwatch dashboard --replay {target}" in err
    assert target.stat().st_mode & 0o777 == 0o600
    with Recording.open(target) as recording:
        assert recording.notes == ()
        assert {one.user for one in recording.at(0).processes()} == {"trainer"}
    assert run(capfdbinary, "export", "-o", str(target))[0] == 2


@pytest.mark.parametrize("which", ["1", "now"])
def test_an_exported_file_has_no_users_when_they_are_left_out(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, which: str
) -> None:
    target = tmp_path / "send.ndjson.zst"
    assert run(capfdbinary, "export", which, "-o", str(target), "--redact")[0] == 0
    with Recording.open(target) as recording:
        assert len(recording) > 20
        assert {one.user for one in recording.at(0).processes()} == {None}
        assert recording.at(0).host == "host"


@pytest.mark.parametrize("which", ["1", "now"])
@pytest.mark.parametrize("redact", [(), ("--redact",)])
def test_a_dash_is_standard_output(
    box: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    which: str,
    redact: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert dispatch(["blackbox", "export", which, "-o", "-", *redact]) == 0
    out, err = capfdbinary.readouterr()
    assert (set(tmp_path.iterdir()), err) == (before, b"")
    target = tmp_path / "sent.ndjson.zst"
    target.write_bytes(out)
    with Recording.open(target) as recording:
        assert (recording.notes, len(recording) > 20) == ((), True)
        users = {one.user for one in recording.at(0).processes()}
        assert users == ({None} if redact else {"trainer"})


def test_a_file_called_dash_can_be_requested(
    box: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capfdbinary, "export", "-o", "./-")[:2] == (0, "")
    assert (tmp_path / "-").exists()


@pytest.mark.parametrize("output", ["-", "send.ndjson.zst"])
@pytest.mark.parametrize("redact", [(), ("--redact",)])
def test_what_holds_no_document_is_not_exported(
    box: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    output: str,
    redact: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    (frozen,) = frozen_files(box)
    frozen.path.write_bytes(bytes(range(100)))
    code, out, err = run(capfdbinary, "export", "1", "-o", output, *redact)
    assert (code, out, (tmp_path / output).exists()) == (1, "", False)
    assert f"{frozen.path} holds no accelwatch" in err
    assert run(capfdbinary, "show")[2] == err


@pytest.mark.parametrize(
    ("which", "words"), [("1", ("--redact",)), ("now", ()), ("now", ("--redact",))]
)
def test_what_is_behind_damage_is_exported_and_the_loss_reported(
    box: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
    which: str,
    words: tuple[str, ...],
) -> None:
    if which == "1":
        (path,) = (frozen.path for frozen in frozen_files(box))
    else:
        path = segments(box)[1].path
    with Recording.open(path if which == "1" else box / "ring-*") as recording:
        times = list(recording.times())
    content = bytearray(path.read_bytes())
    block = content.index(b"\x28\xb5\x2f\xfd", 4) if which == "1" else 0
    content[block + 2000] ^= 0xFF
    path.write_bytes(content)
    errors = []
    for output in (str(tmp_path / "send.ndjson.zst"), "-"):
        assert dispatch(["blackbox", "export", which, "-o", output, *words]) == 0
        out, err = capfdbinary.readouterr()
        errors.append(err.decode().splitlines()[0])
    assert errors[0] == errors[1]
    (tmp_path / "sent.ndjson.zst").write_bytes(out)
    for name in ("send", "sent"):
        with Recording.open(tmp_path / f"{name}.ndjson.zst") as recording:
            assert recording.notes == ()
            kept = list(recording.times())
            users = {process.user for process in recording.at(0).processes()}
        assert users == ({None} if words else {"trainer"})
        assert (kept[0], kept[-1]) == (times[0], times[-1])
        assert set(kept) < set(times)
        lost = len(times) - len(kept)
        assert errors[0].endswith(
            f"is damaged; the copy has what can be read of it: {lost} documents are lost, "
            "bytes are damaged in 1 places"
        )


def test_an_export_that_is_interrupted_leaves_no_file(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Snapshot) -> Snapshot:
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "redacted", interrupted)
    (frozen,) = frozen_files(box)
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        exporting.export(frozen.path, folder / "send.zst", redact=True, warn=pytest.fail)
    assert not list(folder.iterdir())


def test_an_unfinished_recording_in_the_way_of_an_export_stays(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    part = tmp_path / "send.ndjson.zst.part"
    part.write_bytes(b"somebody's")
    code, _, err = run(capfdbinary, "export", "--redact", "-o", str(tmp_path / "send.ndjson.zst"))
    assert (code, part.read_bytes()) == (2, b"somebody's")
    assert f"{part} exists already; choose another name" in err


def test_a_folder_that_is_not_there_is_named(
    box: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    target = tmp_path / "no" / "send.ndjson.zst"
    code, _, err = run(capfdbinary, "export", "-o", str(target))
    assert code == 1
    assert f"cannot export to {target}: No such file or directory" in err

"""CSV: what a spreadsheet or a script gets."""

import csv
import io

import msgspec

from accelwatch.schema.reading import Reading
from accelwatch_csv import CsvExporter
from support.machines.composed import device, lost_view, snapshot, view


def rows(*args: object, **options: object) -> list[dict[str, str]]:
    data = CsvExporter().render(snapshot(*args), options)  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_labelled_quantities_become_a_column_a_series() -> None:
    row = rows(view(0), fields=("index", "temperature_celsius", "power_watts"))[0]
    assert row == {
        "index": "0",
        "temperature_celsius.gpu": "61",
        "temperature_celsius.memory": "72",
        "power_watts": "642.125",
    }


def test_the_header_is_the_same_on_every_machine() -> None:
    amd = msgspec.structs.replace(
        view(0),
        device=device(0, vendor="amd"),
        reading=Reading(
            device_id="x",
            values={("temperature_celsius", "junction"): 71, ("temperature_celsius", "edge"): 50},
        ),
    )
    headers = {
        CsvExporter().render(snapshot(*views, backends=()), {}).partition(b"\r\n")[0]
        for views in ([view(0)], [amd], [lost_view(1)], [view(0), amd])
    }
    empty = msgspec.structs.replace(snapshot(view(0)), devices=())
    headers.add(CsvExporter().render(empty, {}).partition(b"\r\n")[0])
    (header,) = headers
    assert b",temperature_celsius,temperature_celsius.memory,power_watts," in header
    assert [row["temperature_celsius"] for row in rows(view(0), amd)] == ["61", "71"]
    first = rows(view(0))[0]
    assert (first["power_limit_watts.enforced"], first["ecc_errors_total.corrected"]) == (
        "700.0",
        "0",
    )


def test_absence_is_an_empty_cell_and_the_device_stays_a_row() -> None:
    healthy, lost = rows(view(0), lost_view(3), fields=("name", "state", "power_watts"))
    assert healthy["power_watts"] == "642.125"
    assert lost == {"name": "nvidia3", "state": "lost", "power_watts": ""}


def test_formula_cells_are_guarded_and_quotes_and_newlines_survive() -> None:
    for model in ('=HYPERLINK("x")', "+1", "-1", "@a", 'a "b", c\nd\\e'):
        one = msgspec.structs.replace(view(0), device=device(0, model=model))
        (row,) = rows(one, fields=("model",))
        expected = "'" + model if model[0] in "=+-@" else model
        assert row["model"] == expected


def test_lines_end_as_rfc_4180_says() -> None:
    data = CsvExporter().render(snapshot(view(0)), {"fields": ("index",)})
    assert data == b"index\r\n0\r\n"
    assert (
        CsvExporter().render(snapshot(view(0)), {"fields": ("index",), "header": False}) == b"0\r\n"
    )

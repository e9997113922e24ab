"""Private parts of Textual: one module uses them, and the dashboard works where one is not there."""

import ast
import asyncio
import importlib
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Iterator

import pytest
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip

import accelwatch.tui
from accelwatch.tui.app import Dashboard
from accelwatch.tui.terminal import textual_private
from accelwatch.tui.terminal.cells import TerminalCells
from accelwatch.tui.terminal.input import driver_class
from accelwatch.tui.terminal.textual_private import redirect
from support.dashboards.local import FedSource, board_of, node

PRIVATE = "accelwatch.tui.terminal.textual_private"
NAMES = [
    name.name
    for name in pkgutil.walk_packages(accelwatch.tui.__path__, "accelwatch.tui.")
    if name.name != PRIVATE
]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined(tree: ast.AST) -> set[str]:
    """What a class or a module defines or assigns."""
    return {
        name
        for found in ast.walk(tree)
        for name in (
            getattr(found, "name", None),
            found.attr if isinstance(found, ast.Attribute) and _stored(found) else None,
            found.id if isinstance(found, ast.Name) and _stored(found) else None,
        )
        if isinstance(name, str)
    }


def _stored(found: ast.Attribute | ast.Name) -> bool:
    return isinstance(found.ctx, ast.Store)


def inherited_parts(cls: type) -> set[str]:
    """Private names that a class defines and that a class of Textual's above it has too."""
    above = {
        name
        for base in cls.__mro__[1:]
        if base.__module__.partition(".")[0] == "textual"
        for name in vars(base)
    }
    own = defined(ast.parse(textwrap.dedent(inspect.getsource(cls))))
    return {name for name in own if is_private(name) and name in above}


def foreign_parts(tree: ast.Module) -> Iterator[str]:
    """Private attributes that are read in a module, of anything, and that no accelwatch class has."""
    for found in ast.walk(tree):
        if isinstance(found, ast.Attribute) and is_private(found.attr):
            yield found.attr


# What the dashboard's own modules define.
OWN = set[str]().union(
    *(defined(ast.parse(inspect.getsource(importlib.import_module(name)))) for name in NAMES)
)


@pytest.mark.parametrize("name", NAMES)
def test_no_other_module_uses_a_private_part(name: str) -> None:
    module = importlib.import_module(name)
    tree = ast.parse(inspect.getsource(module))
    imported = [
        found.module
        for found in ast.walk(tree)
        if isinstance(found, ast.ImportFrom) and (found.module or "").startswith("textual._")
    ]
    shadowed = [
        f"{cls.__name__}.{part}"
        for cls in vars(module).values()
        if inspect.isclass(cls) and cls.__module__ == name
        for part in inherited_parts(cls)
    ]
    foreign = [part for part in foreign_parts(tree) if part not in OWN]
    assert (imported, shadowed, foreign) == ([], [], [])


def test_the_search_finds_what_the_one_module_uses() -> None:
    hooked = textual_private.HookedApp
    tree = ast.parse(inspect.getsource(textual_private))
    assert {"_display", "_fatal_error"} <= inherited_parts(hooked)
    assert "_handle_exception" in set(foreign_parts(tree)) - OWN


@pytest.mark.parametrize("part", ["ChopsUpdate", "CompositorUpdate", "LayoutUpdate"])
def test_without_a_part_of_the_compositor_all_of_its_painting_is_sent(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compositor = importlib.import_module("textual._compositor")
    update = compositor.LayoutUpdate([[Strip.blank(8)]], Region(0, 0, 8, 1))
    assert TerminalCells().changes(update) is not update
    monkeypatch.delattr(compositor, part)
    if part == "CompositorUpdate":
        monkeypatch.setattr(textual_private, part, object)  # as the import makes it
    assert TerminalCells().changes(update) is update


def test_without_its_parser_textual_reads_the_keys_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver_class() is not None
    monkeypatch.delattr("textual._xterm_parser.XTermParser")
    assert driver_class() is None


def test_a_driver_without_the_private_file_keeps_where_it_writes() -> None:
    driver = LinuxDriver.__new__(LinuxDriver)
    redirect(driver, sys.stdout)
    assert not hasattr(driver, "_file")
    redirected = LinuxDriver.__new__(LinuxDriver)
    redirected._file = None
    redirect(redirected, sys.stdout)
    assert redirected._file is not None


def ended(error: Exception) -> Dashboard:
    """A dashboard that was told of an error that nobody handles."""
    app = Dashboard(board_of(), FedSource(node(2)))

    async def fail(pilot: "Pilot[object]") -> None:
        await pilot.pause()
        app.fail(error)

    asyncio.run(app.run_async(headless=True, size=(100, 30), auto_pilot=fail))
    return app


@pytest.mark.parametrize("part", ["", "_handle_exception", "_fatal_error"])
def test_an_error_ends_the_program_whichever_part_is_there(
    part: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if part:
        monkeypatch.delattr(App, part)
    error = ValueError("nobody handles this")
    app = ended(error)
    assert (app.failure, app.return_code) == (error, 1)
    assert "nobody handles this" not in "".join(capfd.readouterr())

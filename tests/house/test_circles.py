"""No folder has two members that import each other, be it by way of others."""

import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]


def test_no_folder_has_a_circle_of_folders_or_files() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    graph = grimp.build_graph(*settings["root_packages"], cache_dir=None)
    folders = {module.rpartition(".")[0] for module in graph.modules} - {""}
    assert len(folders) > 1
    to_cut = {folder: graph.nominate_cycle_breakers(folder) for folder in folders}
    assert {folder: imports for folder, imports in to_cut.items() if imports} == {}

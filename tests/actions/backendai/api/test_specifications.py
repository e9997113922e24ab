"""How a session is created anew: by its row, by files and templates, and by REST v2 from 26.4 on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from accelwatch.api_client.backendai.releases import ManagerRelease
from accelwatch.base.errors import ConfigError
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.api.specification_files import read_specification
from accelwatch_backendai.api.specification_rows import Runtime
from accelwatch_backendai.api.specifications import Specification, Specifications
from accelwatch_backendai.settings.specification_rules import SpecificationRule
from support.backendai.fixtures import connected
from support.backendai.rows import session_row
from support.backendai.signed_api import problem

FIRST = "49073c33-ae6d-415d-9ad8-c7abd27291cb"
SECOND = "5a0d8c1e-1c3b-4c6e-8f0a-2f4f0c3f1b6d"
SESSION = Session(
    id=FIRST,
    name="train",
    type="batch",
    project="vision",
    cluster_size=2,
    cluster_mode="multi-node",
)
TEMPLATE = "0123456789abcdef0123456789abcdef"
ALL_RELEASES = {"reuseIfExists": False, "enqueueOnly": True}


def specified_row(**changed: Any) -> dict[str, Any]:
    """As 26.9.6 and 26.1.0 show the row of a session of two kernels, also when it has ended."""
    kernel = {
        "image": "cr.example/python:3.9",
        "architecture": "x86_64",
        "occupied_slots": json.dumps({"cpu": "8", "cuda.device": "8"}),
        "resource_opts": json.dumps({"shmem": 134217728, "other": None}),
        "preopen_ports": [20000],
    }
    return {
        "name": "train",
        "type": "BATCH",
        "image": "cr.example/python:3.9",
        "architecture": "x86_64",
        "domain_name": "default",
        "group_name": "vision",
        "scaling_group": "gpus",
        "cluster_size": 2,
        "cluster_mode": "multi-node",
        "startup_command": "python train.py",
        "priority": 20,
        "requested_slots": json.dumps({"cpu": "16", "mem": "34359738368", "cuda.device": "16"}),
        "mounts": [],
        "containers": [kernel, kernel],
        **changed,
    }


def detail(**runtime: Any) -> dict[str, Any]:
    """As 26.9.6 shows it over REST v2."""
    return {
        "id": FIRST,
        "metadata": {"name": "train", "job_priority": 0, "is_preemptible": True, "tag": ""},
        "lifecycle": {"status": "TERMINATED", "batch_timeout": 604800},
        "runtime": {
            "environ": {"entries": [{"name": "WANDB_KEY", "value": "hunter2"}]},
            "bootstrap_script": "ZWNobyBoaQo=",
            "startup_command": "python train.py",
            "callback_url": "https://ci.example/done",
            **runtime,
        },
        "network": {"use_host_network": False, "network_type": "volatile", "network_id": "n"},
    }


class Manager:
    """Answers each path by itself."""

    def __init__(self, release: str = "26.9.6", **row: Any) -> None:
        self.release = release
        self.row: dict[str, Any] | None = specified_row(**row)
        self.detail: dict[str, Any] = detail()
        self.template: dict[str, Any] = {}
        # The session that is read by its id.
        self.first = session_row(FIRST, tag="nightly")
        self.queries: list[str] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/":
            return web.json_response({"version": "v9", "manager": self.release})
        if request.path == f"/v2/sessions/{FIRST}":
            return web.json_response(self.detail)
        if request.path.startswith("/template/session/"):
            return web.json_response(self.template)
        query = (await request.json())["query"]
        self.queries.append(query)
        row = self.first if "session_id" in query else self.row
        items = [] if row is None else [row]
        return web.json_response({"data": {"compute_session_list": {"items": items}}})


def read(
    secret_key_file: Path,
    manager: Manager,
    *rules: SpecificationRule,
    session: Session = SESSION,
) -> tuple[Specification | None, str]:
    """The specification, and why there is none."""

    async def main() -> tuple[Specification | None, str]:
        async with connected(secret_key_file, manager.answer) as (client, _):
            specifications = Specifications(client, ManagerRelease(client), rules)
            return await specifications.read(session), await specifications.missing(session)

    return asyncio.run(main())


def body_of(
    secret_key_file: Path,
    manager: Manager,
    *rules: SpecificationRule,
    session: Session = SESSION,
) -> dict[str, Any]:
    specification, missing = read(secret_key_file, manager, *rules, session=session)
    assert missing == ""
    assert specification is not None
    return specification.body(tag="t", owner_access_key="OWNER")


def missing_of(secret_key_file: Path, manager: Manager, *rules: SpecificationRule) -> str:
    specification, missing = read(secret_key_file, manager, *rules)
    assert specification is None
    return missing


def written(tmp_path: Path, text: str, **rule: Any) -> SpecificationRule:
    file = tmp_path / "specification.yaml"
    file.write_text(text)
    return SpecificationRule(file=str(file), **rule)


def test_the_manager_says_all_of_it_from_26_4_on(secret_key_file: Path) -> None:
    assert body_of(secret_key_file, Manager()) == {
        **ALL_RELEASES,
        "name": "train",
        "type": "batch",
        "image": "cr.example/python:3.9",
        "arch": "x86_64",
        "group": "vision",
        "domain": "default",
        "cluster_size": 2,
        "cluster_mode": "multi-node",
        "startupCommand": "python train.py",
        "bootstrap_script": "ZWNobyBoaQo=",
        "batch_timeout": "604800",
        "callback_url": "https://ci.example/done",
        "priority": 20,
        "tag": "t",
        "owner_access_key": "OWNER",
        "config": {
            "scaling_group": "gpus",
            "resources": {"cpu": "8", "mem": "17179869184", "cuda.device": "8"},
            "resource_opts": {"shmem": 134217728},
            "environ": {"WANDB_KEY": "hunter2"},
            "preopen_ports": [20000],
        },
    }


def test_before_26_4_a_file_says_what_the_manager_does_not(
    secret_key_file: Path, tmp_path: Path
) -> None:
    manager = Manager("26.1.0")
    assert "26.4 and newer do" in missing_of(secret_key_file, manager)
    rule = written(tmp_path, "environ: {A: b}\nbootstrap_script: echo hi\n", names=["tr*"])
    body = body_of(secret_key_file, manager, rule)
    assert body["config"]["environ"] == {"A": "b"}
    assert body["bootstrap_script"] == "ZWNobyBoaQ=="
    # 26.1 ends at once a batch session for which none is given.
    assert body["batch_timeout"] == "365d"
    assert body["startupCommand"] == "python train.py"


@pytest.mark.parametrize(
    "rule",
    [
        {"names": ["eval-*"]},
        {"tags": ["weekly"]},
        {"projects": ["speech"]},
        {"names": ["train"], "projects": ["speech"]},
    ],
)
def test_a_rule_is_for_the_sessions_that_fit_all_of_it(
    rule: dict[str, Any], secret_key_file: Path, tmp_path: Path
) -> None:
    assert missing_of(secret_key_file, Manager("26.1.0"), written(tmp_path, "{}", **rule))


def test_the_first_rule_that_fits_counts(secret_key_file: Path, tmp_path: Path) -> None:
    other = SpecificationRule(names=["eval"])
    first = written(tmp_path, "priority: 1", names=["train"])
    second = SpecificationRule(names=["*"])
    assert body_of(secret_key_file, Manager("26.1.0"), other, first, second)["priority"] == 1


def test_a_session_of_ours_has_the_rule_of_the_tag_that_its_user_gave(
    secret_key_file: Path, tmp_path: Path
) -> None:
    rule = written(tmp_path, "{}", tags=["night*"])
    moved = Session(id=SECOND, name="train", type="batch", tag=f"accelwatch:{FIRST}:c7abd27291cb")
    assert body_of(secret_key_file, Manager("26.1.0"), rule, session=moved)
    manager = Manager("26.1.0")
    manager.first["tag"] = "weekly"
    assert read(secret_key_file, manager, rule, session=moved)[0] is None


def test_what_a_file_has_counts_before_the_managers_word(
    secret_key_file: Path, tmp_path: Path
) -> None:
    text = """
image: cr.example/python:3.11
architecture: aarch64
resource_group: other
cluster_size: 4
cluster_mode: single-node
startup_command: python resume.py
batch_timeout: 3600
callback_url: https://ci.example/other
priority: 5
environ: {B: c}
mounts: [data, code/src]
mount_map: {data: /data}
mount_options: {data: {permission: ro}}
resources: {cpu: 4, mem: 8g, cuda.device: 2}
resource_opts: {shmem: 1g}
preopen_ports: [30000]
"""
    manager = Manager(mounts=["data", "code"])
    body = body_of(secret_key_file, manager, written(tmp_path, text))
    assert (body["image"], body["arch"]) == ("cr.example/python:3.11", "aarch64")
    assert (body["cluster_size"], body["cluster_mode"]) == (4, "single-node")
    assert (body["startupCommand"], body["priority"]) == ("python resume.py", 5)
    assert (body["batch_timeout"], body["callback_url"]) == ("3600", "https://ci.example/other")
    assert body["config"] == {
        "scaling_group": "other",
        "resources": {"cpu": 4, "mem": "8g", "cuda.device": 2},
        "resource_opts": {"shmem": "1g"},
        "environ": {"B": "c"},
        "mounts": ["data", "code/src"],
        "mount_map": {"data": "/data"},
        "mount_options": {"data": {"permission": "ro"}},
        "preopen_ports": [30000],
    }


@pytest.mark.parametrize("release", ["26.1.0", "26.9.6"])
def test_folders_are_mounted_again_only_where_somebody_says_where(
    release: str, secret_key_file: Path, tmp_path: Path
) -> None:
    manager = Manager(release, mounts=["data"])
    assert "1 folders mounted" in missing_of(secret_key_file, manager, written(tmp_path, "{}"))
    rule = written(tmp_path, "{}", default_mount_paths=True)
    assert body_of(secret_key_file, manager, rule)["config"]["mounts"] == ["data"]
    rule = written(tmp_path, "mounts: [data]")
    assert body_of(secret_key_file, manager, rule)["config"]["mounts"] == ["data"]


def test_default_paths_need_no_file_where_the_manager_says_the_rest(secret_key_file: Path) -> None:
    rule = SpecificationRule(names=["*"], default_mount_paths=True)
    body = body_of(secret_key_file, Manager(mounts=["data"]), rule)
    assert body["config"]["mounts"] == ["data"]


@pytest.mark.parametrize("mounts", [["data"], ["data", "other"], []])
def test_a_file_of_other_folders_is_not_for_this_session(
    mounts: list[str], secret_key_file: Path, tmp_path: Path
) -> None:
    rule = written(tmp_path, "mounts: [code/src]")
    assert "folders are not those" in missing_of(secret_key_file, Manager(mounts=mounts), rule)


def test_kernels_that_differ_are_not_one_request(secret_key_file: Path) -> None:
    manager = Manager()
    assert manager.row is not None
    manager.row["containers"][1] = {**manager.row["containers"][1], "image": "cr.example/other"}
    assert "kernels differ" in missing_of(secret_key_file, manager)


def test_a_network_of_its_users_is_not_one_request(secret_key_file: Path) -> None:
    manager = Manager()
    manager.detail["network"]["network_type"] = "persistent"
    assert "on a network" in missing_of(secret_key_file, manager)


def test_a_session_that_is_known_no_more_has_none(secret_key_file: Path) -> None:
    manager = Manager()
    manager.row = None
    assert "no longer has it" in missing_of(secret_key_file, manager)


@pytest.mark.parametrize("slots", ["{}", "{", '{"cpu": "0"}'])
def test_a_session_without_resources_has_none(slots: str, secret_key_file: Path) -> None:
    assert "which resources" in missing_of(secret_key_file, Manager(requested_slots=slots))


def test_a_release_without_the_sum_has_the_amounts_of_a_kernel(
    secret_key_file: Path, tmp_path: Path
) -> None:
    manager = Manager("23.09.11", requested_slots=None, priority=None)
    body = body_of(secret_key_file, manager, written(tmp_path, "{}"))
    assert body["config"]["resources"] == {"cpu": "8", "cuda.device": "8"}
    assert not any("requested_slots" in query or "priority" in query for query in manager.queries)


def test_a_share_of_a_device_stays_a_share(secret_key_file: Path) -> None:
    body = body_of(secret_key_file, Manager(requested_slots='{"cuda.shares": "0.500000"}'))
    assert body["config"]["resources"] == {"cuda.shares": "0.25"}


@pytest.mark.parametrize(
    ("environ", "variables"),
    [
        (None, None),
        ({"entries": []}, None),
        ({}, None),
        ({"A": "b"}, {"A": "b"}),
        ({"entries": [{"name": "A", "value": "b"}]}, {"A": "b"}),
    ],
)
def test_an_environment_is_read_in_either_shape(
    environ: Any, variables: dict[str, str] | None, secret_key_file: Path
) -> None:
    manager = Manager()
    manager.detail = detail(environ=environ)
    assert body_of(secret_key_file, manager)["config"].get("environ") == variables


def test_what_concerns_preemption_is_given_where_it_differs(secret_key_file: Path) -> None:
    manager = Manager()
    manager.detail["metadata"].update(job_priority=3, is_preemptible=False)
    body = body_of(secret_key_file, manager)
    assert (body["job_priority"], body["is_preemptible"]) == (3, False)


def test_a_session_without_a_timeout_gets_a_long_one(secret_key_file: Path) -> None:
    manager = Manager()
    manager.detail["lifecycle"]["batch_timeout"] = None
    assert body_of(secret_key_file, manager)["batch_timeout"] == "365d"


def test_only_a_batch_session_has_a_time_limit(secret_key_file: Path) -> None:
    interactive = Session(id=FIRST, name="train", type="interactive")
    manager = Manager(startup_command=None)
    manager.detail = detail(startup_command=None)
    assert "batch_timeout" not in body_of(secret_key_file, manager, session=interactive)


def test_a_batch_session_without_its_command_has_none(
    secret_key_file: Path, tmp_path: Path
) -> None:
    manager = Manager(startup_command="")
    manager.detail = detail(startup_command=None)
    assert "which command" in missing_of(secret_key_file, manager)
    rule = written(tmp_path, "startup_command: python train.py")
    assert body_of(secret_key_file, manager, rule)["startupCommand"] == "python train.py"


def test_a_template_says_environment_script_and_folders(secret_key_file: Path) -> None:
    manager = Manager("26.1.0", mounts=["data"])
    kernel = {"image": "other", "environ": {"A": "b"}, "run": {"bootstrap": "echo hi"}}
    manager.template = {"template": {"spec": {"kernel": kernel, "mounts": {"data": "/data"}}}}
    rule = SpecificationRule(names=["train"], template=TEMPLATE)
    body = body_of(secret_key_file, manager, rule)
    assert (body["image"], body["bootstrap_script"]) == ("cr.example/python:3.9", "ZWNobyBoaQ==")
    assert body["config"]["environ"] == {"A": "b"}
    assert body["config"]["mount_map"] == {"data": "/data"}
    manager.release = "26.9.6"
    body = body_of(secret_key_file, manager, rule)
    # What the session was made with counts before what its template has by now.
    assert body["config"]["environ"] == {"WANDB_KEY": "hunter2"}
    assert body["config"]["mount_map"] == {"data": "/data"}


@pytest.mark.parametrize(
    ("template", "answer", "text"),
    [
        ("mine", {}, "is not the id"),
        (TEMPLATE, {}, "has no session template"),
        (TEMPLATE, {"template": {"spec": {"kernel": {"git": {"repository": "x"}}}}}, "clones"),
    ],
)
def test_a_template_of_no_use_is_named(
    template: str, answer: dict[str, Any], text: str, secret_key_file: Path
) -> None:
    manager = Manager()
    manager.template = answer
    rule = SpecificationRule(names=["train"], template=template)
    assert text in missing_of(secret_key_file, manager, rule)


def test_a_template_that_is_not_found_is_named(secret_key_file: Path) -> None:
    manager = Manager()
    answer = problem(404, "task-template-not-found", "No such task template.")

    async def without(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/template"):
            return await answer(request)
        return await manager.answer(request)

    async def main() -> None:
        async with connected(secret_key_file, without) as (client, _):
            rules = [SpecificationRule(names=["train"], template=TEMPLATE)]
            specifications = Specifications(client, ManagerRelease(client), rules)
            assert "has no session template" in await specifications.missing(SESSION)

    asyncio.run(main())


def test_nothing_that_a_user_wrote_stands_in_a_representation(
    secret_key_file: Path, tmp_path: Path
) -> None:
    specification, _ = read(secret_key_file, Manager())
    rule = written(tmp_path, "environ: {A: hunter2}")
    environ = msgspec.Raw(b'{"A": "hunter2"}')
    runtime = Runtime(environ=environ, startup_command="python train.py")
    shown = repr(specification) + repr(read_specification(Path(rule.file))) + repr(runtime)
    assert "hunter2" not in shown
    assert "train.py" not in shown


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("environ: {A: b}\nmount: [x]\n", ":2: mount"),
        ("environ: {A: 5}\n", ":1: environ.A"),
        ("\nmounts: data\n", ":2: mounts"),
        ("cluster_mode: MULTI_NODE\n", "one of single-node, multi-node"),
        ("cluster_size: 0\n", ":1: cluster_size"),
        ("mounts: [a]\nmount_map:\n  b: /b\n", ":3: mount_map.b: a folder that is not in mounts"),
        ("mounts: [a]\nmount_options:\n  b: {}\n", ":3: mount_options.b"),
        ("batch_timeout: soon\n", ":1: batch_timeout: expected seconds"),
        ("batch_timeout: 0\n", ":1: batch_timeout: expected seconds"),
        ("- a\n", "a mapping is expected"),
        ("a: [\n", ":"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_line_key_and_mend(
    text: str, complaint: str, secret_key_file: Path, tmp_path: Path
) -> None:
    rule = written(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        read(secret_key_file, Manager(), rule)
    assert rule.file in str(error.value)
    assert complaint in str(error.value)


def test_a_file_that_becomes_wrong_later_is_named(secret_key_file: Path, tmp_path: Path) -> None:
    async def main() -> None:
        rule = written(tmp_path, "{}")
        async with connected(secret_key_file, Manager().answer) as (client, _):
            specifications = Specifications(client, ManagerRelease(client), [rule])
            Path(rule.file).unlink()
            assert "No such file" in await specifications.missing(SESSION)

    asyncio.run(main())


def test_json_is_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "specification.json"
    file.write_text('{"environ": {"A": "b"}, "batch_timeout": "7d"}')
    assert read_specification(file).environ == {"A": "b"}


@pytest.mark.parametrize("rule", [{"file": "relative.yaml"}, {"file": "/a", "template": TEMPLATE}])
def test_a_rule_that_is_wrong_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="^file: "):
        SpecificationRule(**rule)

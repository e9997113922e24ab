"""Hosts as people write them for ssh."""

import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.ssh.destination import destination, ssh_targets
from accelwatch.fleet.target import targets_of
from accelwatch.fleet.targets.discovery import discoverers
from accelwatch.fleet.targets.groups import targets_in
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import HttpSd, Targets


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n01", ("--", "n01")),
        ("root@n01", ("-l", "root", "--", "n01")),
        ("n01:2222", ("-p", "2222", "--", "n01")),
        ("a.b-c_d@n01.example.org:22", ("-l", "a.b-c_d", "-p", "22", "--", "n01.example.org")),
        ("me@realm@n01", ("-l", "me@realm", "--", "n01")),
        ("[2001:db8::1]:22", ("-p", "22", "--", "2001:db8::1")),
        ("[2001:db8::1]", ("--", "2001:db8::1")),
        ("2001:db8::1", ("--", "2001:db8::1")),
    ],
)
def test_arguments_of_ssh(text: str, words: tuple[str, ...]) -> None:
    assert destination(text).arguments == words


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=x",
        "root@",
        "root@-x",
        "-x@n01",
        "@n01",
        "n01:0",
        "n01:65536",
        "n01:x",
        "n01:",
        "n 01",
        "n01;reboot",
        "[::1]x",
        "a b@n01",
    ],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="ssh host"):
        destination(text)


def test_ranges_are_those_of_targets_and_the_user_does_not_name_the_node() -> None:
    targets = ssh_targets(["ops@n[01-03]:2222", "ssh://gpu"], {"rack": "r1"})
    assert [one.node for one in targets] == ["n01", "n02", "n03", "gpu"]
    assert [one.key for one in targets][::3] == ["ssh://ops@n01:2222", "ssh://gpu"]
    assert {one.labels["rack"] for one in targets} == {"r1"}


def test_on_loopback_the_port_names_the_node() -> None:
    assert [one.node for one in ssh_targets(["127.0.0.1:2222", "localhost"])] == [
        "127.0.0.1:2222",
        "localhost",
    ]


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("[::1]:33022", "[::1]:33022"),
        ("root@[::1]:33022", "[::1]:33022"),
        ("[::1%lo]:22", "[::1%lo]:22"),
        ("localhost:2222", "localhost:2222"),
        ("[::1]", "::1"),
        ("root@[fe80::1]:22", "fe80::1"),
        ("[fe80::1%eth0]:22", "fe80::1%eth0"),
        ("[2001:db8::1]:22", "2001:db8::1"),
    ],
)
def test_an_ipv6_address_with_a_port_is_a_host_like_any(text: str, node: str) -> None:
    (target,) = ssh_targets([text])
    assert (target.node, target.address) == (node, text)


def test_nobody_else_may_name_a_host_for_ssh() -> None:
    with pytest.raises(UsageError, match="the scheme is http or https"):
        targets_of(["n01"], {"__scheme__": "ssh"})


def test_files_may_list_hosts_for_ssh_and_other_discoveries_may_not() -> None:
    document = [{"targets": ["ops@n[1-2]"], "labels": {"__scheme__": "ssh", "rack": "r1"}}]
    first, second = targets_in(document, Rules(may_ssh=True))
    assert (first.key, first.node, first.labels) == ("ssh://ops@n1", "n1", {"rack": "r1"})
    assert second.node == "n2"
    with pytest.raises(UsageError):
        targets_in(document, Rules())
    allowed = discoveries(Targets(files=("a",), http=(HttpSd(url="http://b"),)))
    assert [name.partition(" ")[0] for name in allowed if '"may_ssh":true' in name] == ["files"]


def discoveries(targets: Targets) -> list[str]:
    return list(discoverers(targets, Scrape()))

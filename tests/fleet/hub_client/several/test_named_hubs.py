"""Hubs of a command line: their names, and whose credentials each gets."""

from pathlib import Path

import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.hub_client.several.named_hubs import hub_endpoints


def names(*urls: str) -> list[str]:
    return [endpoint.name for endpoint in hub_endpoints(urls, ())]


def test_a_hub_is_called_by_its_host_or_by_the_name_that_it_is_given() -> None:
    assert names("pod-1=http://h1:9878", "h2:1/base") == ["pod-1", "h2"]


def test_hubs_on_one_host_have_their_port_besides() -> None:
    assert names("h1:1", "h1:2", "h2") == ["h1:1", "h1:2", "h2"]


def test_a_name_that_is_given_to_two_is_refused() -> None:
    with pytest.raises(UsageError, match="two hubs are called a; .* --hub a-1=URL --hub a-2=URL"):
        names("a=h1", "b=h3", "a=h2")


def test_a_name_that_is_given_stays_where_another_hub_has_that_host() -> None:
    assert names("h2=h1", "h2") == ["h2", "h2:9878"]


def test_a_single_hub_keeps_its_full_name_unless_it_is_given_one() -> None:
    assert names("h1") == ["h1:9878"]
    assert names("a=h1") == ["a"]


def test_hubs_of_one_address_by_other_schemes_need_names() -> None:
    with pytest.raises(UsageError, match="two hubs have the same name"):
        names("http://h1", "https://h1")
    assert names("a=http://h1", "b=https://h1") == ["a", "b"]


def test_the_same_hub_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="the same hub is given twice"):
        names("a=h1", "b=http://h1:9878/")
    with pytest.raises(UsageError, match="the same hub is given twice"):
        names("unix:/run/a", "unix:///run/a")


def test_one_file_is_for_all_and_several_are_one_each(tmp_path: Path) -> None:
    files = []
    for user in ("ada", "bob"):
        (tmp_path / "password").write_text("secret\n")
        file = tmp_path / f"{user}.yaml"
        file.write_text(f"basic_auth: {{username: {user}, password_file: password}}\n")
        files.append(file)

    def users(*given: Path) -> list[str | None]:
        return [one.access.basic_auth.username for one in hub_endpoints(("h1", "h2"), given)]

    assert users(files[0]) == ["ada", "ada"]
    assert users(*files) == ["ada", "bob"]
    with pytest.raises(UsageError, match="given 3 times for 2 hubs"):
        users(*files, files[0])


def test_more_hubs_than_a_screen_has_room_for_are_refused() -> None:
    assert len(names(*(f"h{number}" for number in range(8)))) == 8
    with pytest.raises(UsageError, match="8 hubs are the most"):
        names(*(f"h{number}" for number in range(9)))

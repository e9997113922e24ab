import pytest

from accelwatch.errors import PluginError
from accelwatch.sampler.load import resolve
from accelwatch.sampler.settings import CollectSettings


def test_replay_is_only_for_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "replay" not in resolve(CollectSettings())
    assert list(resolve(CollectSettings(backends=("replay",)))) == ["replay"]
    assert "host" not in resolve(CollectSettings(without=frozenset({"host"})))
    monkeypatch.setenv("ACCELWATCH_DISABLE_PLUGINS", "amd,intel")
    assert not {"amd", "intel"} & resolve(CollectSettings()).keys()


@pytest.mark.parametrize("name", ["nowhere", "nowhere:Backend", "sampler.fakes:Nobody"])
def test_what_cannot_be_loaded_says_so_when_it_is_loaded(name: str) -> None:
    with pytest.raises(PluginError, match="backend|plug-in"):
        resolve(CollectSettings(backends=(name,)))[name]()

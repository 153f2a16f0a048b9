"""Settings: which place wins, and what is said about a value that cannot be used."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import Settings, default_home, flag_of, load

VALUES = {
    "database": ("postgresql://flag@h/d", "postgresql://env@h/d", "postgresql://toml@h/d", None),
    "home": ("/flag", "/env", "/toml", default_home()),
    "token": (None, "env-secret", "toml-secret", None),
    "agent_ca": ("/flag.pem", "/env.pem", "/toml.pem", None),
    "station": ("FLAG", "ENV", "TOML", None),
    "operator": ("flag", "env", "toml", Settings().operator),
    "tick_ms": ("201", "202", 203, 5000),
    "probe_ms": ("101", "102", 103, 1000),
    "live_asset_timeout_minutes": ("1", "2", 3, 120),
    "metrics_port": ("1", "2", 3, 0),
    "log_level": ("debug", "warning", "error", "INFO"),
}
ENV = {f.name: f.metadata["env"] for f in fields(Settings)}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def toml(path: Path, **values: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        f"{k} = {str(v) if isinstance(v, int) else chr(39) + str(v) + chr(39)}\n" for k, v in values.items()
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


def shown(name: str, value: object) -> object:
    if name in ("home", "agent_ca"):
        return Path(str(value))
    if name == "log_level":
        return str(value).upper()
    return (
        int(str(value))
        if name in ("tick_ms", "probe_ms", "live_asset_timeout_minutes", "metrics_port")
        else value
    )


def test_every_setting_is_covered_here() -> None:
    assert VALUES.keys() == {f.name for f in fields(Settings)}
    assert len(set(ENV.values())) == len(ENV)


@pytest.mark.parametrize("name", VALUES)
def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(name: str, elsewhere: Path) -> None:
    flag, env, file, default = VALUES[name]
    if name == "home":
        default = elsewhere / "data" / "airlock"
    assert getattr(load({}, {}), name) == default
    toml(elsewhere / "airlock.toml", **{name: file})
    assert getattr(load({}, {}), name) == shown(name, file)
    assert getattr(load({}, {ENV[name]: str(env)}), name) == shown(name, env)
    if flag is not None:
        assert getattr(load({name: flag}, {ENV[name]: str(env)}), name) == shown(name, flag)
    assert getattr(load({name: None}, {ENV[name]: ""}), name) == shown(name, file), (
        "an empty variable is not set"
    )


BAD = {
    "database": ["mysql://h/d", "just words", "postgresql//h", "http://[", ""],
    "home": ["", "  ", "~nobody-of-this-name/x"],
    "agent_ca": ["", "  "],
    "station": ["", "two words", "x" * 41, "semi;colon"],
    "operator": [" ", "x" * 81, "line\nbreak", "bell\a"],
    "tick_ms": ["soon", "199", "60001", "1.5", "", "-5"],
    "probe_ms": ["soon", "99", "60001", "1.5", "", "-5"],
    "live_asset_timeout_minutes": ["0", "100001", "true"],
    "metrics_port": ["-1", "65536", "http"],
    "log_level": ["loud", ""],
    "token": ["two words", "line\nbreak", "ü"],
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_one_sentence_that_names_its_place(name: str, elsewhere: Path) -> None:
    for value in BAD[name]:
        places = [] if name == "token" else [(flag_of(name), {name: value}, {})]
        if value:
            places.append((ENV[name], {}, {ENV[name]: value}))
        for place, flags, environment in places:
            with pytest.raises(SettingsError) as said:
                load(flags, environment)
            sentence = str(said.value)
            assert sentence.startswith(f"{place} ") and sentence.endswith(".") and "\n" not in sentence
            assert name != "token" or value not in sentence, "a secret was repeated in a message"
    value = next(v for v in BAD[name] if v and "\n" not in v and "\a" not in v)
    path = toml(elsewhere / "airlock.toml", **{name: value})
    with pytest.raises(SettingsError) as said:
        load({}, {})
    assert str(said.value).startswith(f"{name} in {path} ") and str(said.value).endswith(".")


def test_a_setting_that_does_not_exist_is_named(elsewhere: Path) -> None:
    path = toml(elsewhere / "airlock.toml", databse="postgresql://h/d")
    with pytest.raises(SettingsError) as said:
        load({}, {})
    assert str(said.value).startswith(
        f"{path} has a setting that does not exist: databse. There are: database, home"
    )


@pytest.mark.parametrize("content", [b"database = ", b"[a\n", b"\xff\xfe\x00", b"a = 1\na = 2\n"])
def test_a_file_that_is_not_toml(elsewhere: Path, content: bytes) -> None:
    (elsewhere / "airlock.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"airlock\.toml cannot be read: .*\.$"):
        load({}, {})


@pytest.mark.parametrize("value", ["true", "[1, 2]", "{a = 1}", "5000.5", "1979-05-27"])
def test_a_value_of_another_kind(elsewhere: Path, value: str) -> None:
    (elsewhere / "airlock.toml").write_text(f"tick_ms = {value}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"^tick_ms in .* takes a whole number\.$"):
        load({}, {})


def test_where_the_file_is_looked_for(elsewhere: Path) -> None:
    in_home = toml(elsewhere / "plant" / "airlock.toml", station="HOME")
    assert load({"home": str(in_home.parent)}, {}).station == "HOME"
    assert load({}, {"AIRLOCK_HOME": str(in_home.parent)}).station == "HOME"
    toml(elsewhere / "airlock.toml", station="WORKING")
    assert load({"home": str(in_home.parent)}, {}).station == "WORKING"
    named = toml(elsewhere / "other.toml", station="NAMED")
    assert load({}, {"AIRLOCK_CONFIG": str(named)}).station == "NAMED"
    for missing in ("nowhere.toml", "~nobody-of-this-name/x.toml", str(elsewhere)):
        with pytest.raises(SettingsError, match=r"^AIRLOCK_CONFIG names .*\.$"):
            load({}, {"AIRLOCK_CONFIG": missing})


def test_a_working_folder_that_was_removed_is_no_reason_to_fail(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = elsewhere / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert load({}, {"AIRLOCK_HOME": "/absolute"}).home == Path("/absolute")
    with pytest.raises(SettingsError, match=r"^AIRLOCK_HOME names a folder that cannot be found"):
        load({}, {"AIRLOCK_HOME": "relative"})


def test_a_home_is_understood_from_wherever_the_program_runs(elsewhere: Path) -> None:
    assert load({"home": "here"}, {}).home == elsewhere / "here"
    assert load({"home": "~/x"}, {}).home == Path.home() / "x"


def test_secrets_are_never_shown() -> None:
    found = load({}, {"AIRLOCK_TOKEN": "very-secret", "AIRLOCK_DATABASE_URL": "postgresql://u:pass-word@h/d"})
    assert found.token == "very-secret" and found.database == "postgresql://u:pass-word@h/d"
    for text in (repr(found), str(found), f"{found}"):
        assert "very-secret" not in text and "pass-word" not in text

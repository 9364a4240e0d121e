"""Settings: declared once, documented, and refused by name."""

import errno
import stat
from dataclasses import fields
from pathlib import Path

import pytest

from service import settings
from service.settings import BadSetting, Settings

README = (Path(__file__).parent.parent / "README.md").read_text()


@pytest.mark.parametrize("declared", fields(Settings), ids=lambda declared: declared.name)
def test_every_setting_is_documented(declared):
    default = f"`{declared.default}`" if declared.default != "" else ""
    line = f"| `MONTECARLO_{declared.name.upper()}` | {default} | {declared.metadata['help']} |"
    assert line.replace("  ", " ") in README


def test_defaults_are_those_declared(monkeypatch):
    monkeypatch.delenv("MONTECARLO_PORT", raising=False)
    assert settings.load() == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", ""),
        ("WORKERS", "0"),
        ("WORKERS", "1.5"),
        ("THREADS", "-1"),
        ("BODY_LIMIT", "lots"),
        ("SECRET_KEY", "short"),
        ("SIGNING_KEYS", "short"),
        ("SIGNING_KEYS", "é" * 43),
        ("AUDIT_BODY_LIMIT", "1"),
        ("DATABASE_URL", "nonsense"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "sqlite:///:memory:"),
        ("DATABASE_URL", "sqlite:///a.db?timeout=long"),
        ("DATABASE_URL", "sqlite+aiosqlite:///a.db"),
        ("DATABASE_URL", "postgresql+psycopg2://localhost/x"),
        ("DATABASE_URL", "postgresql+psycopg://localhost:port/x"),
        ("HOST", ""),
        ("HOST", "no name of a host"),
        ("LIMIT_GAMES", "300/minute;5/second"),
        ("REDIS_URL", "http://localhost"),
        ("REDIS_URL", "redis://[bad"),
        ("REDIS_URL", "redis://localhost:99999"),
        ("REDIS_URL", "nonsense"),
        ("SIGNING_KEYS", " "),
    ],
)
def test_a_bad_setting_names_itself(monkeypatch, name, value):
    monkeypatch.setenv(f"MONTECARLO_{name}", value)
    with pytest.raises(BadSetting, match=f"^MONTECARLO_{name}: ") as refused:
        settings.load()
    assert len(str(refused.value)) > len(f"MONTECARLO_{name}: ") + 5


@pytest.mark.parametrize("ending", ["key", "signing"])
def test_what_is_secret_is_made_once_and_kept_to_its_owner(tmp_path, ending):
    used = Settings(database_url=f"sqlite:///{tmp_path}/a.db")
    read = {"key": used.secret, "signing": lambda: used.keys().jwks}[ending]
    first = read()
    assert first == read()
    assert stat.S_IMODE((tmp_path / f"a.db.{ending}").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [f"a.db.{ending}"]
    other = Settings(database_url=f"sqlite:///{tmp_path}/b.db")
    assert {"key": other.secret, "signing": lambda: other.keys().jwks}[ending]() != first


def test_what_is_set_goes_first_and_postgresql_needs_it(tmp_path):
    used = Settings(database_url=f"sqlite:///{tmp_path}/a.db", secret_key="k" * 32, signing_keys="k" * 43)
    assert used.secret() == b"k" * 32
    assert len(used.keys().jwks["keys"]) == 1
    assert list(tmp_path.iterdir()) == []
    bare = Settings(database_url="postgresql+psycopg://localhost/x")
    with pytest.raises(BadSetting, match=r"^MONTECARLO_SECRET_KEY: "):
        bare.secret()
    with pytest.raises(BadSetting, match=r"^MONTECARLO_SIGNING_KEYS: "):
        bare.keys()


def test_rotation_keeps_the_old_keys(tmp_path):
    used = Settings(database_url=f"sqlite:///{tmp_path}/a.db")
    before = used.keys().jwks["keys"]
    assert "a.db.signing" in used.rotate_keys()
    after = used.keys().jwks["keys"]
    assert (after[1:], len(after)) == (before, 2)
    assert stat.S_IMODE((tmp_path / "a.db.signing").stat().st_mode) == 0o600
    named = Settings(signing_keys="k" * 43).rotate_keys()
    assert named.startswith("Set MONTECARLO_SIGNING_KEYS=")
    assert named.endswith(" " + "k" * 43)


@pytest.mark.parametrize(
    ("name", "value", "library"),
    [("DATABASE_URL", "postgresql+psycopg://localhost/x", "psycopg"), ("REDIS_URL", "redis://localhost", "redis")],
)
def test_a_library_that_is_not_installed_is_named(monkeypatch, name, value, library):
    monkeypatch.setattr(settings, "find_spec", lambda wanted: None if wanted == library else True)
    monkeypatch.setenv(f"MONTECARLO_{name}", value)
    with pytest.raises(BadSetting, match=rf"^MONTECARLO_{name}: needs {library}, .*pip install"):
        settings.load()


def test_a_host_may_have_a_name(monkeypatch):
    monkeypatch.setenv("MONTECARLO_HOST", "localhost")
    assert settings.address_of(settings.load().host) in ("127.0.0.1", "::1")


@pytest.mark.parametrize("ending", ["key", "signing"])
@pytest.mark.parametrize("content", [b"", b" \n", b"short", b"\xff\xfe"])
def test_a_secret_that_was_lost_or_damaged_stops_the_start(tmp_path, ending, content):
    (tmp_path / f"a.db.{ending}").write_bytes(content)
    used = Settings(database_url=f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(BadSetting, match=rf"a\.db\.{ending}: "):
        {"key": used.secret, "signing": used.keys}[ending]()


def test_a_disk_that_is_full_leaves_no_part_of_a_secret(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "no space left")

    used = Settings(database_url=f"sqlite:///{tmp_path}/a.db")
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="no space left"):
            used.secret()
    assert list(tmp_path.iterdir()) == []
    assert used.secret() == used.secret()

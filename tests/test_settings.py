"""Settings: declared once, documented, and refused by name."""

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
        ("DATABASE_URL", "nonsense"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "sqlite:///:memory:"),
    ],
)
def test_a_bad_setting_names_itself(monkeypatch, name, value):
    monkeypatch.setenv(f"MONTECARLO_{name}", value)
    with pytest.raises(BadSetting, match=f"^MONTECARLO_{name}: ") as refused:
        settings.load()
    assert len(str(refused.value)) > len(f"MONTECARLO_{name}: ") + 5


def test_the_secret_is_made_once_and_kept_to_its_owner(tmp_path):
    used = Settings(database_url=f"sqlite:///{tmp_path}/a.db")
    secret = used.secret()
    assert len(secret) >= 32
    assert used.secret() == secret
    assert stat.S_IMODE((tmp_path / "a.db.key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a.db.key"]
    assert Settings(database_url=f"sqlite:///{tmp_path}/b.db").secret() != secret


def test_a_set_secret_goes_first_and_postgresql_needs_one(tmp_path):
    assert Settings(database_url=f"sqlite:///{tmp_path}/a.db", secret_key="k" * 32).secret() == b"k" * 32
    with pytest.raises(BadSetting, match=r"^MONTECARLO_SECRET_KEY: "):
        Settings(database_url="postgresql+psycopg://localhost/x").secret()

"""The PostgreSQL server of the tests: found, or missed with a reason."""

import pytest

from tests import postgresql


def test_without_a_server_and_programs_the_reason_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("TEST_DATABASE_URL", raising=False)
    monkeypatch.setattr(postgresql, "binaries", lambda: None)
    with pytest.raises(LookupError, match=r"apt-get install postgresql.*TEST_DATABASE_URL"):
        postgresql.shared_server(tmp_path)


def test_a_server_that_is_given_goes_before_one_of_our_own(monkeypatch, tmp_path):
    monkeypatch.setenv("TEST_DATABASE_URL", "postgresql://me:word@host/name")
    url = postgresql.shared_server(tmp_path)
    assert url.render_as_string(hide_password=False) == "postgresql+psycopg://me:word@host/name"
    assert list(tmp_path.iterdir()) == []

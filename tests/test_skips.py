"""The option --no-skips: nothing that was not tested passes for tested."""

import subprocess
import sys

TESTS = """
import pytest

@pytest.mark.skipif(True, reason="no such tool here")
def test_marked():
    pass

def test_skipping():
    pytest.skip("no such tool here")

@pytest.mark.xfail
def test_known_to_fail():
    assert False
"""


def test_a_skip_is_a_failure_when_asked_for(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    settings = tmp_path / "pytest.ini"
    settings.touch()
    run = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", str(settings), str(tmp_path)]
    as_usual = subprocess.run(run, capture_output=True, text=True)
    assert as_usual.returncode == 0, as_usual.stdout + as_usual.stderr
    assert "2 skipped, 1 xfailed" in as_usual.stdout
    strict = subprocess.run([*run, "--no-skips"], capture_output=True, text=True)
    assert strict.returncode == 1, strict.stdout + strict.stderr
    assert "1 failed, 1 xfailed, 1 error" in strict.stdout
    assert "no such tool here" in strict.stdout

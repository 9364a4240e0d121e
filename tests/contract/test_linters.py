"""The spec as the linters of others see it: nothing to complain of, warnings included."""

from tests.contract.tools import HERE, NPM, SPEC, needs, run


@needs("node", "redocly", install=NPM)
def test_redocly(tmp_path):
    said = run("redocly", "lint", SPEC, "--config", HERE / "redocly.yaml", folder=tmp_path)
    assert "warning" not in said, said


@needs("node", "spectral", install=NPM)
def test_spectral(tmp_path):
    run("spectral", "lint", SPEC, "--ruleset", HERE / "spectral.yaml", "--fail-severity", "hint", folder=tmp_path)

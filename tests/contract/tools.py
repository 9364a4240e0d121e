"""The tools that the tests of the contract run, and what to install where they are absent."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEC = HERE.parent.parent / "openapi/openapi.json"
# The tools' scripts stand beside this Python; node modules are found from the folder they were installed in.
_FOLDERS = os.pathsep.join([str(Path(sys.executable).parent), str(HERE / "node_modules/.bin"), os.environ["PATH"]])
ENVIRONMENT = os.environ | {"PATH": _FOLDERS, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}

PIP = "pip install --editable '.[contract]'"
NPM = "npm install --prefix tests/contract"


def needs(*tools: str, install: str) -> pytest.MarkDecorator:
    """Skip a test where a tool that it runs is not there."""
    absent = [tool for tool in tools if not shutil.which(tool, path=_FOLDERS)]
    return pytest.mark.skipif(bool(absent), reason=f"{', '.join(absent)} not installed here: {install}")


def run(*command: object, folder: Path, **environment: str) -> str:
    """Run a tool and return what it prints; where it fails, fail with it."""
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ended.returncode == 0, f"{command[0]} ended with {ended.returncode}\n{ended.stdout[-10_000:]}"
    return ended.stdout

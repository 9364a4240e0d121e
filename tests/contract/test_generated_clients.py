"""Clients generated from the spec: each passes its type checker as it comes, and plays a game to its end."""

import re
import shutil
import sys

import pytest

from tests.contract.tools import HERE, NPM, PIP, SPEC, needs, run
from tests.server import serving

PLAYED = "lost after 21 moves, game_over, valid"


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with serving(folder) as url:
        yield url


@needs("openapi-generator-cli", "mypy", install=PIP)
def test_openapi_generator_for_python(tmp_path, server):
    generate = ["openapi-generator-cli", "generate", "--input-spec", SPEC, "--generator-name", "python"]
    run(*generate, "--additional-properties", "packageName=montecarlo_client", folder=tmp_path)
    python(tmp_path, "openapi_generator.py", server, "montecarlo_client")


@needs("openapi-python-client", "mypy", install=PIP)
def test_openapi_python_client(tmp_path, server):
    said = run(
        "openapi-python-client",
        "generate",
        "--path",
        SPEC,
        "--meta",
        "none",
        "--output-path",
        "montecarlo_client",
        folder=tmp_path,
    )
    faults = re.findall(r"^WARNING .*\n\n(.*)", said, re.MULTILINE)
    # What it leaves out and says so: answers in these forms, and bodies of text. All else must be there.
    assert all(
        re.search(r"Unsupported content.type (image/svg\+xml|application/x-ndjson|text/plain)\b", fault)
        for fault in faults
    ), said
    # Its client.py is the same for every spec, and has faults of its own.
    python(tmp_path, "openapi_python_client.py", server, "montecarlo_client/api", "montecarlo_client/models")


def python(folder, player, server, *generated):
    """Check the types of generated code and of a player that uses it, and let it play."""
    shutil.copy(HERE / "players" / player, folder)
    mypy = ["mypy", "--config-file", "", "--cache-dir", folder / "mypy", "--follow-imports", "silent"]
    run(*mypy, *generated, folder=folder)
    run(*mypy, "--strict", player, folder=folder)
    assert run(sys.executable, player, server, folder=folder, PYTHONPATH="").strip() == PLAYED


@needs("openapi-generator-cli", install=PIP)
@needs("node", "tsc", install=NPM)
def test_openapi_generator_for_typescript(tmp_path, server):
    generate = ["openapi-generator-cli", "generate", "--input-spec", SPEC, "--generator-name", "typescript-fetch"]
    run(*generate, "--output", "client", "--additional-properties", "importFileExtension=.js", folder=tmp_path)
    typescript(tmp_path, "typescript_fetch", server)


@needs("node", "tsc", "openapi-typescript", install=NPM)
def test_openapi_typescript(tmp_path, server):
    run("openapi-typescript", SPEC, "--output", "client.d.ts", folder=tmp_path)
    typescript(tmp_path, "openapi_typescript", server)


def typescript(folder, player, server):
    """Compile generated code and a player that uses it, as strictly as can be, and let it play."""
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    for name in (f"{player}.ts", "tsconfig.json"):
        shutil.copy(HERE / "players" / name, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    run("tsc", "--project", ".", folder=folder)
    assert run("node", f"compiled/{player}.js", server, folder=folder).strip() == PLAYED

"""The types of the page's modules: checked by TypeScript against the types that openapi-typescript makes of the spec."""

import shutil
from pathlib import Path

import pytest

from tests.contract.tools import NPM, SPEC, needs, run

MODULES = Path(__file__).parent.parent.parent / "service" / "web" / "table"


def check(folder):
    """Let TypeScript check the modules in a folder."""
    strict = ("--allowJs", "--checkJs", "--noEmit", "--strict", "--noUnusedLocals", "--noUnusedParameters")
    modern = ("--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler")
    run("tsc", *strict, *modern, "--lib", "esnext,dom,dom.iterable", *folder.glob("*.js"), folder=folder)


@needs("node", "tsc", "openapi-typescript", install=NPM)
def test_every_module_has_the_types_of_the_spec(tmp_path):
    for module in MODULES.glob("*.js"):
        shutil.copy(module, tmp_path)
    run("openapi-typescript", SPEC, "--output", "api.d.ts", folder=tmp_path)
    check(tmp_path)
    with (tmp_path / "client.js").open("a") as client:
        client.write("\n/** @type {Game} */\nexport const none = {};\n")
    with pytest.raises(AssertionError, match=r"client\.js"):
        check(tmp_path)

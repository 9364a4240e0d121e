"""The README: its game in curl is played as written, against a server started for it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.server import MONTECARLO, serving

README = (Path(__file__).parent.parent / "README.md").read_text()


def session():
    """Return the commands of the README's console blocks, each with the output it shows."""
    steps = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return [(command, "\n".join(shown)) for command, shown in steps]


@pytest.mark.skipif(
    not shutil.which("curl"), reason="curl is not installed here; the game in the README is played with it"
)
def test_the_game_in_curl(tmp_path):
    with serving(tmp_path) as url:
        script = ["shopt -s expand_aliases", f"PATH={Path(MONTECARLO).parent}:$PATH"]
        for command, _ in session():
            script += [command.replace("localhost:8000", url.removeprefix("http://")), "printf '\\n#END\\n'"]
        ended = subprocess.run(
            ["bash"], input="\n".join(script), cwd=tmp_path, capture_output=True, text=True, check=True
        )
    # What a command shows of its progress is not for a page.
    assert all(line.startswith("monte-carlo, first") for line in ended.stderr.splitlines()), ended.stderr
    outputs = [output.strip() for output in ended.stdout.split("#END\n")[:-1]]
    assert len(outputs) == len(session()) > 8
    for (command, shown), output in zip(session(), outputs, strict=True):
        pattern = ".*".join(re.escape(part) for part in shown.split("..."))
        assert re.fullmatch(pattern, output, re.DOTALL), f"{command}\nshows\n{shown}\nbut gave\n{output}"


def test_the_two_commands_are_there():
    assert "    python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/montecarlo serve\n" in README
    assert "    python3 -m venv .venv && .venv/bin/pip install --editable '.[test]' && .venv/bin/pytest\n" in README


def test_links_lead_somewhere():
    root = Path(__file__).parent.parent
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (root / target).exists(), target


def test_the_pages_it_names_are_there(client):
    pages = re.findall(r"http://localhost:8000(/(?:docs[\w/-]*)?)[)>]", README)
    assert len(pages) >= 6
    for page in pages:
        assert client.get(page, follow_redirects=True).status_code == 200, page

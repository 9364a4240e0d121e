"""A browser on a real server, for the tests of the page."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.server import serving

try:
    from playwright import sync_api as playwright
except ImportError:
    playwright = None  # type: ignore[assignment]

CHROMIUM = os.environ.get("TEST_CHROMIUM") or shutil.which("chromium")
PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    if playwright is None:
        pytest.skip("the page is tested in a browser that playwright drives: pip install --editable '.[browser]'")
    if not CHROMIUM:
        pytest.skip("the page is tested in Chromium: on Debian apt-get install chromium, or set TEST_CHROMIUM")
    playwright.expect.set_options(timeout=15_000)  # machines that do much else are slow
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    with serving(tmp_path_factory.mktemp("table"), workers="1") as url:
        yield f"{url}/"


@pytest.fixture
def visit(browser: Any, server: str) -> Iterator[Any]:
    """Make visitors: each has a browser profile of its own, and no page of theirs may complain."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def visit(**options: Any) -> "Visitor":
            context = browser.new_context(reduced_motion="reduce", **options)
            context.set_default_timeout(20_000)
            stack.callback(context.close)
            context.on("weberror", lambda error: complaints.append(str(error.error)))
            context.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
            context.on("request", lambda request: _stays_here(request.url, server, complaints))
            return Visitor(context, server)

        yield visit
    assert complaints == []


def _is_complaint(message: Any) -> bool:
    # The browser notes every refusal and every lost connection as an error of its own.
    return message.type == "error" and "Failed to load resource" not in message.text


def _stays_here(url: str, server: str, complaints: list[str]) -> None:
    if not url.startswith((server, "blob:", "data:", "http://prefixed.test/")):
        complaints.append(f"a request to {url}")


def expect(shown: Any) -> Any:
    """Return what waits until the page shows so."""
    return playwright.expect(shown)


class Visitor:
    """Somebody at a page."""

    def __init__(self, context: Any, server: str) -> None:
        self.context, self.server = context, server
        self.page = context.new_page()

    def open(self, hash: str = "") -> "Visitor":
        """Open the page and wait for its cards."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.server}{hash}")
        self.page.wait_for_selector("#board .card")
        return self

    def open_deal(self, deal: str = "pysol:24", variant: str = "monte-carlo") -> "Visitor":
        """Open a new game of a deal."""
        self.open(f"#variant={variant}&deal={deal}")
        self.page.wait_for_url("**/#game=*")
        return self

    def open_secret(self) -> "Visitor":
        """Open a new game as visitors get it; one in thirty has no move to begin with, and another is dealt."""
        self.open("#new")
        self.page.wait_for_url("**/#game=*")
        return self if self.ask(f"v1/games/{self.game}")["legal_moves"] else self.open_secret()

    @property
    def game(self) -> str:
        """The id of the game on the page."""
        return re.search(r"game=([\w-]+)", self.page.url)[1]

    def cell(self, row: int, column: int) -> Any:
        """A cell of the board."""
        return self.page.locator(f"#board > :nth-child({row}) > :nth-child({column})")

    def cards(self) -> list[str | None]:
        """The cards on the board in reading order, None for gaps."""
        script = "all => all.map(cell => cell.querySelector('.card:not(.leaving)')?.dataset.card ?? null)"
        return self.page.locator("[role=gridcell]").evaluate_all(script)

    def choose(self, *cells: tuple[int, int], tap: bool = False) -> None:
        """Choose cells by mouse or touch."""
        for cell in cells:
            (self.cell(*cell).tap if tap else self.cell(*cell).click)()

    def expect(self, text: str) -> None:
        """Wait until the page says so."""
        expect(self.page.locator("#said")).to_contain_text(text)

    def count(self, name: str, number: int) -> None:
        """Wait until a counter shows a number."""
        expect(self.page.locator(f"#{name} dd")).to_have_text(str(number))

    def answered(self) -> None:
        """Wait until no move is under way."""
        expect(self.page.locator("#board")).to_have_attribute("aria-busy", "false")
        self.until("!Object.keys(localStorage).some(name => name.startsWith('montecarlo.pending.'))")

    def until(self, script: str) -> None:
        """Wait until a script says so; the page's policy forbids the driver's own way, which evaluates text."""
        for _ in range(200):
            if self.page.evaluate(script):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(script)

    def menu(self, button: str) -> None:
        """Press a button of the menu."""
        self.page.click("#menu-button")
        self.page.click(f"#{button}")

    def ask(self, path: str, body: Any = None, token: str | None = None) -> Any:
        """Ask the API."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self.server}{path}", data, headers)) as response:
            return json.load(response)

    def finished_game(self, deal: str = "24") -> str:
        """Play a game over the API, the first legal move each time, to its end, and return its id."""
        game = self.ask("v1/games", {"deal": {"kind": "pysol", "number": deal}})
        id, token = game["id"], game["token"]
        while game["legal_moves"]:
            move = {name: game["legal_moves"][0][name] for name in ("type", "cells")}
            game = self.ask(f"v1/games/{id}/moves", {"moves": [move]}, token)["game"]
        if game["status"] == "blocked":
            self.ask(f"v1/games/{id}/moves", {"moves": [{"type": "resign"}]}, token)
        return id


def solution(visitor: Visitor, kind: str, number: str, variant: str) -> Any:
    """Return moves that win a deal, in the API's words."""
    deal = visitor.ask("v1/deals", {"kind": kind, "number": number, "variant": variant})
    found = visitor.ask(f"v1/deals/{deal['id']}/solution?variant={variant}")
    assert found["verdict"] == "winnable"
    return [(move["type"], [(cell["row"], cell["column"]) for cell in move["cells"]]) for move in found["solution"]]


VECTORS = Path(__file__).parent.parent.parent / "openapi" / "vectors"

"""What the page costs: `python -m tests.bench.page [ROUNDS]`, in Chromium, beside a bare page of the same server.

Weight and requests up to the first cards, the time until they can be chosen, and the longest task in a whole game
played by clicks, on this machine and with its processor slowed to a quarter.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.server import serving

# Tasks above 50 ms are told by the browser itself; the others are seen by how late a timer comes.
WATCH = """
    window.longest = 0;
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) longest = Math.max(longest, duration); })
        .observe({ type: 'longtask' });
"""
READY = "() => document.querySelector('#about')?.textContent.includes('deal 24') ? performance.now() : 0"


def load(browser: Browser, url: str, bare: bool) -> dict[str, float]:
    """Open a page in a new profile and say what came, and when it was ready (the bare one: when it was loaded)."""
    context = browser.new_context(bypass_csp=True)
    page, came = context.new_page(), []
    page.on("requestfinished", lambda request: came.append(request))
    page.goto(f"{url}/healthz" if bare else f"{url}/#variant=monte-carlo&deal=pysol:24")
    if bare:
        ready = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    else:
        ready = page.wait_for_function(READY).json_value()
    sizes = [request.sizes() for request in came]
    context.close()
    return {
        "requests": len(came),
        "bytes": sum(size["responseBodySize"] for size in sizes),
        "ready": ready,
    }


def play(browser: Browser, url: str, slower: int) -> dict[str, float]:
    """Play a game by clicks and say what the longest task was."""
    context = browser.new_context(bypass_csp=True)
    page: Any = context.new_page()
    page.add_init_script(WATCH)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(f"{url}/#variant=monte-carlo&deal=pysol:24")
    page.wait_for_function(READY)
    page.evaluate("longest = 0")
    clicks = 0
    while page.locator("#hint").is_enabled() and clicks < 120:
        game = page.evaluate("fetch('v1/games/' + location.hash.slice(6)).then(answer => answer.json())")
        move = game["legal_moves"][0]
        cells = [page.locator(f"#board > :nth-child({c['row']}) > :nth-child({c['column']})") for c in move["cells"]]
        for target in cells or [page.locator("#deal")]:
            target.click()
            clicks += 1
        page.wait_for_function("!Object.keys(localStorage).some(name => name.startsWith('montecarlo.pending.'))")
        page.wait_for_timeout(500)  # the cards come to rest
    longest = page.evaluate("longest")
    context.close()
    return {"clicks": clicks, "longest": longest}


def main(rounds: int = 5) -> None:
    """Print the figures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as url,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        load(browser, url, bare=False)  # the server's first answers are slower
        pages = [load(browser, url, bare=False) for _ in range(rounds)]
        bare = [load(browser, url, bare=True) for _ in range(rounds)]
        ready, floor = (statistics.median(each["ready"] for each in them) for them in (pages, bare))
        print(f"to the first cards: {pages[0]['requests']} requests, {pages[0]['bytes'] / 1000:.1f} kB")
        print(f"ready to play after {ready:.0f} ms, a bare answer after {floor:.0f} ms: ratio {ready / floor:.1f}")
        for slower in (1, 4):
            played = play(browser, url, slower)
            told = f"{played['longest']:.0f} ms" if played["longest"] else "under 50 ms"
            print(f"longest task in {played['clicks']} clicks, processor at 1/{slower}: {told}")
        browser.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

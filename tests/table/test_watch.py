"""Watching, looking back, and checking logs at the table."""

import json

import pytest

from service.engine.audit import audit
from service.engine.errors import Unreadable
from tests.bench.mutations import mutated
from tests.logs import KEYS
from tests.table.conftest import VECTORS, expect


def test_a_game_is_watched_live_by_its_link(visit):
    player, watcher = visit().open_deal("pysol:24"), visit()
    watcher.open(f"#game={player.game}")
    watcher.expect("You are watching")
    expect(watcher.page.locator("#actions")).to_be_hidden()
    player.choose((1, 5), (2, 4))
    watcher.count("removed", 2)
    watcher.choose((4, 4), (5, 3))
    player.page.click("#deal")
    watcher.count("stock", 25)
    assert watcher.cards() == player.cards()
    assert watcher.ask(f"v1/games/{player.game}")["version"] == 4, "who watches moves nothing"


def test_a_private_game_is_not_watched(visit):
    player, watcher = visit().open_deal(), visit()
    player.page.click("#new-button")
    player.page.check("#private")
    player.page.click("#new-game .main")
    player.count("left", 52)
    expect(player.page.locator("#about")).to_have_text("Monte Carlo")
    watcher.page.goto(f"{watcher.server}#game={player.game}")
    watcher.expect("There is no game")


def test_a_game_is_looked_back_on(visit):
    visitor = visit()
    game = visitor.finished_game()
    last = visitor.ask(f"v1/games/{game}")
    visitor.open(f"#game={game}&at=1")
    visitor.count("left", 52)
    said = visitor.page.locator("#replay .said")
    visitor.page.click("[aria-label=Forward]")
    expect(said).to_contain_text(f"2 of {last['version']}: Removed")
    visitor.count("left", 50)
    visitor.page.locator("[aria-label=Version]").fill("5")
    expect(said).to_contain_text("5 of")
    assert visitor.page.url.endswith("&at=5")
    visitor.page.click("[aria-label=Last]")
    visitor.count("left", last["cards_left"])
    visitor.page.locator("#side li button").nth(2).click()
    expect(said).to_contain_text("3 of")
    expect(visitor.page.locator("#side [aria-current]")).to_have_count(1)
    visitor.page.select_option("[aria-label=Speed]", "250")
    visitor.page.click("[aria-label=Play]")
    expect(said).to_contain_text(f"{last['version']} of", timeout=20_000)
    expect(visitor.page.locator("[aria-label=Play]")).to_be_visible()
    visitor.page.get_by_role("button", name="Back to the game").click()
    visitor.expect("You are watching")


def test_hindsight_shows_where_it_was_thrown_away_and_plays_the_line_that_wins(visit):
    visitor = visit()
    game = visitor.finished_game()
    thrown = visitor.ask(f"v1/games/{game}/analysis")["thrown_away"]
    visitor.open(f"#game={game}&at=1")
    verdict = visitor.page.locator(".verdict")
    expect(verdict).to_contain_text(f"It could be won up to version {thrown['version']}")
    assert "gradient" in visitor.page.locator(".strip").evaluate("strip => strip.style.background")
    visitor.page.get_by_role("button", name="Show where").click()
    expect(visitor.page.locator("#replay .said")).to_contain_text(f"{thrown['version']} of")
    visitor.page.get_by_role("button", name="Play the line that wins").click()
    expect(visitor.page.locator(".strip")).to_be_hidden()  # the scrubber is over the line now
    visitor.page.get_by_role("button", name="Last").click()
    visitor.count("left", 0)
    assert visitor.cards() == [None] * 25


def test_the_game_on_the_table_is_verified(visit):
    visitor = visit().open()
    visitor.menu("verify-button")
    dialog = visitor.page.locator("#verify")
    expect(dialog).to_contain_text("right in every event")
    expect(dialog).to_contain_text("is the one this browser was given")
    expect(dialog).to_contain_text("This server signed this log")
    visitor.page.click("#verify .main")
    visitor.menu("resign")
    visitor.page.click("#ask-yes")
    visitor.expect("Over")
    visitor.menu("verify-button")
    expect(dialog).to_contain_text("opens the commitment, and gives these cards")
    expect(visitor.page.locator("#verify li.good")).to_have_count(5)


def test_a_log_dropped_on_the_page_is_verified(visit):
    visitor = visit()
    log = visitor.ask(f"v1/games/{visitor.finished_game()}/log")
    visitor.open_deal()
    drop(visitor, "good.json", json.dumps(log))
    said = visitor.page.locator("#verify [role=status]")
    expect(said).to_have_text("good.json: right in every event.")
    visitor.page.click("#verify .main")
    log["events"][1]["data"]["cards"] = ["2D", "2H"]
    drop(visitor, "false.json", json.dumps(log))
    expect(said).to_have_text("false.json: false.")
    expect(visitor.page.locator("#verify li.bad").first).to_contain_text("Event 2 By the rules something else happened")
    visitor.page.locator("#log-file").set_input_files(
        {"name": "none.json", "mimeType": "application/json", "buffer": b"[Variant]"}
    )
    expect(said).to_contain_text("This file is no JSON")


def drop(visitor, name, text):
    """Drop a file on the page."""
    visitor.page.evaluate(
        """([name, text]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], name));
            document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [name, text],
    )


def in_page(visitor, module, script, given):
    """Run a function on a module of the page, where it runs for visitors."""
    folder = visitor.page.locator("link[rel=icon]").get_attribute("href").rpartition("/")[0]
    return visitor.page.evaluate(
        f"async ([path, given]) => {{ const module = await import(path); return ({script})(module, given); }}",
        [f"{visitor.server}{folder}/{module}", given],
    )


@pytest.mark.parametrize("name", ["logs-valid.json", "logs-false.json"])
def test_both_implementations_agree_on_every_log(visit, name):
    found = json.loads((VECTORS / name).read_text())
    script = """async ({ verify }, { logs, keys }) => Promise.all(logs.map(async ({ log }) => {
        const { valid, authentic, finished, revealed, checked, fault, unchecked } = await verify(log, keys);
        const short = fault && { version: fault.version, code: fault.code };
        return { valid, authentic, finished, revealed, checked, fault: short, unchecked };
    }))"""
    verdicts = in_page(visit().open_deal(), "verify.js", script, found)
    assert len(verdicts) > 15
    for entry, verdict in zip(found["logs"], verdicts, strict=True):
        assert verdict == entry["verdict"], entry["name"]


def whole_numbers(value):
    """Say whether all numbers are whole: JSON in a browser cannot tell 1.0 from 1."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not isinstance(value, float) and all(map(whole_numbers, parts))


def test_both_implementations_agree_on_mutated_logs(visit):
    logs = [log for _, _, log in mutated(400, "both") if whole_numbers(log)]
    script = """async ({ verify }, { logs, keys }) => Promise.all(logs.map((log) => verify(log, keys).then(
        ({ valid, authentic, checked, fault }) => [valid, authentic, checked, fault?.version ?? 0, fault?.code ?? ''],
        (error) => error.message.startsWith('This is no log') ? 'unreadable' : error.stack)))"""
    found = in_page(visit().open_deal(), "verify.js", script, {"logs": logs, "keys": KEYS.jwks})
    for log, verdict in zip(logs, found, strict=True):
        try:
            said = audit(log, KEYS)
        except Unreadable:
            assert verdict == "unreadable"
            continue
        fault = (said.fault.version, said.fault.code) if said.fault else (0, "")
        assert verdict == [said.valid, said.authentic, said.checked, *fault]
    assert "unreadable" in found


def test_both_implementations_agree_on_every_deal_and_hash(visit):
    visitor = visit().open_deal()
    listed = [deal for deal in json.loads((VECTORS / "deals.json").read_text())["deals"] if deal["kind"] != "deck"]
    script = """async ({ v1Order, pysolOrder, numberSeed }, deals) => Promise.all(deals.map(async (deal) => {
        if (deal.kind === 'pysol') return pysolOrder(deal, BigInt(deal.number)).join(' ');
        const seed = deal.seed ?? (await numberSeed(deal.number));
        return (await v1Order(deal, seed, deal.client_seed ?? '')).join(' ');
    }))"""
    assert in_page(visitor, "deals.js", script, listed) == [deal["cards"] for deal in listed]
    made = json.loads((VECTORS / "commitments.json").read_text())["commitments"]
    script = "async ({ commitment }, all) => Promise.all(all.map(({ seed }) => commitment(seed)))"
    assert in_page(visitor, "deals.js", script, made) == [entry["commitment"] for entry in made]
    events = json.loads((VECTORS / "events.json").read_text())["events"]
    script = """async ({ canonical, eventHash }, all) =>
        Promise.all(all.map(async ({ event }) => [canonical(event), await eventHash(event)]))"""
    assert in_page(visitor, "verify.js", script, events) == [[e["canonical"], e["hash"]] for e in events]

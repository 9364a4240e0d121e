"""Whoever plays: no page has a fault that axe can find, and changes are announced."""

import pytest

from tests.table.conftest import PHONE, expect

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe is not installed here: pip install --editable '.[browser]'"
)


def check(visitor):
    """Let axe look at the page as it is."""
    found = axe.Axe().run(
        visitor.page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    )
    faults = [(fault["id"], [node["html"][:160] for node in fault["nodes"]]) for fault in found.response["violations"]]
    assert faults == []
    assert len(found.response["passes"]) > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [PHONE, {"viewport": {"width": 1440, "height": 900}}], ids=["phone", "desk"])
def test_every_page_is_clean(visit, scheme, screen):
    visitor = visit(color_scheme=scheme, **screen)
    game = visitor.finished_game()
    visitor.open_deal("pysol:24")
    visitor.choose((1, 5), (2, 4))
    visitor.choose((1, 1), (1, 3))
    visitor.expect("not a pair by these rules")
    visitor.page.click("#hint")
    visitor.expect("Chance to win")
    check(visitor)
    visitor.page.click("#menu-button")
    check(visitor)
    visitor.page.click("#settings-button")
    check(visitor)
    visitor.page.click("#settings .main")
    visitor.page.click("#new-button")
    visitor.page.check("input[value=pysol]")
    check(visitor)
    visitor.page.click("#new-game .cancel")
    visitor.menu("resign")
    check(visitor)
    visitor.page.click("#ask-yes")
    visitor.expect("Over")
    check(visitor)
    visitor.menu("verify-button")
    expect(visitor.page.locator("#verify")).to_contain_text("right in every event")
    check(visitor)
    visitor.open(f"#game={game}")
    visitor.expect("You are watching")
    check(visitor)
    visitor.open(f"#game={game}&at=9")
    expect(visitor.page.locator(".verdict")).to_contain_text("won")
    check(visitor)


def test_what_happens_is_announced(visit):
    visitor = visit().open_deal("pysol:24")
    expect(visitor.page.locator("#said")).to_have_attribute("role", "status")
    visitor.choose((1, 5), (2, 4))
    visitor.expect("Removed two of diamonds and two of clubs. 3 pairs in sight.")
    expect(visitor.cell(1, 1)).to_have_accessible_name("four of clubs")
    expect(visitor.cell(1, 5)).to_have_accessible_name("empty")
    visitor.page.click("#deal")
    visitor.expect("Dealt 2 cards")
    visitor.page.click("#undo")
    visitor.expect("Taken back")


def test_one_stop_of_tab_for_the_board(visit):
    visitor = visit().open_deal("pysol:24")
    expect(visitor.page.locator("#board [tabindex='0']")).to_have_count(1)
    visitor.cell(3, 3).click()
    expect(visitor.page.locator("#board [tabindex='0']")).to_have_count(1)
    keys = visitor.page.keyboard
    keys.press("Control+End")
    expect(visitor.cell(5, 5)).to_be_focused()
    keys.press("Home")
    expect(visitor.cell(5, 1)).to_be_focused()
    keys.press("Escape")
    expect(visitor.page.locator("[aria-selected=true]")).to_have_count(0)
    visitor.choose((1, 5), (2, 4))
    visitor.count("removed", 2)
    keys.press("c")
    visitor.count("stock", 25)
    keys.press("u")
    visitor.count("stock", 27)

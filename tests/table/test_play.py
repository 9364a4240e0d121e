"""Playing at the table: with the mouse, with keys alone, by touch, and over a bad line."""

import re

import pytest

from tests.table.conftest import PHONE, expect, solution


def test_a_visitor_plays_at_once(visit):
    visitor = visit().open()
    expect(visitor.page.locator("#said")).to_contain_text(re.compile("Remove touching pairs of equal rank|Blocked"))
    visitor.count("stock", 27)
    assert len(set(visitor.cards())) == 25
    game = visitor.ask(f"v1/games/{visitor.game}")
    assert [card for row in game["grid"] for card in row] == visitor.cards()
    assert game["deal"]["fairness"] == "joint", "neither side knew the cards"


def test_to_a_win_with_the_mouse(visit):
    visitor = visit().open_deal("pysol:24")
    for type, cells in solution(visitor, "pysol", "24", "monte-carlo"):
        if type == "remove":
            visitor.choose(*cells)
        else:
            visitor.page.click("#deal")
            visitor.answered()
    visitor.expect("Won")
    visitor.count("left", 0)
    assert visitor.ask(f"v1/games/{visitor.game}")["status"] == "won"
    expect(visitor.page.locator("#ended")).to_be_visible()


def test_to_a_win_with_keys_alone(visit):
    visitor = visit().open_deal("numbered:1", "simple-carlo")
    keys = visitor.page.keyboard
    while visitor.page.evaluate("document.activeElement.role") != "gridcell":
        keys.press("Tab")
    at = (1, 1)
    for _, cells in solution(visitor, "numbered", "1", "simple-carlo"):
        for cell in cells:
            for axis, forward, back in ((0, "ArrowDown", "ArrowUp"), (1, "ArrowRight", "ArrowLeft")):
                for _ in range(abs(cell[axis] - at[axis])):
                    keys.press(forward if cell[axis] > at[axis] else back)
            at = cell
            assert visitor.cell(*at).evaluate("cell => cell === document.activeElement")
            keys.press("Enter")
        visitor.answered()
    visitor.expect("Won")


def test_on_a_phone_by_touch(visit):
    visitor = visit(**PHONE).open_deal("pysol:3", "monte-carlo-thirteens")
    width = visitor.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, "nothing sticks out"
    for button in visitor.page.locator("button:visible, [role=gridcell]").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 40
        assert box["y"] + box["height"] <= 640, "all is in sight"
    removed = 0
    for _ in range(4):
        game = visitor.ask(f"v1/games/{visitor.game}")
        move = game["legal_moves"][0]
        if move["type"] == "remove":
            visitor.choose(*((cell["row"], cell["column"]) for cell in move["cells"]), tap=True)
            removed += len(move["cells"])
        else:
            visitor.page.tap("#deal")
        visitor.count("removed", removed)
        visitor.answered()


def test_a_choice_that_is_not_legal_is_told_why(visit):
    visitor = visit().open_deal("pysol:24")
    visitor.choose((1, 2), (1, 4))
    visitor.expect("5♥ and 5♦ do not touch; rows do not wrap.")
    visitor.choose((1, 1))
    visitor.expect("not a pair by these rules")
    expect(visitor.cell(1, 1)).to_have_attribute("aria-selected", "true")
    visitor.choose((1, 1))
    expect(visitor.cell(1, 1)).to_have_attribute("aria-selected", "false")
    assert visitor.ask(f"v1/games/{visitor.game}")["version"] == 1


def test_undo_redo_and_a_reload_in_the_middle(visit):
    visitor = visit().open_deal("pysol:24")
    dealt = visitor.cards()
    expect(visitor.page.locator("#undo")).to_be_disabled()
    visitor.choose((1, 5), (2, 4))
    visitor.page.click("#deal")
    visitor.count("stock", 25)
    closed = visitor.cards()
    visitor.open()
    visitor.expect("Your game goes on")
    assert visitor.cards() == closed
    visitor.page.click("#undo")
    visitor.count("stock", 27)
    visitor.page.click("#undo")
    visitor.count("left", 52)
    assert visitor.cards() == dealt
    expect(visitor.page.locator("#undo")).to_be_disabled()
    visitor.page.click("#redo")
    visitor.count("left", 50)
    visitor.page.click("#redo")
    visitor.count("stock", 25)
    assert visitor.cards() == closed
    expect(visitor.page.locator("#redo")).to_be_disabled()


def test_a_hint_names_a_move_and_its_chance(visit):
    visitor = visit().open_deal("pysol:24")
    visitor.page.click("#hint")
    visitor.expect("Chance to win")
    hinted = visitor.page.locator(".hinted")
    expect(hinted).to_have_count(2)
    for cell in hinted.all():
        cell.click()
    visitor.count("removed", 2)
    assert visitor.ask(f"v1/games/{visitor.game}")["assistance"]["hints"] == 1


def test_resigning_shows_the_deal_and_the_same_cards_can_be_had_again(visit):
    visitor = visit().open_secret()
    dealt, game = visitor.cards(), visitor.game
    visitor.menu("resign")
    visitor.page.click("#ask .cancel")
    visitor.menu("resign")
    visitor.page.click("#ask-yes")
    visitor.expect("Over, with 52 cards left")
    visitor.page.click("#same")
    visitor.page.wait_for_url(lambda url: game not in url)
    assert visitor.cards() == dealt
    visitor.choose(*next_removal(visitor))
    visitor.count("removed", 2)


def next_removal(visitor):
    """Return the cells of the first legal removal."""
    move = visitor.ask(f"v1/games/{visitor.game}")["legal_moves"][0]
    return [(cell["row"], cell["column"]) for cell in move["cells"]]


def test_a_secret_deal_is_restarted_by_taking_all_back(visit):
    visitor = visit().open_secret()
    dealt = visitor.cards()
    visitor.choose(*next_removal(visitor))
    visitor.answered()
    visitor.page.click("#deal")
    visitor.count("stock", 25)
    visitor.menu("restart")
    visitor.page.click("#ask-yes")
    visitor.count("left", 52)
    assert visitor.cards() == dealt


def test_a_new_game_of_another_kind_by_its_number(visit):
    visitor = visit().open_deal()
    visitor.page.click("#new-button")
    visitor.page.select_option("#variant", label="Thirteens")
    visitor.page.check("input[value=numbered]")
    visitor.page.fill("#number", "617")
    visitor.page.click("#new-game .main")
    visitor.count("stock", 42)
    expect(visitor.page.locator("#about")).to_contain_text("Thirteens · deal 617")
    expect(visitor.page.locator("#deal")).to_be_hidden()
    visitor.page.click("#new-button")
    visitor.page.check("input[value=pysol]")
    visitor.page.fill("#number", "0")
    visitor.page.click("#new-game .main")
    visitor.expect("The number of a pysol deal is")


def test_while_offline_moves_are_kept_and_sent_afterwards(visit):
    visitor = visit().open_deal("pysol:24")
    visitor.context.set_offline(True)
    visitor.choose((1, 5), (2, 4))
    visitor.count("removed", 2)
    expect(visitor.page.locator("#line")).to_be_visible()
    visitor.choose((4, 4), (5, 3))
    visitor.count("removed", 4)
    assert visitor.ask(f"v1/games/{visitor.game}")["removed"] == 0
    visitor.context.set_offline(False)
    expect(visitor.page.locator("#line")).to_be_hidden()
    visitor.answered()
    assert visitor.ask(f"v1/games/{visitor.game}")["removed"] == 4


@pytest.mark.parametrize("lost", ["the request", "the answer"])
def test_what_gets_lost_is_sent_again_and_done_once(visit, lost):
    visitor = visit().open_deal("pysol:24")
    visitor.choose((1, 5), (2, 4))
    visitor.choose((4, 4), (5, 3))
    visitor.answered()
    keys = []

    def lose(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) > 1:
            return route.continue_()
        if lost == "the answer":
            route.fetch()
        return route.abort()

    visitor.context.route("**/moves", lose)
    visitor.page.click("#undo")
    visitor.count("removed", 2)
    visitor.answered()
    assert len(keys) == 2
    assert keys[0] == keys[1]
    game = visitor.ask(f"v1/games/{visitor.game}")
    assert (game["removed"], game["assistance"]["undos"]) == (2, 1)


def test_moves_left_unsent_go_out_at_the_next_visit(visit):
    visitor = visit().open_deal("pysol:24")
    visitor.context.route("**/moves", lambda route: route.abort())
    visitor.choose((1, 5), (2, 4))
    visitor.count("removed", 2)
    visitor.until("Object.keys(localStorage).some(name => name.startsWith('montecarlo.pending.'))")
    visitor.context.unroute("**/moves")
    visitor.open()
    visitor.count("removed", 2)
    assert visitor.ask(f"v1/games/{visitor.game}")["version"] == 2


def test_on_a_slow_line_cards_go_at_once(visit):
    visitor = visit().open_deal("pysol:24")
    held = []
    visitor.context.route("**/moves", lambda route: route.continue_() if held else held.append(route))
    for pair in ([(1, 5), (2, 4)], [(4, 4), (5, 3)], [(3, 4), (4, 5)]):
        visitor.choose(*pair)
    visitor.count("removed", 6)
    visitor.page.click("#deal")
    expect(visitor.page.locator("#board")).to_have_attribute("aria-busy", "true")
    held[0].continue_()
    visitor.answered()
    visitor.count("stock", 21)
    assert [e["type"] for e in visitor.ask(f"v1/games/{visitor.game}/events")["items"]] == [
        "dealt", "removed", "removed", "removed", "compacted", "refilled",
    ]  # fmt: skip


def test_a_window_that_is_behind_is_told_and_shows_how_it_stands(visit):
    visitor = visit().open_deal("pysol:24")
    behind = visitor.context.new_page()
    behind.add_init_script("window.BroadcastChannel = class { postMessage() {} close() {} }")
    behind.goto(visitor.page.url)
    behind.wait_for_selector("#board .card")
    expect(behind.locator("#said")).to_contain_text("Your game goes on")
    visitor.choose((1, 5), (2, 4))
    visitor.answered()
    for place in (18, 22):
        behind.locator("[role=gridcell]").nth(place).click()
    expect(behind.locator("#said")).to_contain_text("went on in another window")
    expect(behind.locator("#removed dd")).to_have_text("2")
    assert visitor.ask(f"v1/games/{visitor.game}")["version"] == 2


def test_two_windows_on_one_game(visit):
    visitor = visit().open_deal("pysol:24")
    other = visitor.context.new_page()
    other.goto(visitor.page.url)
    other.wait_for_selector("#board .card")
    visitor.choose((1, 5), (2, 4))
    expect(other.locator("#removed dd")).to_have_text("2")
    other.click("#deal")
    visitor.count("stock", 25)
    expect(visitor.page.locator("#undo")).to_be_enabled()


@pytest.mark.parametrize("size", [0, 6])
def test_card_sizes_from_small_to_double(visit, size):
    visitor = visit().open_deal()
    normal = visitor.cell(1, 1).bounding_box()["width"]
    visitor.menu("settings-button")
    for _ in range(abs(size - 1)):
        visitor.page.click("#larger" if size else "#smaller")
    expect(visitor.page.locator("#size")).to_have_text("200%" if size else "90%")
    visitor.page.click("#settings .main")
    assert visitor.cell(1, 1).bounding_box()["width"] / normal == pytest.approx(2 if size else 0.9, rel=0.01)
    visitor.open()
    assert visitor.cell(1, 1).bounding_box()["width"] / normal == pytest.approx(2 if size else 0.9, rel=0.01)


def test_settings_are_remembered(visit):
    visitor = visit(color_scheme="light").open_deal()
    visitor.menu("settings-button")
    visitor.page.select_option("#theme", "dark")
    for box in ("four", "less", "sound"):
        visitor.page.check(f"#{box}")
    visitor.page.click("#settings .main")
    visitor.open()
    root = visitor.page.locator("html")
    expect(root).to_have_attribute("data-dark", "")
    expect(root).to_have_attribute("data-four", "")
    expect(root).to_have_attribute("data-motion", "less")
    colours = visitor.page.evaluate(
        "[...'CDHS'].map(suit => getComputedStyle(document.querySelector(`symbol .${suit}`)).fill)"
    )
    assert len(set(colours)) == 4


def test_cards_move_to_where_they_lie(visit):
    visitor = visit(**{"viewport": {"width": 800, "height": 700}})
    visitor.page.emulate_media(reduced_motion="no-preference")
    visitor.open_deal("pysol:24")
    visitor.until("document.getAnimations().length === 0")  # a card that is still on its way is easily missed
    visitor.choose((1, 5), (2, 4))
    visitor.page.click("#deal")
    visitor.count("stock", 25)
    moving = visitor.page.evaluate("document.getAnimations().length")
    assert moving > 10
    visitor.until("document.getAnimations().length === 0")
    assert visitor.page.locator(".leaving").count() == 0
    assert visitor.cards()[4] == "7H"


def test_behind_a_path_prefix(visit):
    visitor = visit()

    def forward(route):
        path = route.request.url.removeprefix("http://prefixed.test/games/montecarlo/")
        route.fulfill(response=route.fetch(url=f"{visitor.server}{path}"))

    visitor.context.route("http://prefixed.test/**", forward)
    visitor.page.goto("http://prefixed.test/games/montecarlo/#variant=monte-carlo&deal=pysol:24")
    visitor.page.wait_for_selector("#board .card")
    visitor.choose((1, 5), (2, 4))
    visitor.expect("Removed two of diamonds and two of clubs")

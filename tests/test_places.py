"""Places are given in turn, within the patience of who waits, and none is ever lost."""

import random
import threading
import time

from service.places import Places


def wait_for(number: int, places: Places) -> None:
    """Wait until so many stand in the queue."""
    while len(places._waiting) < number:
        time.sleep(0.001)


def test_who_waits_longest_gets_the_next_place() -> None:
    places, served = Places(1), []
    assert places.take(None)

    def wait(number: int) -> None:
        assert places.take(10)
        served.append(number)
        places.give_back()

    threads = []
    for number in range(8):
        threads.append(threading.Thread(target=wait, args=[number]))
        threads[-1].start()
        wait_for(number + 1, places)
    places.give_back()
    for thread in threads:
        thread.join()
    assert served == list(range(8))


def test_patience_ends() -> None:
    places = Places(1)
    assert places.take(0)
    start = time.monotonic()
    assert not places.take(0.05)
    assert 0.05 <= time.monotonic() - start < 1
    places.give_back()
    assert places.take(0)


def test_no_place_is_lost_or_made() -> None:
    places, at_once, most, gone = Places(3), 0, 0, 0
    guard = threading.Lock()

    def come_and_go(seed: int) -> None:
        nonlocal at_once, most, gone
        draw = random.Random(seed)
        for _ in range(200):
            if not places.take(draw.choice([0, 0.0001, 0.001, None])):
                with guard:
                    gone += 1
                continue
            with guard:
                at_once += 1
                most = max(most, at_once)
            if draw.random() < 0.2:
                time.sleep(0.0002)
            with guard:
                at_once -= 1
            places.give_back()

    threads = [threading.Thread(target=come_and_go, args=[seed]) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 3
    assert gone > 0
    assert [places.take(0) for _ in range(4)] == [True, True, True, False]

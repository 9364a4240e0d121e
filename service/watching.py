"""Watching: whoever follows a game is given its new events, wherever they were made.

One thread in each process asks the database for all who watch there, so a watcher costs a sleeping thread, and moves made by another process are seen as soon as those made by this one.
"""

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from service import store
from service.database import Database
from service.engine.log import Entry

_PAUSE = 0.2  # seconds between two looks at the database
_KEPT = 256  # events of a game kept for watchers that come a little later


@dataclass
class _Feed:
    """What is known of a game that somebody watches: the events after version `first`, as far as they came."""

    first: int
    entries: list[Entry] = field(default_factory=list)
    watchers: int = 0
    status: str = "playing"
    visibility: str = "public"
    news: threading.Condition = field(default_factory=threading.Condition)

    @property
    def version(self) -> int:
        return self.first + len(self.entries)

    @property
    def over(self) -> bool:
        return self.status in ("won", "lost")


class Watching:
    """All who watch games in this process, so many at most."""

    def __init__(self, database: Database, most: int) -> None:
        self._database = database
        self._places = threading.BoundedSemaphore(most)
        self._feeds: dict[UUID, _Feed] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._over = False

    def end(self) -> None:
        """End what everybody follows, since the process is about to."""
        self._over = True
        with self._lock:
            feeds = list(self._feeds.values())
        for feed in feeds:
            with feed.news:
                feed.news.notify_all()

    def take_place(self) -> bool:
        """Take a place to follow a game from, if one is free; whoever took it gives it back."""
        return self._places.acquire(blocking=False)

    def give_back_place(self) -> None:
        """Leave a place to others."""
        self._places.release()

    def follow(self, game: UUID, version: int, after: int, idle: float, *, owner: bool) -> Iterator[list[Entry]]:
        """Yield the events of a game, now at a version, after another as they happen, a few at a time.

        Nothing, every `idle` seconds, if none did. It ends with the game, with the process, and when the game is made
        private and the follower does not own it.
        """
        feed = self._enter(game, version)
        try:
            while True:
                with feed.news:
                    feed.news.wait_for(partial(self._has_news, feed, after), idle)
                    first, last, over, visibility = feed.first, feed.version, feed.over, feed.visibility
                    new = feed.entries[max(0, after - first) :]
                if self._over or (visibility == "private" and not owner):
                    return
                if after < first:  # the watcher is far behind; the database knows all
                    with self._database.reading() as connection:
                        new = store.load_entries(connection, game, after=after, limit=min(last - after, _KEPT))
                after = new[-1].version if new else after
                yield new
                if over and after == last:
                    return
        finally:
            self._leave(game, feed)

    def _has_news(self, feed: _Feed, after: int) -> bool:
        return self._over or feed.over or feed.version > after

    def _enter(self, game: UUID, version: int) -> _Feed:
        with self._lock:
            feed = self._feeds.setdefault(game, _Feed(version))
            feed.watchers += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._look_out, name="watching", daemon=True)
                self._thread.start()
        self._wake.set()
        return feed

    def _leave(self, game: UUID, feed: _Feed) -> None:
        with self._lock:
            feed.watchers -= 1
            if not feed.watchers:
                del self._feeds[game]

    def _look_out(self) -> None:
        """Look for news as long as anybody watches."""
        failing = False
        while True:
            self._wake.wait(_PAUSE)
            self._wake.clear()
            with self._lock:
                feeds = dict(self._feeds)
                if not feeds:
                    self._thread = None
                    return
            try:
                with self._database.reading() as connection:
                    states = list(store.load_states(connection, list(feeds)))
                for game, version, status, visibility in states:
                    self._look(game, feeds[game], version, status, visibility)
                failing = False
            except Exception:
                # Whatever it is, all who watch wait for this thread. It is told once, not five times a second.
                if not failing:
                    logging.getLogger(__name__).warning("games cannot be looked at; watchers wait", exc_info=True)
                failing = True

    def _look(self, game: UUID, feed: _Feed, version: int, status: str, visibility: str) -> None:
        """Take in what is new of a game."""
        try:
            new = []
            if version > feed.version:
                with self._database.reading() as connection:
                    new = store.load_entries(connection, game, after=feed.version, limit=version - feed.version)
        except Exception:
            # One game that cannot be read must not keep the others waiting.
            logging.getLogger(__name__).exception("game %s cannot be watched", game)
            return
        if new or (status, visibility) != (feed.status, feed.visibility):
            with feed.news:
                feed.entries += new
                gone = max(0, len(feed.entries) - _KEPT)
                feed.first, feed.entries = feed.first + gone, feed.entries[gone:]
                feed.status, feed.visibility = status, visibility
                feed.news.notify_all()

"""The table: a page to play, watch, replay and verify games, written against the public API alone."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from flask import Blueprint, Flask, Response, render_template, request, send_from_directory
from markupsafe import Markup

from service.api.problems import Problem
from service.engine.pictures import symbols

_FILES = Path(__file__).parent / "web" / "table"
# What the page needs to play; the other modules come when they are asked for.
_FIRST = ("board.js", "client.js", "keep.js", "play.js", "words.js")
# Scripts and styles are files of this server; nothing is inline, nothing comes from elsewhere.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'"
)

table = Blueprint("table", __name__, template_folder="web/templates")


@lru_cache(maxsize=1)
def release() -> str:
    """Return a name for the files of the page as they are, so that browsers may keep them for ever."""
    files = sorted(path for path in _FILES.iterdir() if path.is_file())
    return sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()[:16]


@table.get("/")
def page() -> Response:
    """Give the page. All its links are relative, so it works behind a path prefix."""
    # The symbols are made of nothing that comes from outside.
    drawn = Markup(symbols())  # noqa: S704
    text = render_template("table.html", release=release(), modules=_FIRST, symbols=drawn)
    response = Response(text, mimetype="text/html")
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-cache"
    response.set_etag(sha256(text.encode()).hexdigest()[:16])
    response.make_conditional(request)
    return response


@table.get("/table/<name>/<path:file>")
def asset(name: str, file: str) -> Response:
    """Give a file of the page."""
    if name != release():
        raise Problem("not_found", "this file is of another release")
    response = send_from_directory(_FILES, file, max_age=31536000)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def init_app(app: Flask) -> None:
    """Serve the table."""
    app.register_blueprint(table)

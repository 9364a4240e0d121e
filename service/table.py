"""The table: a page to play, watch, replay and verify games, written against the public API alone."""

from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from flask import Blueprint, Flask, Response, render_template, request
from markupsafe import Markup

from service.api.problems import Problem
from service.engine.pictures import symbols

_FILES = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "web" / "table").iterdir())}
# A name for the files as they are, so that browsers may keep them for ever.
RELEASE = sha256(b"".join(name.encode() + content for name, content in _FILES.items())).hexdigest()[:16]
# What the page needs to play; the other modules come when they are asked for.
_FIRST = ("board.js", "client.js", "keep.js", "play.js", "words.js")
# Scripts and styles are files of this server; nothing is inline, nothing comes from elsewhere.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)

table = Blueprint("table", __name__, template_folder="web/templates")


@table.get("/")
def page() -> Response:
    """Give the page. All its links are relative, so it works behind a path prefix."""
    # The symbols are made of nothing that comes from outside.
    drawn = Markup(symbols())  # noqa: S704
    text = render_template("table.html", release=RELEASE, modules=_FIRST, symbols=drawn)
    response = _answer(text.encode(), "text/html", "no-cache")
    response.headers["Content-Security-Policy"] = _POLICY
    response.set_etag(sha256(text.encode()).hexdigest()[:16])
    response.make_conditional(request)
    return response


@table.get("/table/<release>/<name>")
def asset(release: str, name: str) -> Response:
    """Give a file of the page."""
    if release != RELEASE or name not in _FILES:
        raise Problem("not_found", "the page has no such file in this release")
    return _answer(_FILES[name], guess_type(name)[0] or "text/plain", "public, max-age=31536000, immutable")


def _answer(content: bytes, media: str, cache: str) -> Response:
    response = Response(content, mimetype=media)
    response.headers["Cache-Control"] = cache
    return response


def init_app(app: Flask) -> None:
    """Serve the table."""
    app.register_blueprint(table)

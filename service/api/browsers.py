"""What browsers want to know: who may read an answer from another site, and what a page of this one may do."""

from __future__ import annotations  # those of inner functions would else be worked out at each call

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flask import Flask, Response, request
from flask_compress import Compress
from werkzeug.middleware.proxy_fix import ProxyFix

from service.api.blueprint import ASKING, HEADERS
from service.settings import Settings

# Anyone's page may ask, without cookies; what this tells is the same for all, so it needs no library.
_EXPOSED = {*HEADERS, "Allow", "X-Request-Id"}
_ASKED = {*ASKING, "Accept", "Authorization", "Content-Type", "X-Request-Id"}
_ALWAYS = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", ", ".join(sorted(_EXPOSED))),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
)
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, OPTIONS",
    "Access-Control-Allow-Headers": ", ".join(sorted(_ASKED)),
    "Access-Control-Max-Age": "86400",
}
_WORTHWHILE = 4096  # bytes of an answer that is compressed
_DATA = "default-src 'none'; frame-ancestors 'none'"
# The pages of the docs hold a little script and style of their own.
_DOCS = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def _fit_host(app: Any) -> Any:
    """Let an app answer requests whose Host is no name at all, which its routing would not outlive."""

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if not _is_name(environ.get("HTTP_HOST", "")):
            environ["HTTP_HOST"] = "invalid"
        return app(environ, start_response)

    return answer


@lru_cache(maxsize=256)
def _is_name(host: str) -> bool:
    try:
        host.partition(":")[0].encode("idna")
    except UnicodeError:
        return False
    return True


def _telling_browsers(app: Any, always: Sequence[tuple[str, str]]) -> Any:
    """Add to all answers of an app what browsers are to know, where it costs least."""

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            own = dict(headers)
            # An answer that is still good keeps the policy it had.
            if "Content-Security-Policy" not in own and not status.startswith("304"):
                html = own.get("Content-Type", "").startswith("text/html")
                headers.append(("Content-Security-Policy", _DOCS if html else _DATA))
            headers += always
            return start_response(status, headers, *more)

        return app(environ, start)

    return answer


def init_app(app: Flask, settings: Settings) -> None:
    """Let pages of any site use the API, without cookies, and tell browsers to take answers as what they say they are."""
    app.wsgi_app = _fit_host(app.wsgi_app)  # type: ignore[method-assign]
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops, x_prefix=hops)  # type: ignore[method-assign]
    always = [
        *_ALWAYS,
        *[("Strict-Transport-Security", f"max-age={settings.hsts}; includeSubDomains")] * bool(settings.hsts),
    ]
    app.wsgi_app = _telling_browsers(app.wsgi_app, always)  # type: ignore[method-assign]

    @app.before_request
    def preflight() -> Response | None:
        # A path that is none is preflighted well, so that the page gets to read the 404 that follows.
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return Response(status=204, headers=_PREFLIGHT)
        return None

    app.config.update(
        COMPRESS_ALGORITHM=["gzip"],
        COMPRESS_ALGORITHM_STREAMING=["gzip"],
        COMPRESS_MIN_SIZE=_WORTHWHILE,
        COMPRESS_REGISTER=False,
        COMPRESS_MIMETYPES=[
            "application/json",
            "application/problem+json",
            "application/schema+json",
            "application/x-ndjson",
            "image/svg+xml",
            "text/css",
            "text/html",
            "text/javascript",
            "text/plain",
        ],
    )
    compressing = Compress(app)

    @app.after_request
    def compress(response: Response) -> Response:
        # Most answers are small ones to a POST, kept by nobody, so what they would vary on need not be told.
        if request.method == "POST" and not response.is_streamed and (response.content_length or 0) < _WORTHWHILE:
            return response
        return compressing.after_request(response)

"""What browsers want to know: who may read an answer from another site, and what a page of this one may do."""

from flask import Flask, Response, request
from flask_compress import Compress
from flask_cors import CORS
from werkzeug.middleware.proxy_fix import ProxyFix

from service.api.blueprint import ASKING, HEADERS
from service.settings import Settings

_EXPOSED = sorted(
    {*HEADERS, "Allow", "Retry-After", "RateLimit", "RateLimit-Policy", "Content-Disposition", "X-Request-Id"}
)
_ALLOWED = sorted({*ASKING, "Accept", "Authorization", "Content-Type", "X-Request-Id"})
_A_DAY = 86400
# The pages of the docs hold a little script and style of their own.
_DOCS = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def init_app(app: Flask, settings: Settings) -> None:
    """Let pages of any site use the API, without cookies, and tell browsers to take answers as what they say they are."""
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops, x_prefix=hops)  # type: ignore[method-assign]
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }
    if settings.hsts:
        headers["Strict-Transport-Security"] = f"max-age={settings.hsts}; includeSubDomains"

    @app.after_request
    def secure(response: Response) -> Response:
        for name, value in headers.items():
            response.headers.setdefault(name, value)
        policy = _DOCS if response.mimetype == "text/html" else "default-src 'none'; frame-ancestors 'none'"
        response.headers.setdefault("Content-Security-Policy", policy)
        return response

    @app.before_request
    def preflight() -> Response | None:
        # A path that is none is preflighted well, so that the page gets to read the 404 that follows.
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return Response(status=204)
        return None

    CORS(
        app,
        origins="*",
        send_wildcard=True,
        methods=["GET", "HEAD", "POST", "PATCH", "OPTIONS"],
        allow_headers=_ALLOWED,
        expose_headers=_EXPOSED,
        max_age=_A_DAY,
    )
    app.config.update(
        COMPRESS_ALGORITHM=["gzip"],
        COMPRESS_ALGORITHM_STREAMING=["gzip"],
        COMPRESS_MIN_SIZE=4096,
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
    Compress(app)

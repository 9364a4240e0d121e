"""The docs: the reference made from the spec, and a page for each problem."""

from pathlib import Path
from uuid import UUID

from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    jsonify,
    redirect,
    render_template,
    request,
    url_for,
)
from flask_swagger_ui import get_swaggerui_blueprint

from service import shipped
from service.api.limits import LONGEST_URL, MOST_HEADERS, rates
from service.api.problems import KINDS, Problem
from service.api.world import world
from service.engine.audit import FAULTS, MOST_LOGGED
from service.schemas import MOST_EVENTS, MOST_GAMES, MOST_LOGS, MOST_MOVES
from service.table import RELEASE

_WEB = Path(__file__).parent / "web"

docs = Blueprint("docs", __name__, template_folder="web/templates")


@docs.get("/docs")
def reference() -> Response:
    """Lead to the reference, whose page is a folder."""
    return redirect(f"{request.path}/")  # type: ignore[return-value]


@docs.get("/openapi.json")
def spec() -> Response:
    """Give the spec as it was published with this release."""
    return _published("openapi.json", "application/json")


@docs.get("/log.schema.json")
def log_schema() -> Response:
    """Give the JSON Schema of logs."""
    return _published("log.schema.json", "application/schema+json")


def _published(name: str, media: str) -> Response:
    response = Response((shipped("openapi") / name).read_bytes(), mimetype=media)
    response.headers["Cache-Control"] = "public, max-age=300"
    response.add_etag()
    response.make_conditional(request)
    return response


@docs.get("/.well-known/jwks.json")
def jwks() -> Response:
    """Give the public keys that logs and receipts are signed with, old ones too."""
    response = jsonify(world().keys.jwks)
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response


@docs.get("/docs/fair-deals")
def fair_deals() -> str:
    """Tell how a deal is made fair, and how to check one by hand."""
    return render_template("fair_deals.html", script=(_WEB / "check_deal.py").read_text())


@docs.get("/docs/logs")
def logs() -> str:
    """Tell what a log holds and how to audit one."""
    return render_template("logs.html", faults=FAULTS)


@docs.get("/docs/front-ends")
def front_ends() -> str:
    """Tell authors of front ends how to play, move on a bad line, and watch."""
    client = url_for("table.asset", release=RELEASE, name="client.js")
    return render_template("front_ends.html", here=_here(), client=client)


@docs.get("/docs/bots")
def bots() -> str:
    """Tell authors of bots how to play many games."""
    return render_template("bots.html", here=_here(), most_moves=MOST_MOVES)


@docs.get("/docs/auditors")
def auditors() -> str:
    """Tell auditors what can be proved, and how."""
    return render_template("auditors.html", here=_here(), game=request.args.get("game", type=UUID) or "{id}")


@docs.get("/docs/policy")
def policy() -> str:
    """Tell what stays, what may change, and what the limits are."""
    config = current_app.config
    return render_template(
        "policy.html",
        rates=rates(),
        body=config["MAX_CONTENT_LENGTH"],
        audit_body=config["AUDIT_BODY_LIMIT"],
        watchers=config["WATCHERS"],
        url=LONGEST_URL,
        headers=MOST_HEADERS,
        most_moves=MOST_MOVES,
        most_games=MOST_GAMES,
        most_events=MOST_EVENTS,
        most_of_game=MOST_LOGGED,
        most_logs=MOST_LOGS,
    )


def _here() -> str:
    return request.url_root.rstrip("/")


@docs.get("/docs/operating")
def operating() -> str:
    """Tell how to run the service."""
    files = {name: (_WEB / name).read_text() for name in ("nginx.conf", "partition.sql")}
    return render_template("operating.html", files=files)


@docs.get("/docs/problems")
def problems() -> str:
    """List all problems."""
    return render_template("problems.html", kinds=KINDS)


@docs.get("/docs/problems/<code>")
def problem(code: str) -> str:
    """Explain one problem."""
    if code not in KINDS:
        raise Problem("not_found", f"no problem has the code {code[:40]!r}")
    return render_template("problems.html", kinds={code: KINDS[code]})


def init_app(app: Flask) -> None:
    """Serve the docs, with scripts that come in a package of their own."""
    app.register_blueprint(docs)
    settings = {
        "app_name": "Monte Carlo Solitaire API",
        "displayOperationId": True,
        "validatorUrl": None,
        "layout": "BaseLayout",
    }
    app.register_blueprint(get_swaggerui_blueprint("/docs", "/openapi.json", config=settings))

"""The blueprint that all routes stand on: strict reading, and a spec that says everything an operation can answer."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from inspect import cleandoc
from types import MappingProxyType
from typing import Any

import flask_smorest
import orjson
from flask import Response, request
from marshmallow import Schema

from service.api import problems
from service.api.limits import limit
from service.api.reading import load_body, load_query, refuse_query
from service.api.terms import is_known
from service.commands import DoneBefore
from service.schemas import ProblemOut

# A document; or it with headers, or with headers and a status.
Answer = tuple[dict[str, Any], dict[str, str]] | tuple[dict[str, Any], dict[str, str], int]

# What every operation can answer, and what those with a body can on top.
_ALWAYS = ("invalid_query", "uri_too_long", "headers_too_large", "internal_error", "database_unavailable")
_WITH_BODY = (
    "empty_body",
    "bad_json",
    "bad_request",
    "length_required",
    "body_too_large",
    "wrong_content_type",
    "invalid_body",
)

_ASKED = {
    "Idempotency-Key": {"bad_header", "key_reused"},
    "If-Match": {"stale"},
    "Last-Event-ID": {"bad_header"},
}

HEADERS = {
    "Content-Disposition": {
        "description": "A name for the file.",
        "required": True,
        "schema": {"type": "string", "maxLength": 200},
    },
    "Vary": {
        "description": "The form of the answer depends on Accept.",
        "required": True,
        "schema": {"type": "string", "maxLength": 200},
    },
    "Location": {
        "description": "Where the new resource is.",
        "required": True,
        "schema": {"type": "string", "format": "uri-reference", "maxLength": 200},
    },
    "Cache-Control": {
        "description": "How long the answer may be kept, and by whom.",
        "required": True,
        "schema": {"type": "string", "maxLength": 200},
    },
    "Retry-After": {
        "description": "Seconds to wait.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "maximum": 86_400},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "required": True,
        "schema": {"type": "string", "maxLength": 200},
    },
    "ETag": {
        "description": "Names what the answer shows; give it back in If-None-Match or If-Match.",
        "required": True,
        "schema": {"type": "string", "maxLength": 200},
    },
    "Idempotent-Replayed": {
        "description": "`true` where the request was carried out before, and this is its answer again.",
        "required": False,
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Preference-Applied": {
        "description": "Which preference of the request the answer follows.",
        "required": False,
        "schema": {"type": "string", "enum": ["return=minimal"]},
    },
    "RateLimit-Policy": {
        "description": 'The limit that this request counts for: `"moves";q=3000;w=60` is 3000 in 60 seconds.',
        "required": False,
        "schema": {"type": "string", "maxLength": 200},
    },
    "RateLimit": {
        "description": 'What is left of it: `"moves";r=2999;t=42` is 2999 more in the 42 seconds to come.',
        "required": False,
        "schema": {"type": "string", "maxLength": 200},
    },
    "Link": {
        "description": 'Where the list goes on, as `rel="next"`; left out on its last page.',
        "required": False,
        "schema": {"type": "string", "maxLength": 200},
    },
}

# Headers that requests may have.
ASKING = {
    "Idempotency-Key": {
        "description": "Makes a retry safe: the request is carried out once, however often it comes with this key "
        "within 24 hours, and answered alike. A new random UUID for each request, best in quotes.",
        "schema": {"type": "string", "maxLength": 257, "pattern": r'^("[ !#-\[\]-~]{1,255}"|[!#-\[\]-~]{1,255})$'},
    },
    "If-Match": {
        "description": "The ETag that the game must still have.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "description": "The ETag of an answer kept from before; the answer is 304 if it is still good.",
        "schema": {"type": "string"},
    },
    "Prefer": {
        "description": "`return=minimal` for a short answer.",
        "schema": {"type": "string", "examples": ["return=minimal"]},
    },
    "Last-Event-ID": {
        "description": "The version of the last event that a stream gave before it broke; goes before `after`.",
        "schema": {"type": "string", "pattern": "^(0|[1-9][0-9]{0,8})$"},
    },
}


# Of a request without a token; see `terms`.
_STRANGERS_KEY = {
    "type": "string",
    "maxLength": 38,
    "pattern": '^"?[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[47][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"?$',
}


class Blueprint(flask_smorest.Blueprint):
    """Routes with their documentation.

    `operation` stands above a view and says what it takes and answers; the view's name becomes the operationId, its
    docstring the summary and the description.
    """

    def __init__(self, name: str, import_name: str, **options: Any) -> None:
        super().__init__(name, import_name, **options)
        self._prepare_doc_cbks.append(self._prepare_operation_doc)

    def operation(
        self,
        status: int,
        schema: type[Schema] | None,
        *codes: str,
        body: Schema | None = None,
        reads: Callable[[], Any] | None = None,
        takes: Sequence[str] = (),
        query: Schema | None = None,
        text: bool = False,
        token: str | None = None,
        cache: str = "no-store",
        location: bool = False,
        tag: bool = False,
        asks: Sequence[str] = (),
        also: Mapping[int | str, type[Schema] | str] = MappingProxyType({}),
        headers: Sequence[str] = (),
        limited: str | None = "reads",
        media: Sequence[str] = ("application/json",),
    ) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
        """Say what a view answers: a document with this status, or one of these problems.

        The view gets the loaded body, then the loaded query, then the parts of the path; it returns the document, or
        the document and headers, or these and a status of `also`.

        body, query: what is loaded from the request; a query that is not loaded is refused
        reads: what reads the body where the schema only documents it
        takes: in which media types the body may come besides JSON
        text: whether the answer may be text/plain too; then the view returns a Response
        token: "required" or "optional" where the token of a game is looked at
        cache: Cache-Control of the answer, unless the view gives its own
        location: whether the answer has a Location
        tag: whether it has an ETag; where nothing is sent it is then 304 if the client has it already
        asks: headers of the request that are looked at
        also: other good answers by status or range, or what one without content means
        headers: other headers of the answer
        limited: which limit it counts for, if any
        media: in which media types it answers; a view with others than JSON returns a Response
        """

        unasked = query.load({}) if query else {}

        def decorate(view: Callable[..., Any]) -> Callable[..., Response]:
            @wraps(view)
            def answer(**path: Any) -> Response:
                if limited:
                    limit(limited)
                loaded = [] if body is None else [reads() if reads else load_body(body)]
                if query is not None:
                    loaded.append(load_query(query) if request.args else dict(unasked))
                elif request.args:
                    refuse_query()
                again = {}
                try:
                    result = view(*loaded, **path)
                except DoneBefore as before:
                    result, again = before.answer, {"Idempotent-Replayed": "true"}
                if isinstance(result, Response):
                    return result
                document, more, *other = result if isinstance(result, tuple | list) else (result, {})
                more = {"Cache-Control": cache, **more, **again}
                if tag and body is None and is_known(more["ETag"]):
                    return Response(status=HTTPStatus.NOT_MODIFIED, headers=more, content_type="application/json")
                made = other[0] if other else status
                return Response(orjson.dumps(document), made, more, content_type="application/json")

            # Of flask-smorest's own wrappers only their documentation: loading and dumping is done above.
            documented: Any = self.response(status, schema)(view)
            if body is not None:
                documented = self.arguments(body)(documented)
            if query is not None:
                documented = self.arguments(query, location="query")(documented)
            answer._apidoc = documented._apidoc  # type: ignore[attr-defined]
            answer._apidoc["operation"] = {  # type: ignore[attr-defined]
                "id": view.__name__,
                "codes": codes,
                "token": token,
                "headers": [
                    "Cache-Control",
                    *["Location"] * location,
                    *["Content-Disposition", "Vary"] * text,
                    *["ETag"] * tag,
                    *["Idempotent-Replayed"] * ("Idempotency-Key" in asks),
                    *["Preference-Applied"] * ("Prefer" in asks),
                    *headers,
                    *["RateLimit", "RateLimit-Policy"] * bool(limited),
                ],
                "limited": limited,
                "media": [*media, *["text/plain"] * text],
                "asks": [*asks, *["If-None-Match"] * (tag and body is None)],
                "also": dict(also),
                "takes": takes,
            }
            return answer

        return decorate

    @staticmethod
    def _prepare_operation_doc(
        doc: dict[str, Any], info: dict[str, Any], *, app: Any, spec: Any, **_: Any
    ) -> dict[str, Any]:
        operation = info["operation"]
        doc["operationId"] = operation["id"]
        doc["security"] = [{"game_token": []}] * bool(operation["token"]) + [{}] * (operation["token"] == "optional")
        if operation["asks"]:
            asked = [{"name": name, "in": "header", "required": False, **ASKING[name]} for name in operation["asks"]]
            if not operation["token"] and "Idempotency-Key" in operation["asks"]:
                asked[operation["asks"].index("Idempotency-Key")]["schema"] = _STRANGERS_KEY
            doc["parameters"] = [*doc.get("parameters", ()), *asked]
        for status, answered in operation["also"].items():
            if isinstance(answered, str):
                doc["responses"][status] = {"description": answered}
            else:
                content = {"application/json": {"schema": answered}}
                doc["responses"][status] = {"description": cleandoc(answered.__doc__ or ""), "content": content}
        for response in doc["responses"].values():
            if isinstance(response, dict):
                response["headers"] = {name: HEADERS[name] for name in operation["headers"]}
        if "application/json" not in operation["media"]:
            doc["responses"][200]["content"] = {}
        for media_type in operation["media"]:
            if media_type != "application/json":
                doc["responses"][200]["content"][media_type] = {"schema": {"type": "string"}}
        text = {"type": "string", "minLength": 1}
        for media_type in operation["takes"]:
            content = doc["requestBody"]["content"]
            as_json = media_type.endswith("+json")
            content[media_type] = {"schema": content["application/json"]["schema"] if as_json else text}
        if "If-None-Match" in operation["asks"]:
            kept = {
                name: HEADERS[name]
                for name in ("ETag", "Cache-Control", *["RateLimit", "RateLimit-Policy"] * bool(operation["limited"]))
            }
            doc["responses"][304] = {"description": "What the client has is still good.", "headers": kept}
        doc["responses"].pop(422, None)  # flask-smorest's own words on arguments
        codes = {*operation["codes"], *_ALWAYS, *(_WITH_BODY if "requestBody" in doc else ())}
        if operation["limited"]:
            codes.add("too_many_requests")
        for name in operation["asks"]:
            codes |= _ASKED.get(name, set())
        by_status: dict[int, list[str]] = {}
        for code in problems.KINDS:
            if code in codes:
                by_status.setdefault(problems.KINDS[code].status, []).append(code)
        for status, found in by_status.items():
            doc["responses"][str(status)] = problem_doc(status, found, limited=bool(operation["limited"]))
        doc["responses"] = dict(sorted((str(status), response) for status, response in doc["responses"].items()))
        return doc


def problem_doc(status: int, codes: list[str], *, limited: bool) -> dict[str, Any]:
    """Return the documentation of the problems that one status can mean."""
    lines = [f"- `{code}`: {problems.KINDS[code].title}. {problems.KINDS[code].help}" for code in codes]
    names = [
        "Cache-Control",
        *["WWW-Authenticate"] * (status == HTTPStatus.UNAUTHORIZED),
        *["Retry-After"] * (status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)),
        *["ETag"] * ("stale" in codes),
        *["RateLimit", "RateLimit-Policy"] * limited,
    ]
    return {
        "description": "\n".join([HTTPStatus(status).phrase, "", *lines]),
        "content": {problems.MEDIA_TYPE: {"schema": ProblemOut}},
        "headers": {name: HEADERS[name] for name in names},
    }

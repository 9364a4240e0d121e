"""The blueprint that all routes stand on: strict reading, and a spec that says everything an operation can answer."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

import flask_smorest
import orjson
from flask import Response, request
from marshmallow import Schema

from service.api import problems
from service.api.reading import load_body, load_query, refuse_query
from service.schemas import ProblemOut

# What every operation can answer, and what those with a body can on top.
_ALWAYS = ("invalid_query", "internal_error")
_WITH_BODY = (
    "empty_body",
    "bad_json",
    "bad_request",
    "length_required",
    "body_too_large",
    "wrong_content_type",
    "invalid_body",
)

HEADERS = {
    "Content-Disposition": {
        "description": "A name for the file.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Vary": {
        "description": "The form of the answer depends on Accept.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Location": {
        "description": "Where the new resource is.",
        "required": True,
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "Cache-Control": {
        "description": "How long the answer may be kept, and by whom.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Retry-After": {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "How to authenticate.", "required": True, "schema": {"type": "string"}},
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
        query: Schema | None = None,
        text: bool = False,
        media: str = "application/json",
        token: str | None = None,
        cache: str = "no-store",
        location: bool = False,
    ) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
        """Say what a view answers: a document with this status, or one of these problems.

        The view gets the loaded body, then the loaded query, then the parts of the path; it returns the document, or
        the document and headers.

        body, query: what is loaded from the request; a query that is not loaded is refused
        reads: what reads the body where the schema only documents it, and text/plain may come as well
        media: what the answer is where it is no JSON and has no schema; then the view returns a Response
        text: whether the answer may be text/plain too; then the view returns a Response
        token: "required" or "optional" where the token of a game is looked at
        cache: Cache-Control of the answer, unless the view gives its own
        location: whether the answer has a Location
        """

        def decorate(view: Callable[..., Any]) -> Callable[..., Response]:
            @wraps(view)
            def answer(**path: Any) -> Response:
                loaded = [] if body is None else [reads() if reads else load_body(body)]
                if query is not None:
                    loaded.append(load_query(query))
                elif request.args:
                    refuse_query()
                result = view(*loaded, **path)
                if isinstance(result, Response):
                    return result
                document, headers = result if isinstance(result, tuple) else (result, {})
                response = Response(orjson.dumps(document), status, mimetype="application/json")
                response.headers.update({"Cache-Control": cache, **headers})
                return response

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
                "headers": ["Cache-Control", *["Location"] * location, *["Content-Disposition", "Vary"] * text],
                "text": text,
                "media": media,
                "reads_text": reads is not None,
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
        for response in doc["responses"].values():
            if isinstance(response, dict):
                response["headers"] = {name: HEADERS[name] for name in operation["headers"]}
        if operation["media"] != "application/json":
            doc["responses"][200]["content"] = {operation["media"]: {"schema": {"type": "string"}}}
        if operation["text"]:
            doc["responses"][200]["content"]["text/plain"] = {"schema": {"type": "string"}}
        if operation["reads_text"]:
            doc["requestBody"]["content"]["text/plain"] = {"schema": {"type": "string", "minLength": 1}}
        doc["responses"].pop(422, None)  # flask-smorest's own words on arguments
        codes = {*operation["codes"], *_ALWAYS, *(_WITH_BODY if "requestBody" in doc else ())}
        by_status: dict[int, list[str]] = {}
        for code in problems.KINDS:
            if code in codes:
                by_status.setdefault(problems.KINDS[code].status, []).append(code)
        for status, found in by_status.items():
            doc["responses"][str(status)] = problem_doc(status, found)
        doc["responses"] = dict(sorted((str(status), response) for status, response in doc["responses"].items()))
        return doc


def problem_doc(status: int, codes: list[str]) -> dict[str, Any]:
    """Return the documentation of the problems that one status can mean."""
    lines = [f"- `{code}`: {problems.KINDS[code].title}. {problems.KINDS[code].help}" for code in codes]
    names = [
        "Cache-Control",
        *["WWW-Authenticate"] * (status == HTTPStatus.UNAUTHORIZED),
        *["Retry-After"] * ("busy" in codes),
    ]
    return {
        "description": "\n".join([HTTPStatus(status).phrase, "", *lines]),
        "content": {problems.MEDIA_TYPE: {"schema": ProblemOut}},
        "headers": {name: HEADERS[name] for name in names},
    }

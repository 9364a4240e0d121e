"""The routes and the OpenAPI spec made from them."""

import json
import re
from inspect import cleandoc
from typing import Any

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask
from werkzeug.routing import IntegerConverter

from service.api import audits, deals, games, health, pictures, positions, variants
from service.schemas import CHOICES, METADATA_NAME, In, Int, MetadataField, QueryBool, QueryInt, Str

ABOUT = """Deal, play, record and replay games of Monte Carlo Solitaire and its kin.

`POST /v1/games` deals a game and gives a token; `POST /v1/games/{game_id}/moves` with the token moves it. Every \
position lists its legal moves, so a client needs to know no rules. Every game is a log of events, each bound by a \
hash to the one before. Errors are `application/problem+json` with a stable `code`.

A retry under the same `Idempotency-Key` is carried out once. Guides, policy and limits are at `/docs/front-ends`, \
`/docs/bots`, `/docs/auditors` and `/docs/policy`.

Requests are closed: unknown fields and parameters are refused. Answers are open: expect new fields."""


class VersionConverter(IntegerConverter):
    """A version in a path: digits without leading zeros, few enough to be one."""

    regex = r"[1-9]\d{0,8}"


class Converter(OpenAPIConverter):
    """Makes schemas of the spec, described, and exact where fields alone say too little."""

    def schema2jsonschema(self, schema: Any) -> dict[str, Any]:
        """Return the JSON Schema of a marshmallow schema."""
        made: dict[str, Any] = super().schema2jsonschema(schema)  # type: ignore[no-untyped-call]
        of = schema if isinstance(schema, type) else type(schema)
        for field in made["properties"].values():
            if "enum" in field:
                self._share_choices(field)
            if "default" in field:
                # As a keyword, clients would send it as if it had been asked for, or would have to send it.
                field["description"] += f" Default: {json.dumps(field.pop('default'))}."
        if issubclass(of, In):
            made |= of.also
        return {"type": made.pop("type"), "description": cleandoc(of.__doc__ or ""), **made}

    def _share_choices(self, field: dict[str, Any]) -> None:
        choices = [choice for choice in field["enum"] if choice is not None]
        for name, shared in CHOICES.items():
            if choices == list(shared):
                if name not in self.spec.components.schemas:
                    self.spec.components.schema(name, {"type": "string", "enum": choices})
                reference = {"$ref": f"#/components/schemas/{name}"}
                field |= {"anyOf": [reference, {"type": "null"}]} if "null" in field["type"] else reference
                del field["enum"], field["type"]
                break

    def field2property(self, field: Any) -> dict[str, Any]:
        """Return the JSON Schema of a field."""
        made: dict[str, Any] = super().field2property(field)
        if isinstance(field, Str) and not {"pattern", "enum"} & made.keys():
            made["pattern"] = r"^[^\u0000]*$"
        if isinstance(field, MetadataField):
            made["propertyNames"] = {"type": "string", "pattern": METADATA_NAME}
        return made


class Plugin(MarshmallowPlugin):
    """Makes the spec of schemas."""

    Converter = Converter


class Api(flask_smorest.Api):
    """Registers routes and documents them; problems are handled and documented elsewhere."""

    DEFAULT_ERROR_RESPONSE_NAME = None

    def _register_error_handlers(self) -> None:
        """Leave errors to `service.api.problems`."""

    def _register_responses(self) -> None:
        """Leave error responses to `service.api.blueprint`."""

    def _register_pagination_header(self) -> None:
        """Lists have `next` instead."""


def init_app(app: Flask) -> Api:
    """Serve the API."""
    app.url_map.converters["version"] = VersionConverter
    app.config.update(
        API_TITLE="Monte Carlo Solitaire",
        API_VERSION="1.0.0",
        OPENAPI_VERSION="3.1.0",
        API_SPEC_OPTIONS={
            "info": {"description": ABOUT, "license": {"name": "MIT", "identifier": "MIT"}},
            "servers": [{"url": "/", "description": "The server that gave this document."}],
        },
    )
    api = Api(app, spec_kwargs={"marshmallow_plugin": Plugin(schema_name_resolver=_name)})
    for field in (Int, QueryInt):
        api.register_field(field, "integer", None)
    api.register_field(Str, "string", None)
    api.register_field(QueryBool, "boolean", None)
    api.register_field(MetadataField, "object", None)
    api.register_converter(VersionConverter, lambda _: {"type": "integer", "minimum": 1, "maximum": 999_999_999})
    api.spec.components.security_scheme(
        "game_token",
        {"type": "http", "scheme": "bearer", "description": "The token that came with the game when it was dealt."},
    )
    for module in (variants, deals, games, pictures, positions, audits, health):
        api.register_blueprint(module.blueprint)
    return api


def _name(schema: Any) -> str:
    """Name a schema in the spec: `Game` for what goes out, `GameRequest` for what comes in."""
    name = schema.__name__ if isinstance(schema, type) else type(schema).__name__
    return f"{name[:-2]}Request" if name.endswith("In") else name.removesuffix("Out")


_PATHS = {
    "deal_id": "Id of a deal.",
    "game_id": "Id of a game.",
    "variant_id": "Id or alias of a variant.",
    "version": "Version of the game: the number of events up to there.",
}


def build(app: Flask, examples: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of an app, with examples by operationId."""
    document: dict[str, Any] = app.extensions["flask-smorest"]["apis"][""]["ext_obj"].spec.to_dict()
    for path in document["paths"].values():
        for parameter in path.get("parameters", ()):
            parameter["description"] = _PATHS[parameter["name"]]
        for operation in path.values():
            if isinstance(operation, dict):
                for example in examples.get(operation["operationId"], ()):
                    _add(operation, **example)
    return document


def _add(operation: dict[str, Any], name: str, request: Any, status: int, answer: Any) -> None:
    """Put an exchange into the documentation of an operation."""
    responses = operation["responses"]
    said = responses.get(str(status)) or responses[f"{status // 100}XX"]
    places = [(next(iter(said["content"].values())), answer)]
    if request is not None:
        places.append((operation["requestBody"]["content"]["application/json"], request))
    for content, value in places:
        content.setdefault("examples", {})[name.replace(" ", "_")] = {"summary": name.capitalize(), "value": value}


def log_schema(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of logs, which the spec holds in parts."""
    schemas = spec["components"]["schemas"]
    wanted, found = ["Log"], {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            text = json.dumps(schemas[name])
            wanted += re.findall(r'"#/components/schemas/(\w+)"', text)
            found[name] = json.loads(text.replace("#/components/schemas/", "#/$defs/"))
    log = found.pop("Log")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Log of a game of Monte Carlo Solitaire",
        **log,
        "$defs": dict(sorted(found.items())),
    }

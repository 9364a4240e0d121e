"""The quality of the spec: everything described, bounded and exact, so that what is generated from it is good.

Whatever is added to the API is held to this. An exception is listed here, with its reason.
"""

import re

import pytest

from tests.client import SPEC
from tests.test_openapi import OPERATIONS

SCHEMAS = SPEC["components"]["schemas"]
ANY_JSON = {
    # What rules and a stranger's log say may be of any type.
    "AuditFault.expected",
    "AuditFault.found",
    "EventRequest.data",
}
# A log from anywhere is judged, not refused: the limit of bodies is its only bound.
UNBOUNDED = ("EventRequest", "LogRequest")
# What is not understood in these is ignored, as HTTP wants it, however long it is.
LENIENT = ("If-Match", "If-None-Match", "Prefer")
# What says that no longer string fits: a format, or a pattern without * or + or an open count.
ENDLESS = re.compile(r"(?<!\\)[*+]|,\}")


def walk(schema, name):
    """Yield each schema that stands in a schema, with a name for it."""
    yield name, schema
    for field, inner in schema.get("properties", {}).items():
        yield from walk(inner, f"{name}.{field}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from walk(schema[keyword], f"{name}[]")
    for keyword in ("anyOf", "oneOf", "allOf"):
        for place, inner in enumerate(schema.get(keyword, ()), start=1):
            yield from walk(inner, f"{name}/{place}")


def places():
    """Yield each schema of the spec."""
    for name, schema in SCHEMAS.items():
        yield from walk(schema, name)
    for path, item in SPEC["paths"].items():
        for parameter in item.get("parameters", ()):
            yield from walk(parameter["schema"], f"{path}?{parameter['name']}")
    for name, operation in OPERATIONS.items():
        for parameter in operation.get("parameters", ()):
            yield from walk(parameter["schema"], f"{name}?{parameter['name']}")
        bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
        for status, body in bodies.items():
            for media, content in body.get("content", {}).items():
                yield from walk(content["schema"], f"{name} {status} {media}")
            for header, said in body.get("headers", {}).items():
                yield from walk(said["schema"], f"{name} {status} {header}")


PLACES = dict(places())


def types(schema):
    """Return the types that a schema allows."""
    said = schema.get("type", [])
    return {said} if isinstance(said, str) else set(said)


def where(wrong):
    """Return the names of the schemas that something is wrong with."""
    return [
        name
        for name, schema in PLACES.items()
        if wrong(schema) and not name.startswith(UNBOUNDED) and not name.endswith(LENIENT)
    ]


def test_no_schema_is_empty_or_fits_nothing():
    says = {"type", "$ref", "anyOf", "oneOf"}
    assert {name for name, schema in PLACES.items() if not says & schema.keys()} <= ANY_JSON
    assert not where(lambda schema: schema.get("not") == {} or schema.get("enum") == [])
    assert not where(lambda schema: schema.get("minLength", 0) > schema.get("maxLength", 10**9))


def test_null_is_said_as_openapi_3_1_says_it():
    assert not where(lambda schema: "nullable" in schema)
    assert not where(lambda schema: None in schema.get("enum", ()) and "null" not in types(schema))


def test_every_string_ends():
    def endless(schema):
        bounded = {"enum", "const", "maxLength"} & schema.keys() or schema.get("format") in ("uuid", "date-time")
        pattern = schema.get("pattern")
        return "string" in types(schema) and not bounded and (pattern is None or bool(ENDLESS.search(pattern)))

    # Text that is no JSON, or JSON in lines: notation, pictures, streams.
    assert [name for name in where(endless) if not re.search(r" (text/|image/|application/x-ndjson$)", name)] == []


def test_every_number_has_its_bounds():
    def unbounded(schema):
        number = {"integer", "number"} & types(schema)
        return bool(number) and "enum" not in schema and not {"minimum", "maximum"} <= schema.keys()

    assert where(unbounded) == []


def test_every_array_says_of_what_and_how_many():
    assert where(lambda schema: "array" in types(schema) and not {"items", "maxItems"} <= schema.keys()) == []


def test_every_map_says_of_what_and_how_many():
    def unbounded(schema):
        return isinstance(schema.get("additionalProperties"), dict) and "maxProperties" not in schema

    assert where(unbounded) == []


def test_objects_have_names():
    """So that generated classes have names too."""
    assert [name for name, schema in PLACES.items() if "properties" in schema and name not in SCHEMAS] == []


def test_no_schema_is_called_as_one_of_its_fields():
    """Some generators write code that then confuses the two."""
    for name, schema in SCHEMAS.items():
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        assert snake not in schema.get("properties", {}), name


def test_bodies_have_no_defaults():
    """A client would send them as if they had been asked for, or have to send them."""
    assert [name for name, schema in PLACES.items() if "default" in schema and name.split(".")[0] in SCHEMAS] == []


def test_everything_is_described():
    for name, schema in SCHEMAS.items():
        assert schema.get("description") or "enum" in schema, name
        for field, said in schema.get("properties", {}).items():
            assert said.get("description"), f"{name}.{field}"
    for path, item in SPEC["paths"].items():
        for parameter in item.get("parameters", ()):
            assert parameter.get("description"), f"{path}: {parameter['name']}"


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_described(name):
    operation = OPERATIONS[name]
    assert operation["description"].strip()
    assert not operation["summary"].endswith(":")
    assert operation["security"] in ([], [{"game_token": []}], [{"game_token": []}, {}]), "said on every operation"
    for parameter in operation.get("parameters", ()):
        assert parameter["description"], parameter["name"]
    for status, response in operation["responses"].items():
        for header, said in response["headers"].items():
            assert said["description"], f"{status} {header}"


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_documents_the_errors_that_it_can_give(name):
    operation = OPERATIONS[name]
    path = next(path for path, item in SPEC["paths"].items() if operation in item.values())
    expected = {"422", "500"}
    if "{" in path:
        expected |= {"404"}
    if operation["security"] == [{"game_token": []}]:
        expected |= {"401", "403"}
    if "requestBody" in operation:
        expected |= {"400", "411", "413", "415"}
    if "Health" not in operation["tags"]:
        expected |= {"429"}
    asked = {parameter["name"] for parameter in operation.get("parameters", ())}
    expected |= {status for header, status in {"If-Match": "412", "If-None-Match": "304"}.items() if header in asked}
    assert expected <= operation["responses"].keys()
    for status in {"429", "503"} & operation["responses"].keys():
        assert name == "get_readiness" or "Retry-After" in operation["responses"][status]["headers"]

"""The spec: kept up to date, complete, and true."""

import re

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from service.api.problems import KINDS
from service.examples import build_spec
from tests.client import SPEC, validator

OPERATIONS = {
    operation["operationId"]: operation
    for path in SPEC["paths"].values()
    for method, operation in path.items()
    if method in ("get", "post", "put", "patch", "delete")
}
# What answers in no JSON.
OTHER = ("get_board_svg", "get_replay_svg", "get_board_text", "export_games")
TEXTS = {"image/svg+xml", "text/plain", "application/x-ndjson", "text/event-stream"}


def test_the_published_spec_is_that_of_the_code():
    assert build_spec() == SPEC


def test_the_spec_is_valid():
    OpenAPIV31SpecValidator(SPEC).validate()
    for name, schema in SPEC["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert schema.get("properties") or schema.get("enum"), f"{name} is empty"


def test_every_route_of_the_api_is_in_the_spec(app):
    routes = {
        re.sub(r"<(?:[^:>]+:)?([^>]+)>", r"{\1}", rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1") or rule.rule in ("/healthz", "/readyz")
    }
    assert routes == set(SPEC["paths"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_says_all_there_is_to_say(name):
    operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["tags"]
    assert "500" in operation["responses"]
    for status, response in operation["responses"].items():
        assert response["description"]
        assert response["headers"]["Cache-Control"]["required"]
        if status in ("204", "304"):
            assert "content" not in response
            continue
        (media_type, content), *more = response["content"].items()
        if status < "400" and media_type in TEXTS:
            assert name in OTHER
            continue
        assert media_type == ("application/json" if status < "400" else "application/problem+json")
        assert content["schema"]["$ref"]
        assert dict(more).keys() <= TEXTS
        assert all(content == {"schema": {"type": "string"}} for content in dict(more).values())
    assert name in OTHER or any(
        "examples" in next(iter(r["content"].values()))
        for s, r in operation["responses"].items()
        if s < "400" and "content" in r
    )
    if "requestBody" in operation:
        assert operation["requestBody"]["required"]
        assert operation["requestBody"]["content"]["application/json"]["examples"]
        assert {"400", "413", "415", "422"} <= set(operation["responses"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_fit_their_schemas(name):
    for response in OPERATIONS[name]["responses"].values():
        for content in response.get("content", {}).values():
            for example in content.get("examples", {}).values():
                validator(content["schema"]["$ref"]).validate(example["value"])


def test_every_problem_is_documented_somewhere_and_nowhere_else():
    documented = {
        code
        for operation in OPERATIONS.values()
        for response in operation["responses"].values()
        for code in re.findall(r"^- `(\w+)`", response["description"], re.MULTILINE)
    }
    # What no operation can answer: paths and methods that are none, and HTTP that cannot be read at all.
    assert set(KINDS) - documented == {"method_not_allowed"}
    assert documented <= set(KINDS)


def test_what_goes_out_is_open_and_what_comes_in_is_closed():
    for name, schema in SPEC["components"]["schemas"].items():
        assert schema.get("additionalProperties") == (False if name.endswith("Request") else None), name


def test_the_spec_and_the_docs_are_served(client):
    assert client.get("/openapi.json").json == SPEC
    page = client.get("/docs/")
    assert page.status_code == 200
    scripts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert scripts
    for script in scripts:
        assert script.startswith("/docs/"), "nothing comes from elsewhere"
        assert client.get(script).status_code == 200
    assert client.get("/docs").headers["Location"] == "/docs/"


@pytest.mark.parametrize("code", KINDS)
def test_every_problem_has_a_page(client, code):
    page = client.get(f"/docs/problems/{code}")
    assert page.status_code == 200
    assert KINDS[code].title in page.text
    assert code in client.get("/docs/problems").text

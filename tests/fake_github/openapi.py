"""Holds requests and answers against GitHub's own OpenAPI description.

The description is OpenAPI 3.0; the few constructs in which that differs from JSON Schema are converted once, and each
schema's validator is kept. Objects are closed while converting: a field that the description does not know is a mistake
of the fake (or of the client), and our code must not learn to rely on it.
"""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

SUBSET = Path(__file__).parent.parent / "data" / "github" / "openapi_subset.json.gz"
METHODS = ("get", "put", "post", "patch", "delete")
CLOSED, OPEN = "urn:github:closed", "urn:github:open"


def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        return "T" in value and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme)


formats = FormatChecker(formats=())
formats.checks("date-time")(_is_date_time)
formats.checks("uri")(_is_uri)


def convert(schema: Any, closed: bool = True) -> Any:
    """OpenAPI 3.0 schema → JSON Schema 2020-12."""
    if isinstance(schema, list):
        return [convert(item, closed) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("nullable", "example", "description", "title")}
    if "$ref" in kept:
        return {"$ref": (CLOSED if closed else OPEN) + kept["$ref"]}
    out: dict[str, Any] = {}
    for key, value in kept.items():
        if key == "properties":
            out[key] = {name: convert(sub, closed) for name, sub in value.items()}
        elif key in ("allOf", "anyOf", "oneOf"):
            # The members of an allOf describe one object together, so none of them may be closed on its own.
            out[key] = convert(value, closed and (key != "allOf" or len(value) == 1))
        elif key in ("items", "additionalProperties", "not"):
            out[key] = convert(value, closed)
        else:
            out[key] = value
    if closed and "properties" in out and not {"allOf", "anyOf", "oneOf"} & out.keys():
        out.setdefault("additionalProperties", False)
    if "oneOf" in out:
        # Members that overlap (an array of strings or of objects, both empty) would make every empty list "two of one".
        out.setdefault("anyOf", out.pop("oneOf"))
    if schema.get("nullable"):
        if "type" not in out:
            return {"anyOf": [{"type": "null"}, out]}
        out["type"] = [out["type"], "null"]
        if "enum" in out:
            out["enum"] = [*out["enum"], None]
    return out


def amend(schemas: dict[str, Any]) -> None:
    """The places where github.com answers otherwise than this version of its description says."""
    for name in ("pull-request", "pull-request-simple"):
        # A deleted fork: `head.repo` is null, although a repository is always wanted.
        head = schemas[name]["properties"]["head"]["properties"]
        head["repo"] = {"anyOf": [head["repo"]], "nullable": True}
    # A label without description shows null, as the full pull request allows and its short form does not.
    schemas["pull-request-simple"]["properties"]["labels"]["items"]["properties"]["description"]["nullable"] = True
    # Labels can be archived since; later descriptions, and the clients generated from them, want both fields.
    in_pulls = [schemas[name]["properties"]["labels"]["items"] for name in ("pull-request", "pull-request-simple")]
    for label in (schemas["label"], *in_pulls):
        label["properties"]["archived_at"] = {"type": "string", "format": "date-time", "nullable": True}
        label["properties"]["archived_by"] = {"$ref": "#/components/schemas/nullable-simple-user"}


class Operation:
    def __init__(self, api: OpenApi, method: str, template: str, spec: dict[str, Any]) -> None:
        self.api, self.method, self.template, self.spec = api, method, template, spec
        self.parameters = [api.resolve(parameter) for parameter in spec.get("parameters", [])]
        types = {p["name"]: p for p in self.parameters if p["in"] == "path"}

        def group(match: re.Match[str]) -> str:
            name = match[1]
            parameter = types.get(name, {})
            if parameter.get("schema", {}).get("type") == "integer":
                return rf"(?P<{name}>\d+)"
            if name == "path":
                return rf"(?P<{name}>.*)"  # the root directory is `/contents/`
            return rf"(?P<{name}>.+)" if parameter.get("x-multi-segment") else rf"(?P<{name}>[^/]+)"

        self.pattern = re.compile(re.sub(r"\{(\w+)\}", group, template) + r"\Z")
        segments = template.split("/")
        # Literal segments win over parameters, as `/issues/comments` over `/issues/{issue_number}`.
        self.rank = (sum(not part.startswith("{") for part in segments), len(segments))

    @cached_property
    def query_schemas(self) -> dict[str, dict[str, Any]]:
        return {p["name"]: p["schema"] for p in self.parameters if p["in"] == "query"}

    def query_problems(self, query: dict[str, str]) -> list[str]:
        problems = []
        for name, value in query.items():
            schema = self.query_schemas.get(name)
            if schema is None:
                problems.append(f"query parameter {name!r} does not exist")
            elif schema.get("type") == "integer" and not re.fullmatch(r"\d+", value):
                problems.append(f"query parameter {name}={value!r} is no integer")
            elif schema.get("type") == "boolean" and value not in ("true", "false"):
                problems.append(f"query parameter {name}={value!r} is no boolean")
            elif "enum" in schema and value not in schema["enum"]:
                problems.append(f"query parameter {name}={value!r} is none of {schema['enum']}")
        return problems

    def body_problems(self, body: Any, present: bool) -> list[str]:
        spec = self.spec.get("requestBody")
        if spec is None:
            return ["a body, where none belongs"] if present else []
        if not present:
            return ["the body is missing"] if spec.get("required") else []
        return self.api.problems(spec["content"]["application/json"]["schema"], body)

    def answer_problems(self, status: int, body: Any, media: str) -> list[str]:
        spec = self.spec["responses"].get(str(status))
        if spec is None:
            # Every operation can fail in ways that the description does not repeat (401, 403, 429, 5xx).
            return self.api.problems({"$ref": "#/components/schemas/basic-error"}, body) if status >= 400 else [
                f"status {status} is not described"
            ]  # fmt: skip
        content = self.api.resolve(spec).get("content")
        if content is None:
            return [] if body is None else [f"status {status} has no body"]
        kind = content.get(media) or content["application/json"]
        return self.api.problems(kind["schema"], body)


class OpenApi:
    def __init__(self, path: Path = SUBSET) -> None:
        document = json.loads(gzip.decompress(path.read_bytes()))
        amend(document["components"]["schemas"])
        self.document = document
        operations = [
            Operation(self, method.upper(), template, item[method])
            for template, item in document["paths"].items()
            for method in METHODS
            if method in item
        ]
        self.operations = sorted(operations, key=lambda operation: operation.rank, reverse=True)
        self._validators: dict[str, Draft202012Validator] = {}

    @cached_property
    def _registry(self) -> Registry[Any]:
        registry: Registry[Any] = Registry()
        for address, closed in ((CLOSED, True), (OPEN, False)):
            schemas = {name: convert(part, closed) for name, part in self.document["components"]["schemas"].items()}
            root = DRAFT202012.create_resource({"components": {"schemas": schemas}})
            registry = registry.with_resource(address, root)
        return registry

    def resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in node:
            target: Any = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def problems(self, schema: dict[str, Any], value: Any) -> list[str]:
        key = json.dumps(schema, sort_keys=True)
        if key not in self._validators:
            self._validators[key] = Draft202012Validator(
                convert(schema), registry=self._registry, format_checker=formats
            )
        validator = self._validators[key]
        if validator.is_valid(value):
            return []
        found = best_match(validator.iter_errors(value))
        return [f"{found.json_path}: {found.message[:300]}"] if found else []

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
        for operation in self.operations:
            if operation.method == method and (match := operation.pattern.match(path)):
                return operation, match.groupdict()
        return None


@cache
def load() -> OpenApi:
    return OpenApi()

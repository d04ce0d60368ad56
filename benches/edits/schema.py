"""Checks a call against a tool's input schema: the subset of JSON Schema that the server's schemas use, and unknown keys."""

from __future__ import annotations

from typing import Any

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}


def problems(value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
    """What of a value its schema refuses; a key that the schema does not name is refused, as the server does."""
    kind = schema.get("type")
    if kind in ("integer", "number"):
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, TYPES.get(str(kind), object))
    if not fits:
        return [f"{where} is no {kind}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where} is none of {schema['enum']}")
    if kind == "object":
        properties = schema.get("properties", {})
        found += [f"{where}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, part in value.items():
            found += problems(part, properties[key], f"{where}.{key}") if key in properties else [f"{where}.{key} is unknown"]
    if kind == "array":
        for index, part in enumerate(value):
            found += problems(part, schema.get("items", {}), f"{where}[{index}]")
    return found

"""Schemas as arguments."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from atds.errors import SchemaError

#: A schema: its JSON text, or the parsed JSON.
Schema: TypeAlias = "str | bytes | dict[str, Any] | list[Any]"


def schema_text(schema: Any) -> str:
    """A schema as JSON text.

    Raises:
        SchemaError: The value cannot be JSON.
    """
    try:
        if isinstance(schema, (bytes, bytearray)):
            return schema.decode()
        return schema if isinstance(schema, str) else json.dumps(schema)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"a schema must be JSON text, or the value that json.loads returns for it: {error}"
        ) from None

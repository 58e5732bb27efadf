"""Write docs/benchmark.schema.json, the JSON schema of benchmarks in YAML: `python docs/benchmark_schema.py`."""

from __future__ import annotations

import json
from pathlib import Path

from t2i_yaml_benchmarks.benchmark import make_schema

FILE = Path(__file__).with_name("benchmark.schema.json")


def text() -> str:
    """Return the schema as it should be."""
    head = {"title": "A benchmark of t2i", "description": "What `t2i eval --metric yaml:FILE` reads."}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **make_schema(), **head}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

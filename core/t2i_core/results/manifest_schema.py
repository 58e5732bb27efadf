"""The shape of run.json, checked when a run is read: whoever reads a manifest may rely on these fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..api.text import fit_one_line

Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1 << 53)]
Seed = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
Interval = Annotated[list[Number | None], Field(min_length=2, max_length=2)]


class _Part(BaseModel):
    """Any part of run.json; what another version has added is passed over."""

    model_config = ConfigDict(strict=True, extra="ignore")


class _Request(_Part):
    metrics: list[str]
    prompts: list[str]
    seeds: list[Seed]
    interval: Literal["new", "prompts", "seeds"]
    noise: Literal["shared", "per-prompt"]


class _Component(_Part):
    name: str
    dist: str
    version: str
    options: dict[str, Any]
    fingerprint: str


class _Model(_Component):
    settings: dict[str, Any]


class _TakingPart(_Component):
    kind: str
    metric_version: Count = 1


class _Device(_Part):
    asked: str


class _Judge(_Part):
    metric: str
    need: str
    judge: str
    why: str
    floor: Number = 0.0


class _Chosen(_Part):
    name: str
    why: str


class _ChosenFor(_Chosen):
    need: str


class _Score(_Part):
    value: Number | None
    ci: Interval
    notes: list[str] = []


class _UpperBound(_Part):
    model: str
    value: Number | None
    ci: Interval | None


class _Result(_Part):
    metric: str
    label: str = Field(alias="as")
    judge: _Chosen | None
    judges: list[_ChosenFor]
    prompts: str
    score: Number | None
    ci: Interval | None
    interval: str | None
    upper_bound: _UpperBound | None = None
    notes: list[str] = []
    n_prompts: Count
    n_prompts_ok: Count | None = None
    n_seeds: Count
    n_ok: Count
    n_failed: Count
    n_missing: Count
    n_excluded: Count
    scores: dict[str, _Score]
    facets: dict[str, dict[str, dict[str, _Score]]]


class _Comparison(_Part):
    metric: str
    a: str
    b: str
    diff: Number | None
    ci: Interval
    p: Number | None
    n: Count
    interval: str


class _Manifest(_Part):
    plan: str
    status: Literal["running", "done", "failed"]
    failed: str | None = None
    started: str
    finished: str | None = None
    t2i: str
    command: list[str]
    request: _Request
    models: dict[str, _Model]
    components: list[_TakingPart]
    device: _Device
    python: str
    platform: str
    judges: list[_Judge]
    results: list[_Result] = []
    comparisons: list[_Comparison] = []
    files: dict[str, str] = {}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.status != "running" and self.finished is None:
            raise ValueError("the run has ended, but 'finished' is missing")
        labels = [result.label for result in self.results]
        labels += [label for comparison in self.comparisons for label in (comparison.a, comparison.b)]
        if unknown := next((label for label in labels if label not in self.models), None):
            raise ValueError(f"the results name the model {unknown!r}, which is not among the models")
        return self


def find_manifest_fault(manifest: Any) -> str | None:
    """Return what is wrong with the fields of a manifest, in one line; None if nothing is.

    Args:
        manifest: The content of run.json.
    """
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return fit_one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": "))
    except (RecursionError, OverflowError) as error:
        return fit_one_line(str(error))
    return None

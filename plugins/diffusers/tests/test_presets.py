"""The presets: data that fit the classes that they are for."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import GeneratorInfo, Preset
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators
from t2i_diffusers.presets import KNOWN, KnownModel

WANTED = {
    *(
        "sd14",
        "sd15",
        "sd2",
        "sdxl",
        "sdxl-turbo",
        "sd3",
        "unclip",
        "if",
        "if-xl",
        "kandinsky21",
        "kandinsky3",
        "ldm",
    ),
    *("pixart-sigma", "hunyuan-dit", "flux", "playground-v2", "openjourney", "sd14-ae", "sd2-ae"),
    *("sd35", "flux2", "qwen-image", "sana", "z-image"),
}


def test_the_papers_models_are_there() -> None:
    assert {known.name for known in KNOWN} >= WANTED


def test_each_component_is_entered_and_none_else() -> None:
    entered = {
        e.name: e.value for e in entry_points(group="t2i.generators") if e.value.startswith("t2i_diffusers.")
    }
    assert entered == {info.name: "t2i_diffusers.plugin" for info in t2i_generators()}


@pytest.mark.parametrize("known", KNOWN, ids=lambda k: k.name)
def test_its_class_accepts_its_settings(known: KnownModel) -> None:
    import diffusers
    from t2i_diffusers.calls import call_arguments, call_of
    from t2i_diffusers.schedulers import find_scheduler

    options = DiffusersOptions(**known.options)
    classes = {"": known.pipeline, **known.stage_pipelines}
    assert classes.keys() == {"", *options.stages}
    for option, name in classes.items():
        own: Any = options.stages[option] if option else options
        cls = getattr(diffusers, name)
        call = call_of(cls, own)
        assert call.keys() <= call_arguments(cls).keys()
        find_scheduler(own, {"_class_name": name, "scheduler": ["diffusers", "PNDMScheduler"]})
    assert call_of(getattr(diffusers, known.pipeline), options), "a preset without settings is none"


@pytest.mark.parametrize("known", KNOWN, ids=lambda k: k.name)
def test_it_says_what_a_user_must_know(known: KnownModel) -> None:
    preset = known.preset()
    assert preset.about.licence
    assert 1 < (preset.about.memory_gb or 0) < 200
    assert preset.summary.endswith(".")
    assert preset.argument == known.repository
    assert preset.options.get("revision") == known.revision
    assert known.revision is None or re.fullmatch("[0-9a-f]{40}", known.revision)
    assert preset.argument.count("/") == 1


@pytest.mark.parametrize("known", KNOWN, ids=lambda k: k.name)
def test_the_readme_has_its_row(known: KnownModel) -> None:
    rows = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8").splitlines()
    (row,) = (row for row in rows if row.startswith(f"| `{known.name}` |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == f"`{known.repository}`"
    assert cells[3:] == [known.licence, f"{known.memory_gb:g}"]
    for option in ("steps", "guidance", "width"):
        assert option not in known.options or f"{known.options[option]:g}" in cells[2]


def test_a_revision_is_an_option_like_others() -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    known = replace(KNOWN[0], revision=commit)
    assert DiffusersOptions(**known.preset().options) == DiffusersOptions(**KNOWN[0].options, revision=commit)


def test_deprecated_pipelines_say_so() -> None:
    by_name = {info.name: info for info in t2i_generators()}
    for name in ("unclip", "sd14-ae", "sd2-ae", "attend-excite"):
        assert "no longer maintains" in by_name[name].about.notes


def test_attend_and_excite_reads_the_scene_and_its_presets_are_of_it() -> None:
    by_name = {info.name: info for info in t2i_generators()}
    assert isinstance(by_name["attend-excite"], GeneratorInfo)
    assert by_name["attend-excite"].reads_scene
    assert not by_name["diffusers"].reads_scene
    for name in ("sd14-ae", "sd2-ae"):
        preset = by_name[name]
        assert isinstance(preset, Preset)
        assert preset.of == "t2i-diffusers/attend-excite"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sd14", {"num_inference_steps": 50, "guidance_scale": 7.5, "height": 512, "width": 512, "eta": 0.0}),
        ("if", {"num_inference_steps": 100, "guidance_scale": 7.0}),
        (
            "unclip",
            {
                "prior_num_inference_steps": 25, "prior_guidance_scale": 4.0, "decoder_num_inference_steps": 25,
                "decoder_guidance_scale": 8.0, "super_res_num_inference_steps": 7,
            },
        ),
    ],
)  # fmt: skip
def test_the_calls_of_tiam(name: str, expected: dict[str, Any]) -> None:
    import diffusers
    from t2i_diffusers.calls import call_of

    known = next(k for k in KNOWN if k.name == name)
    assert call_of(getattr(diffusers, known.pipeline), DiffusersOptions(**known.options)) == expected


def test_guidance_of_unclip_sets_prior_and_decoder() -> None:
    import diffusers
    from t2i_diffusers.calls import call_of

    known = next(k for k in KNOWN if k.name == "unclip")
    preset = call_of(diffusers.UnCLIPPipeline, DiffusersOptions(**known.options))
    call = call_of(diffusers.UnCLIPPipeline, DiffusersOptions(**known.options, guidance=7.5))
    assert call == {**preset, "prior_guidance_scale": 7.5, "decoder_guidance_scale": 7.5}

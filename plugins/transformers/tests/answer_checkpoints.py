"""Small checkpoints of models that answer questions, with random weights, saved by transformers' own functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

WORDS = (
    "Yes",
    "No",
    "yes",
    "no",
    "red",
    "Red",
    " blue",
    "light",
    " and",
    "the first",
    "The first",
    "the second",
    "The second",
)
IMAGE_MARKS = {
    "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
    "video_token": "<video>",
}  # fmt: skip
_TEXT = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2}


def _stir(network: Any, std: float = 0.3) -> Any:
    """Random weights, large enough for images and words to turn answers."""
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=std)
    return network


def save_qwen25(folder: Path, tiny: Any) -> Path:
    return tiny.save_qwen(folder, words=WORDS)


def save_qwen3(folder: Path, tiny: Any) -> Path:
    """A Qwen3-VL, whose vision tower gives features to several layers."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

    words = tiny.chat_tokenizer(WORDS)
    mark = words.convert_tokens_to_ids
    torch.manual_seed(0)
    config = Qwen3VLConfig(
        text_config={
            **_TEXT, "vocab_size": len(words), "num_hidden_layers": 3, "head_dim": 16,
            "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 1e4},
            "eos_token_id": mark("<|im_end|>"), "pad_token_id": mark("<|endoftext|>"),
        },
        vision_config={
            "depth": 3, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 32,
            "patch_size": 4, "spatial_merge_size": 2, "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0, 1],
        },
        image_token_id=mark("<|image_pad|>"), video_token_id=mark("<|video_pad|>"),
        vision_start_token_id=mark("<|vision_start|>"), vision_end_token_id=mark("<|vision_end|>"),
    )  # fmt: skip
    _stir(Qwen3VLForConditionalGeneration(config)).save_pretrained(folder)
    Qwen3VLProcessor(
        Qwen2VLImageProcessor(patch_size=4, merge_size=2, min_pixels=64, max_pixels=1024),
        words,
        Qwen3VLVideoProcessor(patch_size=4, merge_size=2),
        chat_template=tiny.CHAT,
    ).save_pretrained(folder)
    return folder


def save_internvl(folder: Path, tiny: Any) -> Path:
    """An InternVL, which cuts an image into tiles."""
    from transformers import InternVLConfig, InternVLForConditionalGeneration, InternVLProcessor
    from transformers.models.got_ocr2.image_processing_got_ocr2 import GotOcr2ImageProcessor
    from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor

    words = tiny.chat_tokenizer(WORDS, **IMAGE_MARKS)
    mark = words.convert_tokens_to_ids
    torch.manual_seed(0)
    config = InternVLConfig(
        text_config={
            **_TEXT, "model_type": "qwen2", "vocab_size": len(words), "num_hidden_layers": 2,
            "eos_token_id": mark("<|im_end|>"), "pad_token_id": mark("<|endoftext|>"),
        },
        vision_config={
            "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
            "image_size": [16, 16], "patch_size": [4, 4],
        },
        image_token_id=mark("<IMG_CONTEXT>"), image_seq_length=4,
    )  # fmt: skip
    _stir(InternVLForConditionalGeneration(config)).save_pretrained(folder)
    template = tiny.CHAT.replace("<|vision_start|><|image_pad|><|vision_end|>", "<IMG_CONTEXT>")
    InternVLProcessor(
        GotOcr2ImageProcessor(size={"height": 16, "width": 16}, crop_to_patches=True, max_patches=4),
        words,
        InternVLVideoProcessor(size={"height": 16, "width": 16}),
        image_seq_length=4,
        chat_template=template,
    ).save_pretrained(folder)
    return folder


def save_paligemma(folder: Path, tiny: Any) -> Path:
    """A PaliGemma, which has no chat, and reads its question in both directions."""
    from transformers import (
        PaliGemmaConfig,
        PaliGemmaForConditionalGeneration,
        PaliGemmaProcessor,
        SiglipImageProcessor,
    )

    words = tiny.chat_tokenizer(WORDS)
    words.bos_token = "<|im_start|>"
    pictures = SiglipImageProcessor(size={"height": 16, "width": 16})
    pictures.image_seq_length = 4
    processor = PaliGemmaProcessor(pictures, words)
    torch.manual_seed(0)
    config = PaliGemmaConfig(
        text_config={
            **_TEXT, "model_type": "gemma2", "vocab_size": len(words), "num_hidden_layers": 2, "head_dim": 16,
            "eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id,
        },
        vision_config={
            "model_type": "siglip_vision_model", "hidden_size": 32, "intermediate_size": 32,
            "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 16, "patch_size": 8,
            "vision_use_head": False,
        },
        image_token_index=words.convert_tokens_to_ids("<image>"), projection_dim=32, hidden_size=32,
    )  # fmt: skip
    _stir(PaliGemmaForConditionalGeneration(config)).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_gemma3(folder: Path, tiny: Any) -> Path:
    """A Gemma 3, whose tokens of an image see each other, and whose other layers see a few tokens only."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration, Gemma3ImageProcessor, Gemma3Processor

    marks = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    words = tiny.chat_tokenizer(WORDS, **marks)
    torch.manual_seed(0)
    config = Gemma3Config(
        text_config={
            **_TEXT, "vocab_size": len(words), "num_hidden_layers": 2, "head_dim": 16, "sliding_window": 32,
            "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 16,
            "eos_token_id": words.convert_tokens_to_ids("<|im_end|>"), "pad_token_id": words.pad_token_id,
        },
        vision_config={
            "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
            "image_size": 16, "patch_size": 4, "vision_use_head": False,
        },
        mm_tokens_per_image=4, image_token_index=words.convert_tokens_to_ids("<image_soft_token>"),
        boi_token_index=words.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=words.convert_tokens_to_ids("<end_of_image>"),
    )  # fmt: skip
    _stir(Gemma3ForConditionalGeneration(config)).save_pretrained(folder)
    Gemma3Processor(
        Gemma3ImageProcessor(size={"height": 16, "width": 16}),
        words,
        image_seq_length=4,
        chat_template=tiny.CHAT.replace("<|vision_start|><|image_pad|><|vision_end|>", "<start_of_image>"),
    ).save_pretrained(folder)
    return folder


SAVED = {
    "gemma3": save_gemma3,
    "qwen25": save_qwen25,
    "qwen3": save_qwen3,
    "internvl": save_internvl,
    "paligemma": save_paligemma,
}


def save_blip_vqa(folder: Path, tiny: Any) -> Path:
    """A BLIP for questions, at 32 pixels."""
    from transformers import BertTokenizer, BlipConfig, BlipForQuestionAnswering, BlipImageProcessor
    from transformers.models.blip import BlipProcessor

    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    words = {word: n for n, word in enumerate([*special, *tiny.WORDS, "yes", "no", "?", "light"])}
    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BlipConfig(
        text_config={
            **small, "vocab_size": len(words) + 2, "encoder_hidden_size": 16, "bos_token_id": len(words),
            "sep_token_id": 3, "eos_token_id": 3, "pad_token_id": 0, "max_position_embeddings": 64,
        },
        vision_config={**small, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )  # fmt: skip
    _stir(BlipForQuestionAnswering(config), 0.5).save_pretrained(folder)
    BlipProcessor(
        BlipImageProcessor(size={"height": 32, "width": 32}), BertTokenizer(vocab=words)
    ).save_pretrained(folder)
    return folder


def save_flant5(folder: Path, parts: int = 1, safe: bool = False) -> Path:
    """A CLIP-FlanT5 in the published layout: `pytorch_model.bin`, or parts with an index, and T5's tokenizer."""
    from safetensors.torch import save_file
    from transformers import CLIPVisionConfig, CLIPVisionModel, T5Config, T5ForConditionalGeneration, T5Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(33, 127)]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((letter, -4.0) for letter in letters)]
    pieces += [(word, -1.0) for word in ("▁Yes", "▁No", "▁red", "▁light", "▁blue", "▁Red")]
    words = T5Tokenizer(vocab=pieces, extra_ids=0)
    words.save_pretrained(folder)
    torch.manual_seed(0)
    text = T5Config(
        vocab_size=len(words), d_model=32, d_kv=8, d_ff=32, num_layers=2, num_decoder_layers=2, num_heads=4,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0,
    )  # fmt: skip
    t5 = _stir(T5ForConditionalGeneration(text), 0.2)
    tower = CLIPVisionModel(
        CLIPVisionConfig(
            hidden_size=64, intermediate_size=32, num_hidden_layers=3, num_attention_heads=1, image_size=16,
            patch_size=4,
        )
    )  # fmt: skip
    _stir(tower, 0.2)
    projector = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.Linear(32, 32))
    state = {key: value.clone() for key, value in t5.state_dict().items()}
    state["embed_tokens.weight"] = state["shared.weight"].clone()
    prefix = "vision_tower.vision_tower.vision_model."
    state |= {
        prefix + key.removeprefix("vision_model."): value.clone() for key, value in tower.state_dict().items()
    }
    state[f"{prefix}embeddings.position_ids"] = torch.arange(17)[None]
    state |= {f"mm_projector.{key}": value.clone() for key, value in projector.state_dict().items()}
    config = {**text.to_dict(), "model_type": "clip_t5", "architectures": ["CLIPT5ForConditionalGeneration"]}
    config |= {"mm_vision_tower": "openai/clip-vit-large-patch14-336", "mm_projector_type": "mlp2x_gelu"}
    config |= {"mm_hidden_size": 64, "mm_vision_select_layer": -2, "mm_vision_select_feature": "patch"}
    (folder / "config.json").write_text(json.dumps(config))
    kind, save = ("model", save_file) if safe else ("pytorch_model", torch.save)
    end = "safetensors" if safe else "bin"
    if parts == 1:
        save(state, folder / f"{kind}.{end}")
        return folder
    keys = sorted(state)
    where = {}
    for number in range(parts):
        name = f"{kind}-{number + 1:05d}-of-{parts:05d}.{end}"
        own = keys[number::parts]
        save({key: state[key] for key in own}, folder / name)
        where |= dict.fromkeys(own, name)
    (folder / f"{kind}.{end}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def save_hpsv3(folder: Path, tiny: Any) -> tuple[Path, Path]:
    """A HPSv3 with the keys of the published file, and the folder of the Qwen2-VL that it was trained from."""
    from safetensors.torch import save_file
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLProcessor
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    words = tiny.chat_tokenizer()
    mark = words.convert_tokens_to_ids
    torch.manual_seed(0)
    config = Qwen2VLConfig(
        text_config={
            **_TEXT, "vocab_size": len(words) + 1, "num_hidden_layers": 2, "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 1e4},
            "eos_token_id": mark("<|im_end|>"), "pad_token_id": mark("<|endoftext|>"),
        },
        vision_config={
            "depth": 1, "embed_dim": 32, "num_heads": 2, "hidden_size": 32, "patch_size": 14,
            "spatial_merge_size": 2,
        },
        image_token_id=mark("<|image_pad|>"), video_token_id=mark("<|video_pad|>"),
        vision_start_token_id=mark("<|vision_start|>"), vision_end_token_id=mark("<|vision_end|>"),
    )  # fmt: skip
    network = _stir(Qwen2VLForConditionalGeneration(config), 0.1)
    base = folder / "base"
    config.text_config.vocab_size = len(words)  # Qwen2-VL has no token of HPSv3's
    config.save_pretrained(base)
    Qwen2VLProcessor(
        Qwen2VLImageProcessor(patch_size=14, merge_size=2),
        words,
        Qwen2VLVideoProcessor(patch_size=14, merge_size=2),
        chat_template=tiny.CHAT,
    ).save_pretrained(base)
    state = {}
    for key, value in network.state_dict().items():  # the names of transformers 4.45
        old = key.replace("model.language_model.", "model.").replace("model.visual.", "visual.")
        state[old] = value.clone()
    head = torch.nn.Sequential(
        torch.nn.Linear(32, 1024), torch.nn.ReLU(), torch.nn.Dropout(0.05), torch.nn.Linear(1024, 16),
        torch.nn.ReLU(), torch.nn.Linear(16, 2),
    )  # fmt: skip
    state |= {f"rm_head.{key}": value.clone() for key, value in head.state_dict().items()}
    save_file(state, folder / "HPSv3.safetensors")
    return folder, base

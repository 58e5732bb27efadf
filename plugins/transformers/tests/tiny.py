"""Small checkpoints of transformers' own classes, with random or hand-set weights, saved by its own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as PILImage
from t2i_core.api import ObjectClass, Query, Setup
from t2i_core.api.image import Image, load_image
from t2i_torch_support.coco_classes import CLASSES
from t2i_transformers import plugin

COCO_91 = dict(enumerate(["N/A", *CLASSES, *["N/A"] * 10]))
"""COCO's 80 classes among 91 numbers, as DETR's."""
PETS = {0: "cat", 1: "dog", 2: "hat"}
WORDS = ["a", "cat", "dog", "car", "sits", "on", "the", "red", "grass", "with", "two", "blue", "and", "is"]
PixelSize = dict[str, int]


def detr_config(**changes: Any) -> Any:
    from transformers import DetrConfig, ResNetConfig

    backbone = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", out_features=["stage2"]
    )
    small = dict.fromkeys(("encoder_layers", "decoder_layers"), 1)
    small |= dict.fromkeys(("d_model", "encoder_ffn_dim", "decoder_ffn_dim"), 16)
    small |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    return DetrConfig(**{"backbone_config": backbone, "num_queries": 12, "id2label": COCO_91, **small, **changes})


def save_detr(folder: Path, change: Callable[[Any], None] = lambda network: None, **config: Any) -> Path:
    """A DETR that resizes images to 48 pixels at the shorter side."""
    from transformers import DetrForObjectDetection, DetrImageProcessor

    torch.manual_seed(0)
    network = DetrForObjectDetection(detr_config(**config))
    torch.nn.init.normal_(network.class_labels_classifier.weight, std=2)
    for layer in network.bbox_predictor.layers:
        torch.nn.init.normal_(layer.weight, std=0.5)
    change(network)
    network.save_pretrained(folder)
    DetrImageProcessor(size={"shortest_edge": 48, "longest_edge": 80}).save_pretrained(folder)
    return folder


def rt_detr(kin: str = "RTDetr") -> Any:
    """An RT-DETR or one of its kin, and a processor that makes a square of 64 pixels of each image."""
    import transformers
    from transformers import RTDetrImageProcessor, RTDetrResNetConfig

    backbone = RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    small = dict.fromkeys(("d_model", "encoder_hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 16)
    small |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    config = getattr(transformers, f"{kin}Config")(
        backbone_config=backbone, freeze_backbone_batch_norms=False, encoder_in_channels=[8, 16, 16],
        decoder_in_channels=[16, 16, 16], decoder_layers=2, num_queries=12, num_denoising=6, id2label=PETS,
        **small,
    )  # fmt: skip
    return getattr(transformers, f"{kin}ForObjectDetection")(config), RTDetrImageProcessor(
        size={"height": 64, "width": 64}
    )


def save_coloured(folder: Path, kind: str) -> Path:
    """A detector with a head of three colours, its queries told apart by large weights."""
    from t2i_transformers.coloured_network import Coloured
    from transformers import DetrForObjectDetection, DetrImageProcessor

    torch.manual_seed(0)
    if kind == "detr":
        network: Any = DetrForObjectDetection(detr_config(id2label=PETS))
        processor: Any = DetrImageProcessor(size={"shortest_edge": 48, "longest_edge": 80})
        torch.nn.init.normal_(network.class_labels_classifier.weight, std=2)
        for weight in network.model.decoder.parameters():  # so large that its queries differ
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=1)
    else:
        network, processor = rt_detr(kind)
        for head in network.model.decoder.class_embed:
            torch.nn.init.normal_(head.weight, std=2)
    classes = [ObjectClass(name, {"hat": None}.get(name, f"{name}.n.01")) for name in PETS.values()]
    coloured = Coloured(network, classes, ("red", "blue", "natural"))
    torch.nn.init.normal_(coloured.head.weight, std=2)
    coloured.save(processor, folder)
    return folder


def save_mask2former(folder: Path, size: PixelSize, change: Callable[[Any], None] = lambda network: None) -> Path:
    from transformers import (
        Mask2FormerConfig,
        Mask2FormerForUniversalSegmentation,
        Mask2FormerImageProcessor,
        SwinConfig,
    )

    torch.manual_seed(0)
    swin = SwinConfig(
        image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )  # fmt: skip
    names = {0: "cat", 1: "dog", 2: "car", 3: "something else"}
    network = Mask2FormerForUniversalSegmentation(
        Mask2FormerConfig(
            backbone_config=swin, feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=16,
            dim_feedforward=16, encoder_layers=1, decoder_layers=2, num_attention_heads=2, num_queries=9,
            id2label=names,
        )
    )  # fmt: skip
    torch.nn.init.normal_(network.class_predictor.weight, std=1)
    change(network)
    network.save_pretrained(folder)
    Mask2FormerImageProcessor(size=size).save_pretrained(folder)
    return folder


def save_vit(folder: Path, **config: Any) -> Path:
    """A classifier of images of 32 pixels."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    names = {0: "normal", 1: "nsfw", 2: "drawing"}
    network = ViTForImageClassification(
        ViTConfig(**{**small, "image_size": 32, "patch_size": 8, "id2label": names, **config})
    )
    torch.nn.init.normal_(network.classifier.weight)
    network.save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def save_blip(folder: Path) -> Path:
    from transformers import BertTokenizer, BlipConfig, BlipForConditionalGeneration, BlipImageProcessor
    from transformers.models.blip import BlipProcessor

    vocab = {w: n for n, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BlipConfig(
        text_config={
            **small, "vocab_size": len(vocab) + 1, "encoder_hidden_size": 16, "bos_token_id": len(vocab),
            "sep_token_id": 3, "eos_token_id": 3, "pad_token_id": 0, "max_position_embeddings": 64,
        },
        vision_config={**small, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )  # fmt: skip
    network = BlipForConditionalGeneration(config)
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5)
    network.save_pretrained(folder)
    BlipProcessor(
        BlipImageProcessor(size={"height": 32, "width": 32}), BertTokenizer(vocab=vocab)
    ).save_pretrained(folder)
    return folder


def clip_tokenizer() -> Any:
    from transformers import CLIPTokenizer

    letters = [chr(c) for c in range(33, 127)]
    pieces = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={piece: n for n, piece in enumerate(pieces)}, merges=[])


def save_clip(folder: Path) -> Path:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

    tokenizer = clip_tokenizer()
    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    CLIPModel(
        CLIPConfig(
            text_config={**small, **ends, "vocab_size": len(tokenizer), "max_position_embeddings": 24},
            vision_config={**small, "image_size": 32, "patch_size": 8},
            projection_dim=8,
            initializer_factor=10.0,
        )
    ).save_pretrained(folder)
    CLIPProcessor(
        CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}), tokenizer
    ).save_pretrained(folder)
    return folder


def save_siglip(folder: Path) -> Path:
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    tokenizer = clip_tokenizer()
    network = SiglipModel(
        SiglipConfig(
            text_config={
                **small, "vocab_size": len(tokenizer), "max_position_embeddings": 24,
                "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
                "pad_token_id": tokenizer.pad_token_id,
            },
            vision_config={**small, "image_size": 32, "patch_size": 8},
        )
    )  # fmt: skip
    network.logit_scale.data.fill_(2)
    network.logit_bias.data.fill_(0.5)
    network.save_pretrained(folder)
    SiglipProcessor(SiglipImageProcessor(size={"height": 32, "width": 32}), tokenizer).save_pretrained(folder)
    return folder


CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
SAYS = ("Image", " A", " follows", " it", ".", "\n\n", "[[A]]", "<|im_end|>")


def chat_tokenizer(words: Sequence[str] = (), **named: str) -> Any:
    """Letters, the marks of a conversation, and some words; named marks of a model."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import Qwen2Tokenizer

    vocab = {letter: n for n, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = Qwen2Tokenizer(vocab=vocab, merges=[], **({"extra_special_tokens": named} if named else {}))
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS[1:])})
    tokenizer.add_tokens([*(word for word in SAYS if word not in MARKS), *words])
    return tokenizer


def save_qwen(folder: Path, says: tuple[str, ...] = (), words: Sequence[str] = ()) -> Path:
    """A Qwen2.5-VL; one that says something has no memory: each token makes it say a certain next one."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
    )
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    tokenizer = chat_tokenizer(words)
    mark = tokenizer.convert_tokens_to_ids
    torch.manual_seed(0)
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer), "hidden_size": 320, "intermediate_size": 32, "num_hidden_layers": 1,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "mrope_section": [10, 15, 15], "rope_theta": 1e4},
            "eos_token_id": mark("<|im_end|>"), "bos_token_id": None, "pad_token_id": mark("<|endoftext|>"),
        },
        vision_config={
            "depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 320,
            "patch_size": 4, "spatial_merge_size": 2, "window_size": 16, "fullatt_block_indexes": [0],
        },
        image_token_id=mark("<|image_pad|>"), video_token_id=mark("<|video_pad|>"),
        vision_start_token_id=mark("<|vision_start|>"), vision_end_token_id=mark("<|vision_end|>"),
        tie_word_embeddings=False,
    )  # fmt: skip
    network = Qwen2_5_VLForConditionalGeneration(config)
    if says:
        _teach(network, [mark(word) for word in ("\u010a", *says)])
    else:  # large enough for images to turn words
        for parameter in network.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.3)
    network.save_pretrained(folder)
    Qwen2_5_VLProcessor(
        Qwen2VLImageProcessor(patch_size=4, merge_size=2, min_pixels=64, max_pixels=1024),
        tokenizer,
        Qwen2VLVideoProcessor(patch_size=4, merge_size=2),
        chat_template=CHAT,
    ).save_pretrained(folder)
    return folder


def _teach(network: Any, chain: list[int]) -> None:
    """Let the layers add nothing to the last token, and the head know which one follows it."""
    with torch.no_grad():
        for layer in network.model.language_model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        words = network.get_input_embeddings().weight
        words.copy_(torch.eye(*words.shape))
        network.lm_head.weight.zero_()
        for token, following in pairwise(chain):
            network.lm_head.weight[following, token] = 1


def sizes(folder: Path) -> list[Image]:
    """Five images of three sizes."""
    found = []
    for number, size in enumerate([(60, 40), (40, 40), (60, 40), (33, 57), (40, 40)]):
        rng = np.random.default_rng(number)
        pixels = rng.integers(0, 256, (size[1], size[0], 3)) // 3 + np.linspace(0, 160, size[0])[None, :, None]
        file = folder / f"image-{number}.png"
        PILImage.fromarray(pixels.astype(np.uint8)).save(file)
        found.append(load_image(file))
    return found


OFFERED = {offered.name: offered for offered in plugin.t2i_judges()}


def made(name: str, argument: Any, batch_size: int | None = None, **options: Any) -> Any:
    """A judge of this plugin, on the CPU, without a network."""
    info = OFFERED[name]
    return info.create(Setup(str(argument), info.options(**options), "cpu", batch_size, offline=True))


def ask(judge: Any, capability: str, queries: Sequence[Query]) -> list[Any]:
    """A judge's answers, in the order of the queries."""
    answers = list(judge.observe(capability, iter(queries)))
    assert all(answered is query for (answered, _), query in zip(answers, queries, strict=True))
    return [answer for _, answer in answers]

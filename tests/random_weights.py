"""Models of the real classes with random weights, a few hundred kilobytes each, as their libraries save them."""

from __future__ import annotations

from pathlib import Path


def save_stable_diffusion_2(folder: Path) -> Path:
    """Save a Stable Diffusion 2 (base): its parts and settings, with fewer and narrower layers."""
    import diffusers
    import torch
    import transformers

    torch.manual_seed(0)
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    characters = [chr(c) for c in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    words = [*characters, *(f"{c}</w>" for c in characters), "<|startoftext|>", "<|endoftext|>"]
    text_encoder = transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, hidden_act="gelu", projection_dim=32, bos_token_id=512, eos_token_id=513,
            pad_token_id=0,
        )
    )  # fmt: skip
    unet = diffusers.UNet2DConditionModel(
        sample_size=64, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=8, cross_attention_dim=32,
        attention_head_dim=(2, 4), use_linear_projection=True,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    vae = diffusers.AutoencoderKL(
        block_out_channels=(16,) * 4, layers_per_block=1, latent_channels=4, norm_num_groups=8, sample_size=512,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
    )  # fmt: skip
    scheduler = diffusers.PNDMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", skip_prk_steps=True,
        set_alpha_to_one=False, steps_offset=1, prediction_type="epsilon",
    )  # fmt: skip
    tokenizer = transformers.CLIPTokenizer(
        vocab={word: n for n, word in enumerate(words)}, merges=[], model_max_length=77, pad_token="!"
    )
    diffusers.StableDiffusionPipeline(
        vae=vae, text_encoder=text_encoder, tokenizer=tokenizer, unet=unet, scheduler=scheduler,
        safety_checker=None, feature_extractor=transformers.CLIPImageProcessor(), requires_safety_checker=False,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def save_yolov8_seg(file: Path) -> Path:
    """Save a YOLOv8 segmenter of COCO's classes, with fewer channels."""
    import torch
    import yaml
    from t2i_torch_support.coco_classes import CLASSES
    from t2i_ultralytics.library import tasks  # first: it keeps ultralytics from writing settings
    from ultralytics import YOLO

    torch.manual_seed(0)
    config = tasks.yaml_model_load("yolov8n-seg.yaml")
    config |= {"nc": len(CLASSES), "scale": "t", "scales": {"t": [0.33, 0.125, 256]}}
    described = file.with_name("described.yaml")
    described.write_text(yaml.safe_dump({key: value for key, value in config.items() if key != "yaml_file"}))
    model = YOLO(str(described), task="segment")
    model.model.names = dict(enumerate(CLASSES))
    model.save(file)
    return file


def save_mask2former(folder: Path) -> Path:
    """Save a Mask2Former with a Swin backbone and COCO's classes."""
    import torch
    from t2i_torch_support.coco_classes import CLASSES
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
    config = Mask2FormerConfig(
        backbone_config=swin, feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=16,
        dim_feedforward=16, encoder_layers=1, decoder_layers=2, num_attention_heads=2, num_queries=9,
        id2label=dict(enumerate(CLASSES)),
    )  # fmt: skip
    Mask2FormerForUniversalSegmentation(config).save_pretrained(folder)
    Mask2FormerImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder

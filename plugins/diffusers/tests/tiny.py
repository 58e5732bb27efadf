"""Checkpoints of the real classes with random weights, a few thousand parameters, saved as the library saves them.

Each builder makes the pipeline of one class; `CASES` says which options a case is run with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import diffusers as d
import torch
import transformers as t

CHAT = (
    "{% for m in messages if m.role != 'system' %}<|im_start|>{{ m.role }}\n"
    "{{ m.content if m.content is string else m.content[0].text }}"
    "<|im_end|>\n{% endfor %}"
)
LETTERS = [chr(c) for c in range(33, 127)]


def _bytes() -> list[str]:
    """The 256 characters that byte-level tokenizers write bytes with."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(c) for c in plain] + [chr(256 + i) for i in range(256 - len(plain))]


def clip_tokenizer() -> Any:
    characters = _bytes()
    vocab = {c: i for i, c in enumerate([*characters, *(f"{c}</w>" for c in characters)])}
    vocab |= {"<|startoftext|>": 512, "<|endoftext|>": 513}
    return t.CLIPTokenizer(vocab=vocab, merges=[], model_max_length=77)


def t5_tokenizer(length: int = 512) -> Any:
    pieces = ["<pad>", "</s>", "<unk>", "▁", *LETTERS, *(f"▁{c}" for c in LETTERS)]
    vocab = [(piece, 0.0 if i < 3 else -2.0) for i, piece in enumerate(pieces)]
    return t.T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=length)


def bert_tokenizer() -> Any:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS)]
    return t.BertTokenizer(vocab={w: i for i, w in enumerate(words)}, model_max_length=77)


def xlm_tokenizer() -> Any:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *LETTERS, *(f"▁{c}" for c in LETTERS), "<mask>"]
    return t.XLMRobertaTokenizer(vocab=[(p, 0.0 if i < 4 else -2.0) for i, p in enumerate(pieces)])


def qwen_tokenizer() -> Any:
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocab = {c: i for i, c in enumerate([*_bytes(), *specials])}
    tokenizer = t.Qwen2Tokenizer(vocab=vocab, merges=[], model_max_length=2048)
    tokenizer.add_special_tokens({"additional_special_tokens": specials[1:]})
    tokenizer.chat_template = CHAT
    return tokenizer


def gemma_tokenizer() -> Any:
    pieces = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *LETTERS]
    return t.GemmaTokenizer(vocab={p: i for i, p in enumerate(pieces)}, merges=[], model_max_length=2048)


def clip_text(projection: bool = False, width: int = 16) -> Any:
    config = t.CLIPTextConfig(
        vocab_size=514, hidden_size=width, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        projection_dim=width, bos_token_id=512, eos_token_id=513, pad_token_id=513,
    )  # fmt: skip
    return (t.CLIPTextModelWithProjection if projection else t.CLIPTextModel)(config).eval()


def t5(width: int = 32) -> Any:
    config = t.T5Config(vocab_size=256, d_model=width, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    return t.T5EncoderModel(config).eval()


def qwen3(model: Any) -> Any:
    return model(
        t.Qwen3Config(
            vocab_size=259, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, head_dim=8, max_position_embeddings=2048,
        )
    ).eval()  # fmt: skip


def vae(latent_channels: int = 4, blocks: int = 2, **changes: Any) -> Any:
    return d.AutoencoderKL(
        block_out_channels=(8,) * blocks, layers_per_block=1, latent_channels=latent_channels, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * blocks, up_block_types=("UpDecoderBlock2D",) * blocks,
        **changes,
    )  # fmt: skip


def unet(**changes: Any) -> Any:
    settings: dict[str, Any] = {
        "sample_size": 16, "layers_per_block": 1, "block_out_channels": (8, 16), "norm_num_groups": 4,
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"), "attention_head_dim": 4,
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"), "cross_attention_dim": 16, **changes,
    }  # fmt: skip
    return d.UNet2DConditionModel(**settings)


SIMPLE_BLOCKS = {
    "down_block_types": ("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
    "up_block_types": ("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
    "mid_block_type": "UNetMidBlock2DSimpleCrossAttn",
    "resnet_time_scale_shift": "scale_shift",
    "block_out_channels": (32, 64),  # these blocks have norms of 32 groups
    "norm_num_groups": 32,
}


def movq(blocks: int = 2) -> Any:
    plain = blocks - 1
    return d.VQModel(
        block_out_channels=(32,) * blocks, layers_per_block=1, latent_channels=4, norm_type="spatial",
        down_block_types=("DownEncoderBlock2D",) * plain + ("AttnDownEncoderBlock2D",), num_vq_embeddings=12,
        up_block_types=("AttnUpDecoderBlock2D",) + ("UpDecoderBlock2D",) * plain, vq_embed_dim=4,
    )  # fmt: skip


def safety_checker(blanks: bool) -> Any:
    """The filter of Stable Diffusion, which finds everything, or nothing, unsafe."""
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker

    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "image_size": 32, "patch_size": 16,
    }  # fmt: skip
    checker = StableDiffusionSafetyChecker(t.CLIPConfig(vision_config=vision, projection_dim=16))
    thresholds = -2.0 if blanks else 2.0  # of cosines
    for weights in (checker.concept_embeds_weights, checker.special_care_embeds_weights):
        weights.data.fill_(thresholds)
    for embeds in (checker.concept_embeds, checker.special_care_embeds):
        embeds.data.normal_()
    return checker


def image_processor() -> Any:
    return t.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})


def stable_diffusion(checker: Any = None) -> Any:
    return d.StableDiffusionPipeline(
        vae=vae(), text_encoder=clip_text(), tokenizer=clip_tokenizer(), unet=unet(), safety_checker=checker,
        scheduler=d.PNDMScheduler(skip_prk_steps=True, steps_offset=1),
        requires_safety_checker=checker is not None,
        feature_extractor=image_processor() if checker is not None else None,
    )  # fmt: skip


def stable_diffusion_xl() -> Any:
    return d.StableDiffusionXLPipeline(
        vae=vae(), text_encoder=clip_text(), text_encoder_2=clip_text(projection=True),
        tokenizer=clip_tokenizer(), tokenizer_2=clip_tokenizer(), scheduler=d.EulerDiscreteScheduler(),
        unet=unet(cross_attention_dim=32, addition_embed_type="text_time", addition_time_embed_dim=8,
                  projection_class_embeddings_input_dim=64),
    )  # fmt: skip


def stable_diffusion_3() -> Any:
    return d.StableDiffusion3Pipeline(
        vae=vae(shift_factor=0.1, use_quant_conv=False, use_post_quant_conv=False),
        text_encoder=clip_text(projection=True), text_encoder_2=clip_text(projection=True), text_encoder_3=t5(),
        tokenizer=clip_tokenizer(), tokenizer_2=clip_tokenizer(), tokenizer_3=t5_tokenizer(),
        scheduler=d.FlowMatchEulerDiscreteScheduler(),
        transformer=d.SD3Transformer2DModel(
            sample_size=16, patch_size=2, in_channels=4, out_channels=4, num_layers=2, attention_head_dim=8,
            num_attention_heads=2, caption_projection_dim=16, joint_attention_dim=32, pooled_projection_dim=32,
        ),
    )  # fmt: skip


def unclip() -> Any:
    def upscaler() -> Any:
        return d.UNet2DModel(
            sample_size=32, layers_per_block=1, block_out_channels=(32, 32), in_channels=6,
            out_channels=3, down_block_types=("ResnetDownsampleBlock2D",) * 2, attention_head_dim=4,
            up_block_types=("ResnetUpsampleBlock2D",) * 2,
        )  # fmt: skip

    def scheduler(variance: str, **changes: Any) -> Any:
        return d.UnCLIPScheduler(variance_type=variance, num_train_timesteps=1000, **changes)

    from diffusers.pipelines.deprecated.unclip.text_proj import UnCLIPTextProjModel

    return d.UnCLIPPipeline(
        prior=prior_transformer(), text_encoder=clip_text(projection=True), tokenizer=clip_tokenizer(),
        text_proj=UnCLIPTextProjModel(clip_embeddings_dim=16, time_embed_dim=128, cross_attention_dim=16),
        decoder=unet(in_channels=3, out_channels=6, class_embed_type="identity", **SIMPLE_BLOCKS),
        super_res_first=upscaler(), super_res_last=upscaler(),
        prior_scheduler=scheduler("fixed_small_log", prediction_type="sample", clip_sample_range=5.0),
        decoder_scheduler=scheduler("learned_range", prediction_type="epsilon"),
        super_res_scheduler=scheduler("fixed_small_log", prediction_type="epsilon"),
    )  # fmt: skip


def prior_transformer() -> Any:
    prior = d.PriorTransformer(num_attention_heads=2, attention_head_dim=8, num_layers=1, embedding_dim=16)
    prior.clip_std.data.fill_(1.0)  # of zeros, embeddings would all be one
    return prior


def _if_scheduler() -> Any:
    return d.DDPMScheduler(
        beta_schedule="squaredcos_cap_v2", thresholding=True, sample_max_value=1.0, variance_type="learned_range"
    )


def _if_unet(**changes: Any) -> Any:
    return unet(
        out_channels=6, cross_attention_dim=32, encoder_hid_dim=32, addition_embed_type="text",
        addition_embed_type_num_heads=2, cross_attention_norm="group_norm", act_fn="gelu", **SIMPLE_BLOCKS,
        **changes,
    )  # fmt: skip


def deepfloyd_if() -> Any:
    return d.IFPipeline(
        tokenizer=t5_tokenizer(), text_encoder=t5(), unet=_if_unet(in_channels=3), scheduler=_if_scheduler(),
        safety_checker=None, feature_extractor=None, watermarker=None, requires_safety_checker=False,
    )  # fmt: skip


def deepfloyd_if_upscaler() -> Any:
    return d.IFSuperResolutionPipeline(
        tokenizer=t5_tokenizer(), text_encoder=t5(),
        unet=_if_unet(in_channels=6, sample_size=32, class_embed_type="timestep", mid_block_scale_factor=1.414,
                      time_embedding_act_fn="gelu", time_embedding_dim=32),
        scheduler=_if_scheduler(), image_noising_scheduler=_if_scheduler(),
        safety_checker=None, feature_extractor=None, watermarker=None, requires_safety_checker=False,
    )  # fmt: skip


def kandinsky_prior() -> Any:
    vision = t.CLIPVisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32,
        patch_size=16, projection_dim=16,
    )  # fmt: skip
    return d.KandinskyPriorPipeline(
        prior=prior_transformer(), image_encoder=t.CLIPVisionModelWithProjection(vision).eval(),
        text_encoder=clip_text(projection=True), tokenizer=clip_tokenizer(), image_processor=image_processor(),
        scheduler=d.UnCLIPScheduler(
            variance_type="fixed_small_log", prediction_type="sample", num_train_timesteps=1000,
            clip_sample_range=10.0
        ),
    )  # fmt: skip


def kandinsky() -> Any:
    from diffusers.pipelines.kandinsky.text_encoder import MCLIPConfig, MultilingualCLIP

    text = MCLIPConfig(
        numDims=16, transformerDimensions=16, transformerDimSize=16, imageDimSize=16, hidden_size=16,
        intermediate_size=16, num_attention_heads=2, num_hidden_layers=1, vocab_size=256, pad_token_id=1,
        max_position_embeddings=514,
    )  # fmt: skip
    return d.KandinskyPipeline(
        text_encoder=MultilingualCLIP(text).eval(), tokenizer=xlm_tokenizer(), movq=movq(),
        scheduler=d.DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1,
        prediction_type="epsilon"),
        unet=unet(in_channels=4, out_channels=8, addition_embed_type="text_image", encoder_hid_dim=16,
                  encoder_hid_dim_type="text_image_proj", **SIMPLE_BLOCKS),
    )  # fmt: skip


def kandinsky3() -> Any:
    return d.Kandinsky3Pipeline(
        tokenizer=t5_tokenizer(), text_encoder=t5(), movq=movq(4), scheduler=d.DDPMScheduler(),
        unet=d.Kandinsky3UNet(time_embedding_dim=4, groups=2, attention_head_dim=4, layers_per_block=3,
                              block_out_channels=(8, 16), cross_attention_dim=4, encoder_hid_dim=32),
    )  # fmt: skip


def ldm() -> Any:
    from diffusers.pipelines.latent_diffusion.pipeline_latent_diffusion import LDMBertConfig, LDMBertModel

    bert = LDMBertConfig(
        vocab_size=256, max_position_embeddings=77, encoder_layers=1, encoder_ffn_dim=16,
        encoder_attention_heads=2,
        head_dim=8, d_model=16,
    )  # fmt: skip
    return d.LDMTextToImagePipeline(
        vqvae=vae(blocks=4),
        bert=LDMBertModel(bert).eval(),
        tokenizer=bert_tokenizer(),
        unet=unet(),
        scheduler=d.DDIMScheduler(),
    )


def pixart_sigma() -> Any:
    return d.PixArtSigmaPipeline(
        tokenizer=t5_tokenizer(), text_encoder=t5(), vae=vae(), scheduler=d.DPMSolverMultistepScheduler(),
        transformer=d.PixArtTransformer2DModel(
            sample_size=16, num_layers=2, patch_size=2, attention_head_dim=8, num_attention_heads=2,
            caption_channels=32,
            in_channels=4, cross_attention_dim=16, out_channels=8,
        ),
    )  # fmt: skip


def hunyuan_dit() -> Any:
    bert = t.BertConfig(
        vocab_size=256, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=80,
    )  # fmt: skip
    return d.HunyuanDiTPipeline(
        vae=vae(blocks=4), text_encoder=t.BertModel(bert).eval(), tokenizer=bert_tokenizer(), text_encoder_2=t5(),
        tokenizer_2=t5_tokenizer(256), scheduler=d.DDPMScheduler(), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False,
        transformer=d.HunyuanDiT2DModel(
            sample_size=16, num_layers=2, patch_size=2, attention_head_dim=8, num_attention_heads=2, in_channels=4,
            cross_attention_dim=16, cross_attention_dim_t5=32, pooled_projection_dim=16, hidden_size=16,
        ),
    )  # fmt: skip


def flux() -> Any:
    return d.FluxPipeline(
        scheduler=d.FlowMatchEulerDiscreteScheduler(), text_encoder=clip_text(), text_encoder_2=t5(),
        tokenizer=clip_tokenizer(), tokenizer_2=t5_tokenizer(),
        vae=vae(1, shift_factor=0.1, scaling_factor=1.5, use_quant_conv=False, use_post_quant_conv=False),
        transformer=d.FluxTransformer2DModel(
            patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
            guidance_embeds=True,
            num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8),
        ),
    )  # fmt: skip


def _flux2_parts(text_width: int) -> dict[str, Any]:
    return {
        "scheduler": d.FlowMatchEulerDiscreteScheduler(),
        "vae": d.AutoencoderKLFlux2(
            block_out_channels=(4, 4), layers_per_block=1, latent_channels=1, norm_num_groups=1,
            down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        ),
        "transformer": d.Flux2Transformer2DModel(
            patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
            num_attention_heads=2, joint_attention_dim=text_width, timestep_guidance_channels=16,
            axes_dims_rope=(4, 4, 4, 4),
        ),
    }  # fmt: skip


def flux2_klein() -> Any:
    return d.Flux2KleinPipeline(
        text_encoder=qwen3(t.Qwen3ForCausalLM), tokenizer=qwen_tokenizer(), **_flux2_parts(32)
    )


def flux2() -> Any:
    text = {
        "vocab_size": 262, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 1024, "model_type": "mistral",
    }  # fmt: skip
    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 16, "model_type": "pixtral",
    }  # fmt: skip
    tokenizer = qwen_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["[IMG]", "[IMG_BREAK]", "[IMG_END]"]})
    processor = t.PixtralProcessor(t.PixtralImageProcessor(), tokenizer, chat_template=CHAT)
    config = t.Mistral3Config(text_config=text, vision_config=vision, image_token_index=259)
    return d.Flux2Pipeline(
        text_encoder=t.Mistral3ForConditionalGeneration(config).eval(), tokenizer=processor, **_flux2_parts(32)
    )


def qwen_image() -> Any:
    text = {
        "vocab_size": 259, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2, "rope_parameters": {"mrope_section": [1, 1, 2], "rope_type": "default"},
        "max_position_embeddings": 2048,
    }  # fmt: skip
    vision = {
        "depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 16,
        "fullatt_block_indexes": [0],
    }  # fmt: skip
    config = t.Qwen2_5_VLConfig(text_config=text, vision_config=vision)
    return d.QwenImagePipeline(
        text_encoder=t.Qwen2_5_VLForConditionalGeneration(config).eval(), tokenizer=qwen_tokenizer(),
        scheduler=d.FlowMatchEulerDiscreteScheduler(),
        vae=d.AutoencoderKLQwenImage(
            base_dim=8, z_dim=4, dim_mult=[1, 2], num_res_blocks=1, temperal_downsample=[False],
            latents_mean=[0.1, 0.0, -0.1, 0.2], latents_std=[0.8, 1.0, 1.2, 1.5],
        ),
        transformer=d.QwenImageTransformer2DModel(
            patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=16, axes_dims_rope=(8, 4, 4),
        ),
    )  # fmt: skip


def sana() -> Any:
    text = t.Gemma2Config(
        vocab_size=128, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, head_dim=8,
    )  # fmt: skip
    return d.SanaPipeline(
        tokenizer=gemma_tokenizer(), text_encoder=t.Gemma2Model(text).eval(),
        scheduler=d.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=d.AutoencoderDC(
            latent_channels=4, attention_head_dim=2, encoder_block_types=("ResBlock", "EfficientViTBlock"),
            decoder_block_types=("ResBlock", "EfficientViTBlock"), encoder_block_out_channels=(8, 8),
            decoder_block_out_channels=(8, 8), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((),
            (5,)),
            encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), downsample_block_type="Conv",
            upsample_block_type="interpolate", decoder_norm_types="rms_norm", decoder_act_fns="silu",
        ),
        transformer=d.SanaTransformer2DModel(
            patch_size=1, in_channels=4, out_channels=4, num_layers=1, num_attention_heads=2, attention_head_dim=8,
            num_cross_attention_heads=2, cross_attention_head_dim=8, cross_attention_dim=16, caption_channels=16,
            sample_size=16,
        ),
    )  # fmt: skip


def z_image() -> Any:
    return d.ZImagePipeline(
        scheduler=d.FlowMatchEulerDiscreteScheduler(), text_encoder=qwen3(t.Qwen3Model),
        tokenizer=qwen_tokenizer(),
        vae=vae(shift_factor=0.1, use_quant_conv=False, use_post_quant_conv=False),
        transformer=d.ZImageTransformer2DModel(
            in_channels=4, dim=32, n_layers=1, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=16,
            axes_dims=[8, 4, 4], axes_lens=[512, 32, 32],
        ),
    )  # fmt: skip


SMALL = {"height": 32, "width": 32}


@dataclass(frozen=True)
class Case:
    """How one pipeline class is tested.

    options:  beyond two steps
    stages:   builders of further pipelines, by option
    """

    build: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, Callable[[], Any]] = field(default_factory=dict)
    of: str = "diffusers"


CASES: dict[str, Case] = {
    "StableDiffusionPipeline": Case(stable_diffusion, {"steps": 2}),
    "StableDiffusionXLPipeline": Case(stable_diffusion_xl, {"steps": 2, **SMALL}),
    "StableDiffusion3Pipeline": Case(stable_diffusion_3, {"steps": 2, **SMALL}),
    "UnCLIPPipeline": Case(
        unclip, {"call": {"prior_num_inference_steps": 3, "super_res_num_inference_steps": 2}, "steps": 2}
    ),
    "IFPipeline": Case(
        deepfloyd_if,
        {"steps": 3, "guidance": 2.0, "upscaler": {"steps": 2, "guidance": 2.0}},
        {"upscaler": deepfloyd_if_upscaler},
    ),
    "KandinskyPipeline": Case(kandinsky, {"steps": 2, **SMALL, "prior": {"steps": 3}}, {"prior": kandinsky_prior}),
    "Kandinsky3Pipeline": Case(kandinsky3, {"steps": 2, "height": 64, "width": 64}),
    "LDMTextToImagePipeline": Case(ldm, {"steps": 2, "guidance": 7.5, **SMALL}),
    "PixArtSigmaPipeline": Case(pixart_sigma, {"steps": 2, **SMALL, "call": {"use_resolution_binning": False}}),
    "HunyuanDiTPipeline": Case(hunyuan_dit, {"steps": 2, **SMALL, "call": {"use_resolution_binning": False}}),
    "FluxPipeline": Case(flux, {"steps": 2, **SMALL, "call": {"max_sequence_length": 48}}),
    "Flux2Pipeline": Case(
        flux2, {"steps": 2, **SMALL, "call": {"text_encoder_out_layers": [1, 2], "max_sequence_length": 80}}
    ),
    "Flux2KleinPipeline": Case(
        flux2_klein, {"steps": 2, **SMALL, "call": {"text_encoder_out_layers": [1, 2], "max_sequence_length": 96}}
    ),
    "QwenImagePipeline": Case(qwen_image, {"steps": 2, "guidance": 4.0, "negative_prompt": " ", **SMALL}),
    "SanaPipeline": Case(
        sana,
        {
            "steps": 2,
            **SMALL,
            "call": {"use_resolution_binning": False, "complex_human_instruction": ["Prompt: "]},
        },
    ),
    "ZImagePipeline": Case(z_image, {"steps": 2, "guidance": 3.0, **SMALL, "call": {"max_sequence_length": 96}}),
    "StableDiffusionAttendAndExcitePipeline": Case(
        stable_diffusion,
        {"steps": 2, "call": {"max_iter_to_alter": 2, "thresholds": {}}},
        of="attend-excite",
    ),
}


def save(build: Callable[[], Any], folder: Path, seed: int = 0) -> Path:
    """Save the pipeline that a builder makes, with weights drawn from a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        pipe = build()
        for part in pipe.components.values():
            if isinstance(part, torch.nn.Module):
                _liven(part)
    pipe.save_pretrained(folder)
    _as_published(folder / "model_index.json")
    return folder


def _as_published(index: Path) -> None:
    """Karlo's index names the package of its text projection as it was before diffusers moved it."""
    index.write_text(
        index.read_text().replace('"diffusers",\n    "UnCLIPTextProj', '"unclip",\n    "UnCLIPTextProj')
    )


_OF_TEXT = (
    "context_embedder",
    "txt_in",
    "cap_embedder",
    "caption_projection",
    "to_k",
    "to_v",
    "add_k_proj",
    "add_v_proj",
)


def _liven(module: Any) -> None:
    """Give weights that start at zero (last layers of many models) something to say, and texts a louder voice."""
    for name, parameter in module.named_parameters():
        if parameter.ndim > 1 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.2)
        elif parameter.ndim == 2 and any(part in name for part in _OF_TEXT):
            parameter.data.mul_(5.0)

"""`object-attention` on `mini`, held to a literal computation on the files of its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import t2i_miniworld
from t2i_core import evaluate
from t2i_core.api.errors import NoJudge

MINI = Path(t2i_miniworld.__file__).parent / "weights" / "mini"
PROMPTS = {
    "car+elephant": ("a photo of a car and an elephant", "car", "elephant"),
    "zebra+refrigerator": ("a photo of a zebra and a refrigerator", "zebra", "refrigerator"),
}


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(np.float64), b.astype(np.float64)  # the files have half precision
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def compute_cosines(text: str, first: str, second: str) -> dict[tuple[str, str, str], float]:
    """The cosines by measure, layer and head, from the checkpoint's files; the heads are as its card says."""
    import torch
    from safetensors.numpy import load_file
    from transformers import AutoTokenizer, CLIPTextModel

    tokenizer = AutoTokenizer.from_pretrained(MINI / "tokenizer")
    encoder = CLIPTextModel.from_pretrained(MINI / "text_encoder", dtype=torch.float32).eval()
    ids = tokenizer(text, padding="max_length", max_length=tokenizer.model_max_length)["input_ids"]
    with torch.inference_mode():
        states = encoder(torch.tensor([ids]))[0][0].numpy()
    words = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in (first, second)]
    assert all(len(own) == 1 for own in words), "each of these words is one token"
    places = [ids.index(own[0]) for own in words]
    tables = load_file(MINI / "text_encoder" / "model.safetensors")
    table = next(array for name, array in tables.items() if name.endswith("token_embedding.weight"))
    found = {
        ("state_cosine", "", ""): cosine(*(states[place] for place in places)),
        ("embedding_cosine", "", ""): cosine(*(table[own[0]] for own in words)),
    }
    weights = load_file(MINI / "unet" / "diffusion_pytorch_model.safetensors")
    for name in weights:
        layer, _, part = name.removesuffix(".weight").rpartition(".")
        if not layer.endswith("attn2") or part not in ("to_k", "to_v"):
            continue
        measure = {"to_k": "key_cosine", "to_v": "value_cosine"}[part]
        a, b = (weights[name].astype(np.float64) @ states[place] for place in places)
        for head in range(len(a) // 32):  # its heads have 32 numbers each
            part_of = slice(32 * head, 32 * (head + 1))
            found[measure, layer, str(head)] = cosine(a[part_of], b[part_of])
    return found


@pytest.mark.long
def test_cosines_are_those_of_the_weights_of_mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    evaluate("object-attention", "mini", prompts="tiam-5-2", out=tmp_path / "run", device="cpu")
    rows = pd.read_csv(tmp_path / "run" / "measurements.csv", dtype={"layer": str, "head": str})
    for prompt, texts in PROMPTS.items():
        own = rows[rows["prompt"] == prompt].fillna({"layer": "", "head": ""})
        measured = dict(
            zip(zip(own["measure"], own["layer"], own["head"], strict=True), own["value"], strict=True)
        )
        expected = compute_cosines(*texts)
        assert measured.keys() == expected.keys()
        assert len(measured) == 2 + 2 * (3 + 5 + 5 + 5 + 3 + 3 + 5), "heads of the seven layers"
        for key, value in expected.items():
            assert measured[key] == pytest.approx(value, abs=1e-5), key


def test_models_without_attention_get_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(NoJudge, match="asks the model itself for attention, which generator 'simulator'") as error:
        evaluate("object-attention", "simulator", prompts="tiam-5-2", out=tmp_path / "run")
    assert "\n" not in str(error.value)

"""Labels: held against NLTK's names for WordNet 3.0, of which only digests stand here."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import make_senses
import pytest
from t2i_core.api import ObjectClass
from t2i_timm import synsets

#: SHA-256 of the names that NLTK's reader gives timm's wnids, one a line, in timm's order.
NLTK = {
    "imagenet-1k": (1000, "4036558b4aff67bf58cdc1f57026d01e360709ec2bc1bc1c171f83302e68a5ec"),
    "imagenet-12k": (11821, "8f656f4295b8c8b9cd26d0e5d884f8861ca3162762490e184a42213d6fc7d64c"),
    "imagenet-21k-goog": (21843, "5c5d04267552fe632c05f25d220de0b3df70c12742f6c23e658d45733b8e13e4"),
    "imagenet-21k-miil": (11221, "24aca5a6aeec99793cae17cfdca9d759ee6692d1eb4b1bc0a0875d7c7b6dcbb1"),
    "imagenet-22k": (21841, "1b8e10303d4b629124a9e0550fb882d00365df4a1449d9716c14597821b37ca9"),
    "imagenet-22k-ms": (21842, "eb05c76025df724a60a9dddb247266e0a7ec364bf2b6a42b77250974c356cd04"),
}


@pytest.mark.parametrize("name", synsets.LISTS)
def test_every_synset_is_named_as_nltk_names_it(name: str) -> None:
    labels = synsets.labels(name)
    count, digest = NLTK[name]
    assert len(labels) == len({label.synset for label in labels}) == count
    assert hashlib.sha256("\n".join(label.synset or "" for label in labels).encode()).hexdigest() == digest
    assert synsets.find_list(count) == name


def test_known_classes() -> None:
    assert synsets.make_class("n02084071") == ObjectClass("dog", "dog.n.01")
    assert synsets.make_class("n01440764") == ObjectClass("tench", "tench.n.01")
    assert synsets.make_class("n02108551") == ObjectClass("Tibetan mastiff", "tibetan_mastiff.n.01")
    with pytest.raises(KeyError):
        synsets.make_class("n00001740")  # entity is not a class of ImageNet


def test_classes_of_one_name_are_two() -> None:
    labels = synsets.labels("imagenet-1k")
    assert [(i, x.synset) for i, x in enumerate(labels) if x.name == "crane"] == [
        (134, "crane.n.05"), (517, "crane.n.04"),
    ]  # fmt: skip
    assert [(i, x.synset) for i, x in enumerate(labels) if x.name == "maillot"] == [
        (638, "maillot.n.02"), (639, "maillot.n.01"),
    ]  # fmt: skip
    assert not labels[134].same_as(labels[517])


def test_lists_are_timms() -> None:
    from timm.data import ImageNetInfo

    for name in synsets.LISTS:
        info = ImageNetInfo(name)
        assert list(synsets.wnids(name)) == info.label_names()
        for wnid, label in zip(synsets.wnids(name), synsets.labels(name), strict=True):
            assert info.label_name_to_description(wnid).split(", ")[0] == label.name


def test_neither_timm_nor_torch_is_imported() -> None:
    code = (
        "import sys, json, t2i_timm.plugin as p; from t2i_timm.options import ClassifierOptions as O;"
        "n = len(p._torchvision_labels('vit_b_16.IMAGENET1K_V1', O()));"
        "print(json.dumps([n, [m for m in ('torch', 'timm', 'torchvision', 'numpy') if m in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [1000, []]


def test_a_checkpoints_own_names() -> None:
    assert synsets.classes(["n02084071", "cat.n.01", "street_sign.n.01", "my cup", "n99999999"]) == (
        ObjectClass("dog", "dog.n.01"),
        ObjectClass("cat", "cat.n.01"),
        ObjectClass("street sign", "street_sign.n.01"),
        ObjectClass("my cup"),
        ObjectClass("n99999999"),
    )


def test_senses_are_read_from_wordnets_own_files(tmp_path: Path) -> None:
    (tmp_path / "index.noun").write_text(
        "  1 This software and database\n"
        "crane n 3 2 @ ~ 3 1 11172597 02012849 03126707  \n"
        "tench n 1 1 @ 1 0 01440764  \n"
    )
    (tmp_path / "data.noun").write_text(
        "  1 This software and database\n"
        "01440764 05 n 02 tench 0 Tinca_tinca 0 001 @ 01439121 n 0000 | freshwater dace-like game fish\n"
        "02012849 05 n 01 crane 0 001 @ 02000954 n 0000 | large long-necked wading bird\n"
        "03126707 06 n 01 crane 0 001 @ 03281145 n 0000 | lifts and moves heavy objects\n"
        "11172597 18 n 02 Crane 0 Hart_Crane 0 001 @i 10444194 n 0000 | United States poet\n"
    )
    assert make_senses.read_senses(tmp_path) == {"n01440764": 1, "n02012849": 2, "n03126707": 3, "n11172597": 1}

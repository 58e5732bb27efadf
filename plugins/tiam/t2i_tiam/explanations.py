"""Explanations of the metrics for readers, and the paper to cite."""

from t2i_core.api import About

PAPER = About(
    citation="Grimal, Le Borgne, Ferret, Tourille: TIAM - A Metric for Evaluating Alignment in Text-to-Image "
    "Generation. WACV 2024. arXiv:2307.05134",
    bibtex="""\
@inproceedings{grimal2024tiam,
  title = {{TIAM} - A Metric for Evaluating Alignment in Text-to-Image Generation},
  author = {Grimal, Paul and Le Borgne, Herv{\\'e} and Ferret, Olivier and Tourille, Julien},
  booktitle = {Proceedings of the IEEE/CVF Winter Conference on Applications of Computer Vision (WACV)},
  year = {2024},
  eprint = {2307.05134},
  archivePrefix = {arXiv}
}""",
)
TIAM = PAPER.overlay(
    About(
        meaning="Share of images in which the judge finds every object of the prompt, each in its colour if the "
        "prompt gives it one. 1 means that no image lacks anything.",
        limits="Extra objects, numbers, positions and the quality of images do not count. An object that the "
        "judge does not recognise counts as missing. Colours follow the paper's eight reference colours: "
        "mid-grey counts as blue, pure blue of a screen as purple.",
    )
)
COSINE = PAPER.overlay(
    About(
        meaning="How similar the two objects of a prompt are to a text encoder, as the cosine of their "
        "embeddings. It uses no images; the paper asks whether models draw similar objects together less often.",
        limits="Says nothing about images: it is neither good nor bad, and serves to explain a model's TIAM by "
        "pair.",
    )
)
ATTENTION = PAPER.overlay(
    About(
        meaning="How similar the two objects of a prompt are inside the model: in its text encoder, and in the "
        "keys and values of its cross-attention. It uses no images; the paper compares it with TIAM by pair.",
        limits="Says nothing about images, and is neither good nor bad. Only models whose text encoder and "
        "cross-attention can be read have it.",
    )
)

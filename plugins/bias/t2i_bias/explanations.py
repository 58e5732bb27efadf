"""Explanations of the metric for readers, and the paper to cite."""

from t2i_core.api import About

PAPER = About(
    citation="Cho, Zala, Bansal: DALL-Eval - Probing the Reasoning Skills and Social Biases of Text-to-Image "
    "Generative Transformers. arXiv:2202.04053, first version",
    bibtex="""\
@article{cho2022dalleval,
  title = {{DALL-Eval}: Probing the Reasoning Skills and Social Biases of Text-to-Image Generative Transformers},
  author = {Cho, Jaemin and Zala, Abhay and Bansal, Mohit},
  journal = {arXiv preprint arXiv:2202.04053v1},
  year = {2022}
}""",
)
BIAS = PAPER.overlay(
    About(
        meaning="How far the people in a model's images are from an even distribution over the categories of a "
        "group, if the prompts do not specify them. 0 is even; with two categories .5 means that all votes are "
        "for one.",
        limits="Categories describe only how people look to a judge, not who they are. CLIP's votes on race "
        "hardly agree with people's (Cohen's kappa below .1 in the paper). An unbiased model scores above 0 by "
        "chance, votes exaggerate, and by default images without a person vote, too.",
    )
)

"""Explanations of the metrics for readers, and the paper to cite."""

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
_LIMITS = (
    "21 objects in short prompts. The detector's errors are part of the score: see the upper bound, its score "
    "on right images. "
)
_MEANINGS = {
    "object": (
        "Share of images whose most confident detection is the object that the prompt names.",
        f"{_LIMITS}Other objects in the image count against it only if they are detected with more confidence.",
    ),
    "count": (
        "Share of images with exactly the requested number, one to four, of the object that the prompt names.",
        f"{_LIMITS}Objects that overlap are easily counted wrongly.",
    ),
    "color": (
        "Share of images whose most confident detection is the object that the prompt names, in the requested "
        "one of six colours.",
        f"{_LIMITS}By default a colour must only win against the other five of the paper.",
    ),
    "spatial": (
        "Share of images whose two most confident detections are the prompt's two objects, the second one left "
        "of, right of, above or below the first one as requested.",
        f"{_LIMITS}Chance finds some relations right, and a third object that is more confident makes the image "
        "wrong. Two objects of one class only need the right axis.",
    ),
}
ABOUT_SKILLS = {
    skill: PAPER.overlay(About(meaning=text, limits=limits)) for skill, (text, limits) in _MEANINGS.items()
}
PAINTSKILLS = PAPER.overlay(
    About(
        meaning="Mean of four shares of right images: the object that the prompt names, its number, its colour, "
        "and the position of two objects to each other.",
        limits=f"{_LIMITS}The mean hides which skill is missing: read the four shares.",
    )
)
R_PRECISION = PAPER.overlay(
    About(
        meaning="Share of images that a CLIP model finds closer to their own prompt than to other prompts, 99 by "
        "default. 1 means that every image is recognised by its prompt.",
        limits="Depends on the other prompts: it is easy among unlike ones. CLIP mostly ignores word order and "
        "numbers, and truncates long prompts.",
    )
)

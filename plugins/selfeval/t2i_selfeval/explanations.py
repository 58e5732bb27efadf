"""Explanations of the metrics for readers, and the papers to cite."""

from t2i_core.api import About

PAPER = About(
    citation="Rambhatla, Misra: SelfEval: Leveraging the discriminative nature of generative models for "
    "evaluation. arXiv:2311.10708",
    bibtex="""\
@article{rambhatla2023selfeval,
  title = {{SelfEval}: Leveraging the discriminative nature of generative models for evaluation},
  author = {Rambhatla, Sai Saketh and Misra, Ishan},
  journal = {arXiv preprint arXiv:2311.10708},
  year = {2023}
}""",
)
ELBO_PAPER = About(
    citation="Li et al.: Your Diffusion Model is Secretly a Zero-Shot Classifier. ICCV 2023",
    bibtex="""\
@inproceedings{li2023diffusionclassifier,
  title = {Your Diffusion Model is Secretly a Zero-Shot Classifier},
  author = {Li, Alexander C. and Prabhudesai, Mihir and Duggal, Shivam and Brown, Ellis and Pathak, Deepak},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year = {2023}
}""",
)
WINOGROUND_PAPER = About(
    citation="Thrush et al.: Winoground - Probing Vision and Language Models. CVPR 2022",
    bibtex="""\
@inproceedings{thrush2022winoground,
  title = {Winoground: Probing Vision and Language Models for Visio-Linguistic Compositionality},
  author = {Thrush, Tristan and Jiang, Ryan and Bartolo, Max and Singh, Amanpreet and Williams, Adina and
            Kiela, Douwe and Ross, Candace},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  year = {2022}
}""",
)
_LIMITS = (
    "Measures recognition, not generation: a model may recognise what it does not draw. Compares the choices of "
    "models, not their likelihoods. "
)
SELFEVAL = PAPER.overlay(
    About(
        meaning="How much more often than by guessing the model picks the right caption of an image, by how "
        "likely the image is to it under each caption. 0 is guessing; no other model judges.",
        limits=f"{_LIMITS}Few trials or steps make it noisy. Flow models have no such likelihood.",
    )
)
ELBO = ELBO_PAPER.overlay(
    About(
        meaning="How much more often than by guessing the model picks the right caption of an image: the one with "
        "which it predicts the image's noise best. 0 is guessing; no other model judges.",
        limits=f"{_LIMITS}The error is a bound on the likelihood, not the likelihood itself.",
    )
)
CLIP = PAPER.overlay(
    About(
        meaning="How much more often than by guessing a CLIP model picks the right caption of an image, on the "
        "samples of `selfeval`. It is the baseline of that metric: 0 is guessing.",
        limits="Says nothing about a text-to-image model: only the judge is measured.",
    )
)
WINOGROUND = WINOGROUND_PAPER.overlay(
    About(
        meaning="Of two images and two captions with the same words in another order, how often the model finds "
        "each image more likely with its own caption. Guessing gives .25, and .167 for the group score.",
        limits=f"{_LIMITS}The image score of all models of the paper is below chance: likelihoods differ more "
        "between images than between captions.",
    )
)
WINOGROUND_CLIP = About(
    meaning="Of two images and two captions with the same words in another order, how often a CLIP model finds "
    "each image closer to its own caption. Guessing gives .25, and .167 for the group score.",
    limits="Says nothing about a text-to-image model: only the judge is measured.",
)

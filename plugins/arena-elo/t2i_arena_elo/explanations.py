"""Explanations of the metrics for readers, and the papers to cite."""

from t2i_core.api import About

PAPER = About(
    citation="Moskvoretskii et al.: Do I look like a cat.n.01 to you? A Taxonomy Image Generation Benchmark. "
    "2025. arXiv:2503.10357",
    bibtex="""\
@article{moskvoretskii2025taxonomy,
  title = {Do {I} look like a cat.n.01 to you? {A} Taxonomy Image Generation Benchmark},
  author = {Moskvoretskii, Viktor and Lobanova, Alina and Neminova, Ekaterina and Biemann, Chris and
            Panchenko, Alexander and Nikishina, Irina},
  journal = {arXiv preprint arXiv:2503.10357},
  year = {2025}
}""",
)
_BRADLEY_TERRY = """\
@article{bradley1952rank,
  title = {Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons},
  author = {Bradley, Ralph Allan and Terry, Milton E.},
  journal = {Biometrika},
  year = {1952}
}"""
ELO = PAPER.overlay(
    About(
        meaning="A rating from pairwise comparisons of images: which of two models' images is better? The mean "
        "of the compared models is 1000; a lead of 400 points means ten wins for each loss.",
        limits="Ratings are relative to the compared models and prompts, and say nothing about absolute "
        "quality. They include the judge's taste, and its preference for the first or second image, of which "
        "only a part is corrected. A model that never wins or never loses has no finite rating.",
        citation=f"{PAPER.citation}; Bradley and Terry 1952",
        bibtex=f"{PAPER.bibtex}\n{_BRADLEY_TERRY}",
        notes="Asks a judge about every pair of images in both orders; elo.share samples the pairs, elo.active "
        "draws those that tell most, and elo.protocol=taxonomy asks once for each prompt, as the benchmark does.",
    )
)
REWARD = PAPER.overlay(
    About(
        meaning="Mean of the scores that a reward model gives to the images for their prompts. Most reward models "
        "learnt from people's preferences: higher means better liked.",
        limits="A reward has its judge's own scale, so rewards of different judges do not compare. It mixes "
        "looks and fit to the prompt, and repeats the taste of the people in the judge's training data.",
    )
)

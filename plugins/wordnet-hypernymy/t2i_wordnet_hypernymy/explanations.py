"""Explanations of the metrics for readers, and the papers to cite."""

from t2i_core.api import About

HYPERNYMY = About(
    citation="Baryshnikov, Ryabinin: Hypernymy Understanding Evaluation of Text-to-Image Models via WordNet "
    "Hierarchy. 2023. arXiv:2310.09247",
    bibtex="""\
@article{baryshnikov2023hypernymy,
  title = {Hypernymy Understanding Evaluation of Text-to-Image Models via {WordNet} Hierarchy},
  author = {Baryshnikov, Anton and Ryabinin, Max},
  journal = {arXiv preprint arXiv:2310.09247},
  year = {2023}
}""",
)
TAXONOMY = About(
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
_CLIP_LIMITS = (
    "Like CLIP, it mostly ignores word order, and means nothing for words that the judge did not learn. "
)
ISP = HYPERNYMY.overlay(
    About(
        meaning="How sure a classifier is that an image shows some kind of what the prompt names: for 'an "
        "animal', the probability of all animals together. 1 means that every image clearly shows one.",
        limits="Everything else in the image is ignored. Depends on the classifier: its classes, its errors, "
        "and how sure it is.",
    )
)
SCS = HYPERNYMY.overlay(
    About(
        meaning="How many different kinds of what its prompt names a model draws: different animals for 'an "
        "animal', or always a dog. 0 means always the same kind.",
        limits="Grows with the number of images per prompt: compare models on the same seeds. Images that show "
        "something else count by the kind that they look most like, so read it beside `isp`.",
    )
)
SYNSET_IS = HYPERNYMY.overlay(
    About(
        meaning="How clear and how different the images of one prompt are to a classifier, averaged over "
        "prompts. A baseline beside `isp` and `scs`: 1 is the lowest score.",
        limits="Rewards any variety, also images that do not show what the prompt names. Grows with the number of "
        "images per prompt.",
    )
)
HYPONYM_COSINE = HYPERNYMY.overlay(
    About(
        meaning="How close a text encoder puts a word to the kinds below it: 'dog' to each breed. It uses no "
        "images; the paper compares it with `isp` and `scs` by word.",
        limits="Says nothing about images, and is neither good nor bad. Cosines of different encoders do not "
        "compare.",
    )
)
CALIBRATION = HYPERNYMY.overlay(
    About(
        meaning="How far a classifier's confidence is from its accuracy, on images with known labels: 0 means "
        "that it is right as often as it says. It shows whether to trust the judge of `isp` and `scs`.",
        limits="Measures the judge, not a text-to-image model. Calibration on photographs need not hold on "
        "generated images.",
    )
)
LEMMA = TAXONOMY.overlay(
    About(
        meaning="How close a CLIP model puts the images to the prompt's own word. Higher means that more of "
        "what the word names is in the image.",
        limits=f"{_CLIP_LIMITS}A similarity has no meaning by itself: compare models on the same prompts and "
        "judge.",
    )
)
HYPERNYM = TAXONOMY.overlay(
    About(
        meaning="How close a CLIP model puts the images to the words directly above the prompt's word: to "
        "'bird' if the prompt asks for an owl.",
        limits=f"{_CLIP_LIMITS}Also high for another kind of the same thing: read it beside `lemma-similarity`.",
    )
)
COHYPONYM = TAXONOMY.overlay(
    About(
        meaning="How close a CLIP model puts the images to the words beside the prompt's word: to other birds "
        "if the prompt asks for an owl.",
        limits=f"{_CLIP_LIMITS}Neither good nor bad alone: `specificity` sets it in relation.",
    )
)
SPECIFICITY = TAXONOMY.overlay(
    About(
        meaning="How much closer a CLIP model puts the images to the prompt's word than to the words beside it: "
        "to 'owl' than to other birds. Above 1 the images are closer to the word itself.",
        limits=f"{_CLIP_LIMITS}A ratio of similarities, so poor images can have a high one: read it beside "
        "`lemma-similarity`.",
    )
)

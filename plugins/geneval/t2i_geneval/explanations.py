"""Explanations of the metric for readers, and the paper to cite."""

from t2i_core.api import About

PAPER = About(
    citation="Ghosh, Hajishirzi, Schmidt: GenEval: An Object-Focused Framework for Evaluating Text-to-Image "
    "Alignment. NeurIPS 2023. arXiv:2310.11513",
    bibtex="""\
@inproceedings{ghosh2023geneval,
  title = {{GenEval}: An Object-Focused Framework for Evaluating Text-to-Image Alignment},
  author = {Ghosh, Dhruba and Hajishirzi, Hannaneh and Schmidt, Ludwig},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS), Datasets and Benchmarks Track},
  year = {2023},
  eprint = {2310.11513},
  archivePrefix = {arXiv}
}""",
)
GENEVAL = PAPER.overlay(
    About(
        meaning="Mean over six tasks of the share of right images: one object, two objects, counting, colours, "
        "positions, and two objects in two colours. An image is right only if everything in its prompt is.",
        limits="Only objects that the detector knows: another detector gives other scores. Extra objects count "
        "only in counting; looks do not count. Colours are read by CLIP from crops if the detector has none, "
        "and a position needs a clear distance between the objects.",
    )
)

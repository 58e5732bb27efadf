"""Explanations of the metrics for readers, and the papers to cite."""

from t2i_core.api import About

_SETS = "Says nothing about single images or their prompts. "
_SIZE = "compare sets of the same size"
CLIPSCORE = About(
    meaning="How close a CLIP model puts an image and its prompt: 100 times the cosine of their embeddings, at "
    "least 0, mean over images. Higher means a better fit.",
    limits="Like CLIP, it mostly ignores word order, numbers and which object has which colour, and truncates "
    "long prompts. Values of different judges do not compare, and usual ones differ by a few points only.",
    citation="Hessel et al.: CLIPScore: A Reference-free Evaluation Metric for Image Captioning. EMNLP 2021. "
    "arXiv:2104.08718",
    bibtex="""\
@inproceedings{hessel2021clipscore,
  title = {{CLIPScore}: A Reference-free Evaluation Metric for Image Captioning},
  author = {Hessel, Jack and Holtzman, Ari and Forbes, Maxwell and Le Bras, Ronan and Choi, Yejin},
  booktitle = {Proceedings of the Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  year = {2021},
  eprint = {2104.08718},
  archivePrefix = {arXiv}
}""",
)
FID = About(
    meaning="How far the images as a whole are from a set of reference images, in the features of a network. 0 "
    "means that both sets look alike to it; lower is better.",
    limits=f"{_SETS}Biased upward for few images: {_SIZE}, against the same reference. The default network learnt "
    "from photographs.",
    citation="Heusel et al.: GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium. "
    "NeurIPS 2017. arXiv:1706.08500",
    bibtex="""\
@inproceedings{heusel2017fid,
  title = {{GANs} Trained by a Two Time-Scale Update Rule Converge to a Local {Nash} Equilibrium},
  author = {Heusel, Martin and Ramsauer, Hubert and Unterthiner, Thomas and Nessler, Bernhard and
            Hochreiter, Sepp},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2017},
  eprint = {1706.08500},
  archivePrefix = {arXiv}
}""",
)
INCEPTION_SCORE = About(
    meaning="Whether a classifier recognises something in each image, and different things in different images. "
    "1 is the lowest score; higher is better.",
    limits=f"{_SETS}Knows only the classifier's classes, and compares with no real images. Grows with the number "
    f"of images in a split: {_SIZE}.",
    citation="Salimans et al.: Improved Techniques for Training GANs. NeurIPS 2016. arXiv:1606.03498",
    bibtex="""\
@inproceedings{salimans2016inceptionscore,
  title = {Improved Techniques for Training {GANs}},
  author = {Salimans, Tim and Goodfellow, Ian and Zaremba, Wojciech and Cheung, Vicki and Radford, Alec and
            Chen, Xi},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2016},
  eprint = {1606.03498},
  archivePrefix = {arXiv}
}""",
)
KID = About(
    meaning="How far the images as a whole are from a set of reference images, in the features of a network, "
    "without FID's bias for few images. Around 0 both sets look alike; lower is better.",
    limits=f"{_SETS}May be below 0 by chance. Values are small, and compare only against the same reference and "
    "judge.",
    citation="Binkowski et al.: Demystifying MMD GANs. ICLR 2018. arXiv:1801.01401",
    bibtex="""\
@inproceedings{binkowski2018kid,
  title = {Demystifying {MMD} {GANs}},
  author = {Bi{\\'n}kowski, Miko{\\l}aj and Sutherland, Danica J. and Arbel, Michael and Gretton, Arthur},
  booktitle = {International Conference on Learning Representations (ICLR)},
  year = {2018},
  eprint = {1801.01401},
  archivePrefix = {arXiv}
}""",
)
CMMD = About(
    meaning="How far the images as a whole are from a set of reference images, in CLIP's embeddings. 0 means "
    "that both sets look alike to CLIP; lower is better.",
    limits=f"{_SETS}Depends on the number of images: {_SIZE}, against the same reference.",
    citation="Jayasumana et al.: Rethinking FID: Towards a Better Evaluation Metric for Image Generation. CVPR "
    "2024. arXiv:2401.09603",
    bibtex="""\
@inproceedings{jayasumana2024cmmd,
  title = {Rethinking {FID}: Towards a Better Evaluation Metric for Image Generation},
  author = {Jayasumana, Sadeep and Ramalingam, Srikumar and Veit, Andreas and Glasner, Daniel and
            Chakrabarti, Ayan and Kumar, Sanjiv},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  year = {2024},
  eprint = {2401.09603},
  archivePrefix = {arXiv}
}""",
)
PRDC = About(
    meaning="Precision and density: how much of what a model draws looks like reference images. Recall and "
    "coverage: how much of the reference images the model can draw.",
    limits=f"{_SETS}Depends on the number of images of both sides: {_SIZE}. A few odd reference images raise "
    "precision and recall.",
    citation="Naeem et al.: Reliable Fidelity and Diversity Metrics for Generative Models. ICML 2020. "
    "arXiv:2002.09797; precision and recall: Kynkäänniemi et al., NeurIPS 2019, arXiv:1904.06991",
    bibtex="""\
@inproceedings{naeem2020prdc,
  title = {Reliable Fidelity and Diversity Metrics for Generative Models},
  author = {Naeem, Muhammad Ferjad and Oh, Seong Joon and Uh, Youngjung and Choi, Yunjey and Yoo, Jaejun},
  booktitle = {International Conference on Machine Learning (ICML)},
  year = {2020},
  eprint = {2002.09797},
  archivePrefix = {arXiv}
}
@inproceedings{kynkaanniemi2019precision,
  title = {Improved Precision and Recall Metric for Assessing Generative Models},
  author = {Kynk{\\"a}{\\"a}nniemi, Tuomas and Karras, Tero and Laine, Samuli and Lehtinen, Jaakko and Aila, Timo},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2019},
  eprint = {1904.06991},
  archivePrefix = {arXiv}
}""",
)
VENDI = About(
    meaning="How many really different images a model drew, in the features of a network. 1 means that all are "
    "alike; the number of images is the most.",
    limits=f"{_SETS}Variety alone: noise scores high. Grows with the number of images: {_SIZE}.",
    citation="Friedman and Dieng: The Vendi Score: A Diversity Evaluation Metric for Machine Learning. TMLR 2023. "
    "arXiv:2210.02410",
    bibtex="""\
@article{friedman2023vendi,
  title = {The {Vendi} Score: A Diversity Evaluation Metric for Machine Learning},
  author = {Friedman, Dan and Dieng, Adji Bousso},
  journal = {Transactions on Machine Learning Research},
  year = {2023},
  eprint = {2210.02410},
  archivePrefix = {arXiv}
}""",
)

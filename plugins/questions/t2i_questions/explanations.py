"""Explanations of the metrics for readers, and the papers to cite."""

from t2i_core.api import About

DSG_PAPER = About(
    citation="Cho et al.: Davidsonian Scene Graph. ICLR 2024. arXiv:2310.18235",
    bibtex="""\
@inproceedings{cho2024dsg,
  title = {{Davidsonian} Scene Graph: Improving Reliability in Fine-grained Evaluation
           for Text-to-Image Generation},
  author = {Cho, Jaemin and Hu, Yushi and Baldridge, Jason and Garg, Roopal and Anderson, Peter and Krishna, Ranjay
            and Bansal, Mohit and Pont-Tuset, Jordi and Wang, Su},
  booktitle = {International Conference on Learning Representations (ICLR)},
  year = {2024},
  eprint = {2310.18235},
  archivePrefix = {arXiv}
}""",
)
DPG_PAPER = About(
    citation="Hu et al.: ELLA: Equip Diffusion Models with LLM for Enhanced Semantic Alignment. arXiv:2403.05135",
    bibtex="""\
@article{hu2024ella,
  title = {{ELLA}: Equip Diffusion Models with {LLM} for Enhanced Semantic Alignment},
  author = {Hu, Xiwei and Wang, Rui and Fang, Yixiao and Fu, Bin and Cheng, Pei and Yu, Gang},
  journal = {arXiv preprint arXiv:2403.05135},
  year = {2024}
}""",
)
TIFA_PAPER = About(
    citation="Hu et al.: TIFA. ICCV 2023. arXiv:2303.11897",
    bibtex="""\
@inproceedings{hu2023tifa,
  title = {{TIFA}: Accurate and Interpretable Text-to-Image Faithfulness Evaluation with Question Answering},
  author = {Hu, Yushi and Liu, Benlin and Kasai, Jungo and Wang, Yizhong and Ostendorf, Mari and
            Krishna, Ranjay and Smith, Noah A.},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year = {2023},
  eprint = {2303.11897},
  archivePrefix = {arXiv}
}""",
)
VQASCORE_PAPER = About(
    citation="Lin et al.: Evaluating Text-to-Visual Generation with Image-to-Text Generation. ECCV 2024. "
    "arXiv:2404.01291",
    bibtex="""\
@inproceedings{lin2024vqascore,
  title = {Evaluating Text-to-Visual Generation with Image-to-Text Generation},
  author = {Lin, Zhiqiu and Pathak, Deepak and Li, Baiqi and Li, Jiayao and Xia, Xide and Neubig, Graham and
            Zhang, Pengchuan and Ramanan, Deva},
  booktitle = {European Conference on Computer Vision (ECCV)},
  year = {2024},
  eprint = {2404.01291},
  archivePrefix = {arXiv}
}""",
)
GENAI_PAPER = About(
    citation="Li et al.: GenAI-Bench. arXiv:2406.13743",
    bibtex="""\
@article{li2024genaibench,
  title = {{GenAI-Bench}: Evaluating and Improving Compositional Text-to-Visual Generation},
  author = {Li, Baiqi and Lin, Zhiqiu and Pathak, Deepak and Li, Jiayao and Fei, Yixin and Wu, Kewen and
            Ling, Tiffany and Xia, Xide and Zhang, Pengchuan and Neubig, Graham and Ramanan, Deva},
  journal = {arXiv preprint arXiv:2406.13743},
  year = {2024}
}""",
)
COMPBENCH_PAPER = About(
    citation="Huang et al.: T2I-CompBench. NeurIPS 2023. arXiv:2307.06350; T2I-CompBench++. TPAMI 2025",
    bibtex="""\
@inproceedings{huang2023t2icompbench,
  title = {{T2I-CompBench}: A Comprehensive Benchmark for Open-world Compositional Text-to-image Generation},
  author = {Huang, Kaiyi and Sun, Kaiyue and Xie, Enze and Li, Zhenguo and Liu, Xihui},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2023},
  eprint = {2307.06350},
  archivePrefix = {arXiv}
}
@article{huang2025t2icompbenchpp,
  title = {{T2I-CompBench++}: An Enhanced and Comprehensive Benchmark for Compositional Text-to-Image Generation},
  author = {Huang, Kaiyi and Duan, Chengqi and Sun, Kaiyue and Xie, Enze and Li, Zhenguo and Liu, Xihui},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence},
  year = {2025}
}""",
)
GENEVAL2_PAPER = About(
    citation="Kamath et al.: GenEval 2. arXiv:2512.16853",
    bibtex="""\
@article{kamath2025geneval2,
  title = {{GenEval} 2: Addressing Benchmark Drift in Text-to-Image Evaluation},
  author = {Kamath, Amita and Chang, Kai-Wei and Krishna, Ranjay and Zettlemoyer, Luke and Hu, Yushi and
            Ghazvininejad, Marjan},
  journal = {arXiv preprint arXiv:2512.16853},
  year = {2025}
}""",
)
_LIMITS = (
    "The judge's wrong answers are part of the score. Facts of the prompt that nobody asked about, and the "
    "quality of the image, do not count. "
)
VQASCORE = VQASCORE_PAPER.overlay(
    About(
        meaning="Probability that a vision-language model answers yes to 'Does this figure show (the prompt)?', "
        "mean over images. Higher means that the image fits its prompt better.",
        limits="Values of different judges do not compare. One number for the whole prompt: it does not tell "
        "which part is missing, and its differences are not shares of images.",
    )
)
DSG = DSG_PAPER.overlay(
    About(
        meaning="Share of yes-no questions about the prompt's single facts that a judge answers as the prompt "
        "wants. An answer counts only if the facts that it presupposes are there: no red car without a car.",
        limits=f"{_LIMITS}Questions that a language model wrote may be wrong themselves.",
    )
)
DPG_BENCH = DPG_PAPER.overlay(
    About(
        meaning="Share of yes-no questions about the facts of a long prompt that a judge answers as the prompt "
        "wants, over four images of each prompt. An answer counts only if the facts that it presupposes are "
        "there.",
        limits=f"{_LIMITS}Published values are those of variant=reference, which repeats the faults of the "
        "published code. Papers print x100.",
    )
)
TIFA = TIFA_PAPER.overlay(
    About(
        meaning="Share of questions about the caption, each with choices, that a judge answers rightly from the "
        "image alone. 1 means that the image shows everything that was asked about.",
        limits=f"{_LIMITS}Each question counts alike, however important its fact is.",
    )
)
COMPBENCH = COMPBENCH_PAPER.overlay(
    About(
        meaning="Score of an image by a rule for its kind of prompt: questions for colours, shapes and textures, "
        "detections for positions and numbers, CLIP for other relations. 1 is the best.",
        limits=f"{_LIMITS}Report the tasks, not their mean: their rules have different scales. Published values "
        "of positions and numbers are UniDet's, which is in no package.",
    )
)
SOFT_TIFA = GENEVAL2_PAPER.overlay(
    About(
        meaning="Probability of the right answers to questions about the prompt's facts, as their geometric "
        "mean in each image: one fact that is surely missing brings the image to 0.",
        limits=f"{_LIMITS}Needs a judge with well-scaled probabilities; values of different judges do not "
        "compare. Papers print x100.",
    )
)

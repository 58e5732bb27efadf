"""Explanations of the metrics for readers, and the papers to cite."""

from t2i_core.api import About

_LIMITS = (
    "The captioner's errors and style are part of the score, and what it does not mention does not count. Needs "
    "reference captions for each prompt. "
)
_PRINTED = "Papers print x100."
BLEU = About(
    meaning="How many word sequences, of one to four words, a caption of the image shares with what people "
    "wrote about the prompt's scene. 1 means that every sequence occurs in a reference.",
    limits=f"{_LIMITS}Knows no synonyms, and sums over all images before it divides, so it is not a mean over "
    f"images. {_PRINTED}",
    citation="Papineni et al.: BLEU: a Method for Automatic Evaluation of Machine Translation. ACL 2002",
    bibtex="""\
@inproceedings{papineni2002bleu,
  title = {{BLEU}: a Method for Automatic Evaluation of Machine Translation},
  author = {Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing},
  booktitle = {Proceedings of the 40th Annual Meeting of the Association for Computational Linguistics (ACL)},
  year = {2002}
}""",
)
ROUGE_L = About(
    meaning="How long a sequence of words a caption of the image shares with a reference caption, in order but "
    "with gaps. 1 means that it is worded like a reference.",
    limits=f"{_LIMITS}Knows no synonyms, and counts unimportant words like important ones. {_PRINTED}",
    citation="Lin: ROUGE: A Package for Automatic Evaluation of Summaries. 2004",
    bibtex="""\
@inproceedings{lin2004rouge,
  title = {{ROUGE}: A Package for Automatic Evaluation of Summaries},
  author = {Lin, Chin-Yew},
  booktitle = {Text Summarization Branches Out},
  year = {2004}
}""",
)
CIDER = About(
    meaning="How much a caption of the image agrees with reference captions in words that are rare among all of "
    "them, so that the words that tell scenes apart count most. 10 is the most; higher is better.",
    limits=f"{_LIMITS}Which words are rare follows from the run's own references: compare runs of the same "
    f"prompts. {_PRINTED}",
    citation="Vedantam, Zitnick, Parikh: CIDEr: Consensus-based Image Description Evaluation. CVPR 2015. "
    "arXiv:1411.5726",
    bibtex="""\
@inproceedings{vedantam2015cider,
  title = {{CIDEr}: Consensus-based Image Description Evaluation},
  author = {Vedantam, Ramakrishna and Zitnick, C. Lawrence and Parikh, Devi},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition (CVPR)},
  year = {2015},
  eprint = {1411.5726},
  archivePrefix = {arXiv}
}""",
)
METEOR = About(
    meaning="How many words a caption of the image shares with a reference caption, counting stems, synonyms and "
    "paraphrases, and in how similar an order. 1 means that it says the same.",
    limits=f"{_LIMITS}English only. {_PRINTED}",
    citation="Denkowski, Lavie: Meteor Universal: Language Specific Translation Evaluation for Any Target "
    "Language. WMT 2014",
    bibtex="""\
@inproceedings{denkowski2014meteor,
  title = {Meteor Universal: Language Specific Translation Evaluation for Any Target Language},
  author = {Denkowski, Michael and Lavie, Alon},
  booktitle = {Proceedings of the Ninth Workshop on Statistical Machine Translation (WMT)},
  year = {2014}
}""",
    notes="Needs t2i-captioning[java]: METEOR's jar (LGPL-2.1) and a Java runtime (GPL-2.0).",
)
SPICE = About(
    meaning="How many objects, attributes and relations of a caption of the image are in the reference "
    "captions, and how many of theirs it names. 1 means that both say the same facts.",
    limits=f"{_LIMITS}Depends on a parser, and ignores the wording. {_PRINTED}",
    citation="Anderson et al.: SPICE: Semantic Propositional Image Caption Evaluation. ECCV 2016. "
    "arXiv:1607.08822",
    bibtex="""\
@inproceedings{anderson2016spice,
  title = {{SPICE}: Semantic Propositional Image Caption Evaluation},
  author = {Anderson, Peter and Fernando, Basura and Johnson, Mark and Gould, Stephen},
  booktitle = {European Conference on Computer Vision (ECCV)},
  year = {2016},
  eprint = {1607.08822},
  archivePrefix = {arXiv}
}""",
    notes="Needs SPICE's jar and Stanford CoreNLP (GPL-3.0), which you provide; t2i's own tests have not run "
    "them.",
)

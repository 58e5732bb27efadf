"""Quality of the judges, as their model cards measure it, and their limits."""

_RENDERED = "Knows the simulator's pictures; on other images nothing is promised. "
QUALITY = {
    "oracle": "Reads what is really drawn, so it errs only at the rates that its options set.",
    "mini-segmenter": "On rendered pictures it finds both objects in .995 of 1,300 (.990 to .998), and counts "
    ".946 of 624 rightly. A person agrees on 206 of 208 images of mini, but on only 54 of 104 of the much worse "
    "mini-early (its model card, and that of mini).",
    "mini-classifier": "On 1,500 rendered pictures the right one of 37 kinds is the most probable in .984 (.976 "
    "to .989), with an expected calibration error of .022 (its model card).",
    "mini-detector": "On 300 rendered pictures, by PaintSkills' rules: objects .990 right of 98, numbers .972 "
    "of 176 (five of a kind: .818 of 22), colours 1.000 of 39, positions .986 of 70 (its model card).",
    "mini-vqa": "On 300 rendered pictures it answers .985 of 1,353 questions with yes and no as the oracle does "
    "(.977 to .990), and .963 of 300 about numbers; the Brier score of its probabilities is .012 (mini-detector's "
    "model card).",
    "mini-clip": "On 300 rendered pictures the right one of ten captions is the nearest in .973 (.948 to .986); "
    "in .767 if the others differ in a colour alone, .846 in a number, and .143, chance, in a position (its "
    "model card).",
}
LIMITS = {
    "oracle": "Only pictures of the simulator have a truth to read.",
    "mini-segmenter": f"{_RENDERED}Objects of one kind that touch are one, and thin parts are rough.",
    "mini-classifier": f"{_RENDERED}Names one of several objects, and has no answer for none.",
    "mini-detector": f"{_RENDERED}Of five objects of a kind it misses one, or finds one twice, in one picture of "
    "five.",
    "mini-vqa": f"{_RENDERED}Answers only questions that the grammar of scenes reads; white paint and no paint "
    "are hard to tell apart.",
    "mini-clip": f"{_RENDERED}Knows the words of the mini world's grammar only, and no positions.",
}

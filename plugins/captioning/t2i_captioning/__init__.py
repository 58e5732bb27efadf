"""BLEU, ROUGE-L, CIDEr-D, METEOR and SPICE of captions of generated images, as in COCO's evaluation."""

"""The page of `t2i taxonomy`: a taxonomy as a tree, with the images and scores of a run."""

"""Image classifiers of timm, with WordNet synsets as labels."""

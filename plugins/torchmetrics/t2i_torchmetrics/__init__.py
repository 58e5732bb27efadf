"""The classic metrics CLIPScore, FID, IS and KID, with the arithmetic of torchmetrics."""

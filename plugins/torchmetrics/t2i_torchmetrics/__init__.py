"""The classic metrics CLIPScore, FID, IS and KID, held to torchmetrics."""

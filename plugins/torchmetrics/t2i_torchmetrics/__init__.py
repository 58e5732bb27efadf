"""The metrics CLIPScore, FID, IS and KID, tested against torchmetrics."""

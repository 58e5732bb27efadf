"""CLIPScore, FID, IS and KID."""

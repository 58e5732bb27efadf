"""Benchmarks that ask questions about images: VQAScore, DSG, DPG-Bench, TIFA, T2I-CompBench, Soft-TIFA."""

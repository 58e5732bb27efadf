"""Procedural meshes: geometry tools (`mesh`, `blobs`, `solids`) and one module per family of things."""

"""The paper's eight reference colours: best examples of Berlin and Kay's basic colour terms."""

from __future__ import annotations

Lab = tuple[float, float, float]
"""A colour in CIELAB under D65: L* (lightness, 0 to 100), a* and b*."""

REFERENCES: dict[str, Lab] = {
    "pink": (65.953672, 43.849083, -7.053931),
    "red": (35.557587, 57.090307, 35.771816),
    "yellow": (80.526851, 8.569204, 64.454424),
    "green": (45.870125, -55.739425, 23.659187),
    "blue": (45.870125, -6.692495, -40.215421),
    "purple": (25.307123, 35.017758, -31.099733),
    "black": (0.0, 0.0, 0.0),
    "white": (100.0, 0.002468, 0.013943),
}
"""The paper's reference colours by name; a tie goes to the first."""

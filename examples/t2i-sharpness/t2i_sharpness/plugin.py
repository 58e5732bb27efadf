"""The plugin of t2i-sharpness: the metric `sharpness`."""

from t2i_core.api import About, Measure, MetricInfo, hookimpl


def _create(setup):
    from .metric import Sharpness

    return Sharpness(setup)


@hookimpl
def t2i_metrics():
    """Return the descriptor of the metric."""
    return [
        MetricInfo(
            name="sharpness",
            summary="Sharpness of the image: variance of the Laplacian of its luminance.",
            about=About(citation="Pech-Pacheco et al.: Diatom autofocusing in brightfield microscopy. ICPR 2000"),
            create=_create,
            measures=(Measure("sharpness", "Variance of the Laplacian.", low=0),),
        )
    ]

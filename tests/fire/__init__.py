"""The run under fire: all that may befall an evaluation, tried, and its results held to an undisturbed run's."""

"""The run under fire: everything that may befall an evaluation, tried, and its results held to an undisturbed run's."""

from hypothesis import settings

# shared machines stall: a slow example is not a failure; the same examples every time
settings.register_profile("statistics", deadline=None, derandomize=True)
settings.load_profile("statistics")

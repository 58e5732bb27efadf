"""A leaderboard of runs as a static site."""

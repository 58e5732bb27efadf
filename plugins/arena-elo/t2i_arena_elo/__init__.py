"""Which of two models' images is better? Elo ratings from people, models and rewards."""

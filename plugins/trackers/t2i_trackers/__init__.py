"""Sinks for trackers and model cards: `wandb`, `mlflow`, `tensorboard`, `model-card`."""

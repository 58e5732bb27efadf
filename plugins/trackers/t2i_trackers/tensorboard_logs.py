"""TensorBoard's event files: a folder for each model, which TensorBoard shows as a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from t2i_core.api import Progress, Setup
from t2i_core.api.errors import BadFolder
from t2i_core.files.write_check import find_write_obstacle
from t2i_core.results.run import Run
from torch.utils.tensorboard import SummaryWriter

from .options import TrackerOptions
from .outcome import ModelOutcome, flatten, format_scores, format_setting, list_outcomes, list_worst_images

FOLDER = "tensorboard"
_FILES = "events.out.tfevents.*"

_DIGITS = 8
"""Hex digits of an identity, which tell models of runs in folders of one name apart."""


class TensorboardLogs:
    """The sink: scalars, hyperparameters, a table of scores, and the worst images."""

    def __init__(self, setup: Setup[TrackerOptions]) -> None:
        self._folder = Path(setup.argument or FOLDER)
        self._images = setup.options.images

    def check(self) -> None:
        """Make the folder, which tells for certain whether it can be written.

        Raises:
            BadFolder: If it cannot be.
        """
        try:
            if (obstacle := find_write_obstacle(self._folder)) is not None:
                raise obstacle
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadFolder(
                f"{self._folder}: cannot be written ({error.strerror or error}); name another folder: "
                "--sink tensorboard:FOLDER"
            ) from error

    def write(self, run: Run, progress: Progress) -> None:
        """Write a run's event files in place of those of an earlier call.

        Raises:
            BadFolder: If the folder cannot be written.
        """
        outcomes = list(list_outcomes(run))
        with progress.task("writing event files", len(outcomes), "models") as task:
            for outcome in outcomes:
                place = self._folder / run.folder.name / f"{outcome.file_name}-{outcome.identity[:_DIGITS]}"
                try:
                    earlier = list(place.glob(_FILES))
                    self._log(run, outcome, place)
                    for file in earlier:  # only now, so that a failure leaves what was there
                        file.unlink()
                except OSError as error:
                    raise BadFolder(f"{place}: cannot be written ({error.strerror or error})") from error
                task.advance()
        progress.note(f"tensorboard: tensorboard --logdir {self._folder}")

    def _log(self, run: Run, outcome: ModelOutcome, place: Path) -> None:
        settings = {
            key: value if isinstance(value, bool | int | float) else format_setting(value)
            for key, value in flatten(outcome.config)
        }
        with SummaryWriter(str(place)) as writer:
            for name, value in outcome.values.items():
                writer.add_scalar(name, value)
            if outcome.results:
                headlines = {
                    f"headline/{each.title}": each.score for each in outcome.results if each.score is not None
                }
                writer.add_hparams(settings, headlines, run_name=".")
                writer.add_text("scores", format_scores(outcome.results))
            for metric, images in list_worst_images(run, outcome, self._images):
                for shown in images:
                    pixels = np.asarray(shown.image.pil().convert("RGB"))
                    writer.add_image(f"worst of {metric}/{shown.caption}; {shown.name}", pixels, dataformats="HWC")

"""Runs of Weights & Biases: one for each model, in a group for each run of t2i."""

from __future__ import annotations

import netrc
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import wandb
from t2i_core.api import Progress, Setup
from t2i_core.api.errors import MissingOption
from t2i_core.results.run import Run, make_relative
from t2i_core.results.scores import make_score_table

from .options import WandbOptions
from .outcome import ModelOutcome, count_runs, list_outcomes, list_worst_images

PROJECT = "t2i"


class WandbRuns:
    """The sink: settings, scores with bounds, a table of scores, and the worst images with why."""

    def __init__(self, setup: Setup[WandbOptions]) -> None:
        self._options = setup.options
        self._project = setup.argument or PROJECT
        self._mode = choose_mode(setup)

    def write(self, run: Run, progress: Progress) -> None:
        """Write a run. The same models of the same run are written to the same runs of Weights & Biases."""
        outcomes = list(list_outcomes(run))
        with progress.task("logging to wandb", len(outcomes), "models") as task:
            kept = []
            for outcome in outcomes:
                kept.append(self._log(run, outcome))
                task.advance()
        place = f"project {self._project}, group {run.folder.name}"
        folders = [make_relative(folder) for folder in kept if folder is not None]
        if folders:
            sync = shlex.join(["wandb", "sync", *map(str, folders)])
            progress.note(
                f"wandb: nothing was uploaded; the files are in {folders[0].parent}; upload them: {sync}"
            )
        else:
            progress.note(f"wandb: {count_runs(outcomes)} in {place}")

    def _log(self, run: Run, outcome: ModelOutcome) -> Path | None:
        """Log a model; return the folder of its files if they are not uploaded."""
        with wandb.init(
            project=self._project,
            entity=self._options.entity,
            dir=self._options.folder,
            id=outcome.identity,
            name=outcome.label,
            group=run.folder.name,
            job_type="evaluation",
            config=dict(outcome.config),
            allow_val_change=True,
            mode=self._mode,
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off", disable_code=True, disable_git=True),
        ) as logged:
            logged.log({**outcome.values, **self._collect_media(run, outcome)})
            if run.failed is not None:
                logged.summary["failed"] = run.failed
            return Path(logged.settings.sync_dir) if logged.offline else None

    def _collect_media(self, run: Run, outcome: ModelOutcome) -> dict[str, Any]:
        media: dict[str, Any] = {}
        if outcome.results:
            media["scores"] = wandb.Table(dataframe=make_score_table(outcome.results))
        for metric, images in list_worst_images(run, outcome, self._options.images):
            media[f"worst/{metric}"] = [wandb.Image(each.image.pil(), caption=each.caption) for each in images]
        return media


def choose_mode(setup: Setup[WandbOptions]) -> Any:
    """Return the mode for the client: `offline` if nothing may be uploaded, else the user's; None: its own."""
    return "offline" if setup.offline else setup.options.mode


def check_login(setup: Setup[WandbOptions]) -> None:
    """Check that the client would not ask for a key in the middle of a run.

    Raises:
        MissingOption: If runs would be uploaded, and the client knows no key.
    """
    settings = wandb.setup().settings
    if setup.dry or (choose_mode(setup) or settings.mode) in ("offline", "disabled", "dryrun"):
        return
    if settings.api_key or settings.identity_token_file or _has_netrc_key(settings.base_url):
        return
    raise MissingOption(
        f"'wandb': no key for Weights & Biases ({settings.base_url}); run `wandb login` first, set WANDB_API_KEY, "
        "or write files for `wandb sync` with -o wandb.mode=offline"
    )


def _has_netrc_key(url: str) -> bool:
    """Return whether the file where `wandb login` keeps keys has one for a server."""
    try:
        return netrc.netrc().authenticators(urlsplit(url).hostname or "") is not None
    except (OSError, netrc.NetrcParseError):  # none, or none that the client could read
        return False

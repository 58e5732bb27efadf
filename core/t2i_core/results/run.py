"""Runs: the results of evaluations, and how their folders are found and read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from ..api.errors import BadFolder
from ..api.text import fit_one_line
from ..files.regular_file import TABLE_BYTES, open_regular
from ..files.spreadsheet import unescape_table
from ..io.prompt_file import parse_prompt_lines
from ..storage.manifest_file import MANIFEST, read_manifest
from ..storage.run_files import EVIDENCE, PROMPTS
from ..storage.run_lock import is_locked
from ..storage.runs_folder import find_run_folder, suggest_runs
from .evidence import EvidenceRow
from .manifest import Manifest, parse_manifest
from .result import Comparison, JudgeAgreement, Result
from .tables import check_table

if TYPE_CHECKING:
    import pandas as pd

    from ..api.image import Truth
    from ..api.prompt import Prompt
    from ..api.resolver import Resolver
    from .chart import Chart
    from .run_analyses import RunAnalyses
    from .run_gallery import RunGallery


@dataclass(frozen=True)
class Made:
    """Images that a process generated, not counting those from the cache.

    Attributes:
        images: Number of images.
        seconds: Time that they took, without loading.
    """

    images: int = 0
    seconds: float = 0.0

    def __add__(self, other: Made) -> Made:
        return Made(self.images + other.images, self.seconds + other.seconds)

    @property
    def rate(self) -> float | None:
        """Images per second; None if no image was generated."""
        return self.images / self.seconds if self.images and self.seconds else None


@dataclass(frozen=True)
class SinkFailure:
    """A sink that could not write a run.

    Attributes:
        sink: The sink, as the user named it.
        reason: What went wrong, in one line that names the sink.
        exit_code: The exit code of this kind of error.
    """

    sink: str
    reason: str
    exit_code: int


@dataclass(frozen=True)
class Run:
    """A run.

    Attributes:
        folder: Its folder, absolute.
        manifest: The content of its run.json; for a shard, its content so far.
        failed: Why the run has failed: more samples failed than it allows, or an error ended it; else None.
        partial: The message of a shard, which has no scores; None for a whole run.
        made: The images that this process generated for it.
        sink_failures: The sinks that this process called and that failed.
        images_from: Folders outside the run's whose images may be read too.
    """

    folder: Path
    manifest: Manifest = field(repr=False)
    failed: str | None = None
    partial: str | None = None
    made: Made = Made()
    sink_failures: tuple[SinkFailure, ...] = ()
    images_from: tuple[Path, ...] = ()

    @property
    def results(self) -> list[Result]:
        """The scores of each model under each metric."""
        return self.manifest.results

    @property
    def comparisons(self) -> list[Comparison]:
        """The paired difference of each two models under each metric."""
        return self.manifest.comparisons

    @property
    def agreements(self) -> list[JudgeAgreement]:
        """The agreement of each two judges of one metric, if the run measures one with several."""
        return self.manifest.agreements

    @property
    def scores(self) -> pd.DataFrame:
        """One row per result and score: metric, model, judge, name, value, lo, hi, prompts and the counts."""
        from .scores import make_score_table

        return make_score_table(self.results)

    def plot(self) -> Chart:
        """Return a chart of the headline scores with their intervals, which notebooks show and files keep."""
        from .scores import draw_scores

        return draw_scores(self.results)

    def analyses(self, resolver: Resolver[Any] | None = None) -> RunAnalyses:
        """Return the analyses that the metrics make beyond the scores, by name: each a table with a figure.

        Args:
            resolver: Finds the metrics. Default: the installed registry.
        """
        from .run_analyses import analyze

        return analyze(self, resolver)

    def gallery(
        self,
        model: str | None = None,
        metric: str | None = None,
        order: Literal["worst", "best"] = "worst",
        limit: int = 8,
    ) -> RunGallery:
        """Return the images with the worst or best values, with why, for a notebook.

        Args:
            model: Label of the model; if None, all.
            metric: The metric; if None, the first that measures single images.
            order: `worst` or `best` first.
            limit: Number of images.

        Raises:
            UnknownName: If the run has no such model or metric.
            BadOption: If no such metric measures single images.
        """
        from .run_gallery import make_gallery

        return make_gallery(self, model, metric, order, limit)

    def _repr_html_(self) -> str:
        """Return what the results say, the scores, and the rest folded, for a notebook."""
        from .run_view import make_run_view

        return make_run_view(self)

    def to_json(self) -> dict[str, Any]:
        """Return the output of `t2i eval --json` as plain data."""
        return {
            "run": str(self.folder),
            "results": [result.model_dump(by_alias=True) for result in self.results],
            "comparisons": [comparison.model_dump() for comparison in self.comparisons],
            "agreements": [agreement.model_dump() for agreement in self.agreements],
        }

    @property
    def path(self) -> Path:
        """Its folder for messages: relative, if it lies in the working folder."""
        return make_relative(self.folder)

    @property
    def status(self) -> str:
        """`running`, `interrupted` (its process has ended without results), `done` or `failed`."""
        return find_status(self.folder, self.manifest.status)

    def samples(self) -> pd.DataFrame:
        """Return one row per image, with the columns of samples.csv: model, prompt, text, seed, status, ..."""
        return self._samples.copy()

    def iterate_samples(self, rows: int = 5_000) -> Iterator[pd.DataFrame]:
        """Yield the table of `samples` in blocks of `rows` rows, so that memory stays flat."""
        import pandas as pd

        with (
            self._open_written("samples.csv") as file,
            pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""], chunksize=rows) as blocks,
        ):
            for block in blocks:
                yield check_table("samples.csv", unescape_table(block), self.manifest.models)

    def truths(self, digests: Iterable[str]) -> Iterator[Truth | None]:
        """Yield what is really drawn in each image, by its digest; None if the user's cache does not know it.

        Raises:
            BadFolder: If a truth was damaged, or the cache cannot be read.
        """
        from .truths import read_truths

        return read_truths(digests)

    def images(self) -> pd.Series:
        """Return the image of each row of `samples`, under its index; None if it has none.

        The run's own files, files that an evaluation with this cache has used, and files in the folders of
        `images_from` can be read. For others, reading the pixels raises `RefusedImage`.
        """
        from .images import find_images

        return find_images(self.samples(), self.folder, self.images_from)

    def measurements(self) -> pd.DataFrame:
        """Return one row per measured value: metric, model, prompt, cluster, seed, facets, measure, value."""
        return self._measurements.copy()

    def prompts(self) -> list[Prompt]:
        """Return the prompts, without their own images.

        Raises:
            BadFolder: If an earlier version of t2i wrote the run, or the file is not valid.
        """
        return list(self._prompts)

    def failures(self) -> pd.DataFrame:
        """Return one row per sample without a value: metric, model, prompt, seed, kind, reason."""
        return self._failures.copy()

    def evidence(self) -> list[EvidenceRow]:
        """Return the evidence for the worst samples of each metric and model; empty if no metric gives any.

        Raises:
            BadFolder: If the file differs from the one that the run wrote.
        """
        if EVIDENCE not in self.manifest.files:
            return []
        with self._open_written(EVIDENCE) as file:
            return [EvidenceRow.model_validate(json.loads(line)) for line in file]

    # A report asks for these files many times. Each is read and checked once; a later change goes unnoticed.

    @cached_property
    def _samples(self) -> pd.DataFrame:
        return self._read("samples.csv")

    @cached_property
    def _measurements(self) -> pd.DataFrame:
        return self._read("measurements.csv")

    @cached_property
    def _failures(self) -> pd.DataFrame:
        return self._read("failures.csv")

    @cached_property
    def _prompts(self) -> list[Prompt]:
        if PROMPTS not in self.manifest.files:
            raise BadFolder(
                f"{self.path / PROMPTS}: is missing, because an earlier version of t2i wrote this run; run its "
                "command again to write it"
            )
        with self._open_written(PROMPTS) as file:
            text = file.read().decode()
        return parse_prompt_lines(self.path / PROMPTS, text)

    def _read(self, name: str) -> pd.DataFrame:
        """Read a table as it was written: an id `001` stays a text, and only an empty cell is missing."""
        import pandas as pd

        with self._open_written(name) as file:
            table = unescape_table(pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""]))
            return check_table(name, table, self.manifest.models)

    @contextmanager
    def _open_written(self, name: str) -> Iterator[BinaryIO]:
        """Open a file of the run.

        Raises:
            BadFolder: If it differs from the file that the run wrote, or its content is not valid.
        """
        path = self.path / name
        written = self.manifest.files.get(name)
        if written is None:
            raise BadFolder(f"{path}: the run did not write this file; is it finished?")
        try:
            with open_regular(self.folder / name, TABLE_BYTES, self.folder) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != written:
                    raise BadFolder(f"{path}: is not as the run wrote it; run its command again to rewrite it")
                file.seek(0)
                yield file
        except OSError as error:
            raise BadFolder(
                f"{path}: cannot be read ({error.strerror}); run its command again to rewrite it"
            ) from error
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise BadFolder(f"{path}: not a valid file of a run ({fit_one_line(str(error))})") from error


def load_run(folder: str | Path, images_from: Sequence[str | Path] = ()) -> Run:
    """Read a run's folder.

    Args:
        folder: The run's folder, or its name in the folder for runs. It may come from somebody else.
        images_from: Folders outside it whose images may be read too, if the run names images that existed already.
            Images that an evaluation with this user's cache has used can always be read.

    Raises:
        BadFolder: If it holds no run, or one of its files is not valid.
    """
    folder = find_run_folder(folder)
    if folder.is_file():
        raise BadFolder(f"{folder}: not a run folder but a file; name a folder that t2i runs lists")
    data = read_manifest(folder)
    if data is None:
        if not folder.exists():
            raise BadFolder(f"{folder}: no such folder{suggest_runs(folder) or '; t2i runs lists the runs'}")
        raise BadFolder(f"{folder}: holds no run ({MANIFEST} is missing)")
    try:
        manifest = parse_manifest(data)
    except ValueError as error:
        raise BadFolder(
            f"{folder / MANIFEST}: not written by this version of t2i ({error}); run its command again"
        ) from error
    places = tuple(Path(place).absolute() for place in images_from)
    return Run(folder.absolute(), manifest, failed=manifest.failed, images_from=places)


def load_finished_run(folder: str | Path, images_from: Sequence[str | Path] = ()) -> Run:
    """Read a run that has ended. See `load_run` for the arguments.

    Raises:
        BadFolder: If it holds no run, or the run is still going on or was interrupted.
    """
    run = load_run(folder, images_from)
    if run.status == "running":
        raise BadFolder(f"{run.path}: the run is still in progress; wait until it ends")
    if run.status == "interrupted":
        raise BadFolder(
            f"{run.path}: the run was interrupted before it had results; run its command again to resume it"
        )
    return run


def find_status(folder: Path, status: str) -> str:
    """Return a run's present status: `interrupted` if run.json says `running` but no process works on the run.

    Args:
        folder: The run's folder.
        status: The status in its run.json.
    """
    return "interrupted" if status == "running" and not is_locked(folder) else status


def make_relative(folder: Path) -> Path:
    """Return a folder for messages: relative, if it lies in the working folder."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder

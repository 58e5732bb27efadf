"""Prompts from any data set of Hugging Face's library `datasets`: on the hub, in a saved folder, or in a file.

Only the requested columns are read. Local data sets are read in place. The library no longer supports data sets
that need their own code, so this module does not either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadPrompts
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import RESERVED, Prompt, find_invalid_facet
from t2i_core.api.text import describe_error
from t2i_torch_support import hub_files

from .options import HubOptions
from .sampling import sample

TEXT_COLUMNS = ("prompt", "text", "caption")
_FORMATS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".txt": "text"}
_SAVED = ("dataset_dict.json", "state.json")
"""Files in a folder that the library's `save_to_disk` wrote."""


def prompts(setup: Setup[HubOptions]) -> Iterator[Prompt]:
    """Yield the prompts in the order of the rows. Raises BadPrompts."""
    spec, options = f"hub:{setup.argument}", setup.options
    with _errors_told(setup, spec) as offline:
        split, rows = _split(spec, _loaded(setup, spec, offline), options.split)
        columns = _columns(spec, rows)
        text = _text_column(spec, columns, options.column)
        options = _use_uids(setup, columns, text)
        wanted = [text, *filter(None, [options.id_column]), *options.facets]
        for name in wanted:
            _want(spec, name, columns)
        numbered = enumerate(rows.select_columns(list(dict.fromkeys(wanted))))
        chosen = sample(numbered, options.limit, options.seed, lambda numbered: numbered[0])
    if options.limit is not None and len(chosen) < options.limit:
        raise BadPrompts(f"{spec}: {options.limit} rows are wanted, and {split!r} has only {len(chosen)}")
    for number, row in chosen:
        yield _prompt(f"{spec}, {split}, row {number + 1}", f"{split}-{number}", row, text, options)


def fetch(setup: Setup[HubOptions]) -> None:
    """Download a data set of the hub into the library's cache, if it is missing."""
    spec = f"hub:{setup.argument}"
    with _errors_told(setup, spec) as offline:
        _loaded(setup, spec, offline)


def _loaded(setup: Setup[HubOptions], spec: str, offline: bool) -> Any:
    """Return the data set, with or without splits; `offline` means that nothing can be downloaded."""
    import datasets

    place, options = Path(setup.argument or "").expanduser(), setup.options
    if place.exists() and options.revision is not None:
        raise BadPrompts(f"{spec}: local data have no revision; remove the option")
    if place.is_file():
        if (kind := _FORMATS.get(place.suffix.lower())) is None:
            raise BadPrompts(f"{spec}: the file must end in {', '.join(_FORMATS)}")
        more = {"sep": "\t"} if place.suffix.lower() == ".tsv" else {}
        return datasets.load_dataset(kind, data_files=str(place), streaming=True, **more)
    if any((place / name).is_file() for name in _SAVED):
        return datasets.load_from_disk(str(place))
    if place.is_dir():
        return datasets.load_dataset(str(place.absolute()), options.config, streaming=True)
    if place.suffix.lower() in _FORMATS and place.parent.is_dir():
        raise BadPrompts(f"{spec}: file {place} does not exist")
    if str(setup.argument).count("/") != 1:
        raise BadPrompts(f"{spec}: no such file or folder, and no data set of the hub either, which is ORG/NAME")
    return datasets.load_dataset(
        setup.argument,
        options.config,
        revision=options.revision,
        streaming=options.streaming and not offline,
    )


def _split(spec: str, data: Any, wanted: str | None) -> tuple[str, Any]:
    """Return one split with its name."""
    if not isinstance(data, Mapping):  # saved to a folder as one split
        name = str(data.split or "train")
        data = {name: data}
    if wanted is None:
        if len(data) > 1:
            raise BadPrompts(f"{spec}: has the splits {', '.join(data)}: name one with -o hub.split=NAME")
        wanted = next(iter(data))
    if wanted not in data:
        raise BadPrompts(f"{spec}: has no split {wanted!r}; it has {', '.join(data)}")
    return wanted, data[wanted]


def _columns(spec: str, rows: Any) -> list[str]:
    """Return the names of the columns; read the first row of a stream that does not declare them."""
    names = rows.column_names
    if names is None:
        names = list(next(iter(rows), {}))
    if not names:
        raise BadPrompts(f"{spec}: has no rows")
    return list(names)


def _text_column(spec: str, columns: list[str], wanted: str | None) -> str:
    found = wanted or next((name for name in TEXT_COLUMNS if name in columns), None)
    if found is None:
        raise BadPrompts(
            f"{spec}: has no column {', '.join(TEXT_COLUMNS)}: name one of {', '.join(columns)} with "
            "-o hub.column=NAME"
        )
    return found


def _use_uids(setup: Setup[HubOptions], columns: list[str], text: str) -> HubOptions:
    """Return options by which the ids of a file of captions are its uids, as in DALL-Eval's uid_caption.csv."""
    own = setup.options
    is_list = text == "caption" and "uid" in columns and Path(setup.argument or "").expanduser().is_file()
    return own.model_copy(update={"id_column": "uid"}) if is_list and own.id_column is None else own


def _want(spec: str, name: str, columns: list[str]) -> None:
    if name not in columns:
        raise BadPrompts(f"{spec}: has no column {name!r}; it has {', '.join(columns)}")


def _prompt(where: str, id: str, row: Mapping[str, Any], text: str, options: HubOptions) -> Prompt:
    if not isinstance(row[text], str) or not row[text].strip():
        raise BadPrompts(f"{where}: {text}: must be a text (got {str(row[text])[:60]!r})")
    if options.id_column is not None:
        id = row[options.id_column]
        if not isinstance(id, str | int) or isinstance(id, bool) or not str(id).strip():
            raise BadPrompts(f"{where}: {options.id_column}: must be a text or a whole number (got {id!r})")
    facets = {name: row[name] for name in options.facets if row[name] is not None}
    if (strange := find_invalid_facet(facets)) is not None:
        raise BadPrompts(f"{where}: {strange}: a facet is a text or a number")
    if hidden := RESERVED & facets.keys():
        raise BadPrompts(
            f"{where}: {min(hidden)}: no facet may have this name: the measured table has a column of it"
        )
    return Prompt(str(id), row[text], facets=facets)


@contextmanager
def _errors_told(setup: Setup[HubOptions], spec: str) -> Iterator[bool]:
    """Keep the library offline if nothing can be downloaded, because its client would retry and log five times.

    Yields whether the library is offline. Errors of the library become one line.
    """
    import datasets
    import huggingface_hub.constants as hub

    before = hub.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    why, here = None, Path(setup.argument or "").expanduser().exists()
    if not (setup.offline or any(before) or here):
        why = hub_files.find_outage()
    offline = setup.offline or why is not None
    hub.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before[0] or offline, before[1] or offline
    nothing = (
        "" if here else f"no file or folder {setup.argument} exists here; "
    )  # the user may have meant a folder
    try:
        yield offline
    except BadPrompts:
        raise
    except datasets.exceptions.DatasetNotFoundError as error:
        raise BadPrompts(f"{nothing}{spec}: cannot be had from the hub ({describe_error(error)})") from error
    except ConnectionError as error:
        if why is not None:
            raise BadPrompts(f"{nothing}no network, and {spec} is not on this machine: {why}") from error
        raise BadPrompts(
            f"{nothing}{spec}: is not on this machine and cannot be fetched ({describe_error(error)}); "
            f"`t2i prefetch {spec}` with a network"
        ) from error
    except (OSError, ValueError, TypeError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise BadPrompts(f"{spec}: cannot be read by the library datasets ({describe_error(error)})") from error
    finally:
        hub.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before

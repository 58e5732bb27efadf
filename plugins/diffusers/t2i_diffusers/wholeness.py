"""Check that the folder of a saved pipeline is complete, from its files alone, without loading them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel
from t2i_torch_support.weights import check_file, find_damage

from .options import DiffusersOptions
from .sources import (
    INDEX,
    PICKLES,
    SAFE,
    CheckpointSource,
    check_pickles,
    find_skipped_parts,
    list_parts,
    read_index,
)

_NAMES = ("diffusion_pytorch_model", "model")
"""Names of weights files in diffusers and in transformers."""

_NO_VOCABULARY = frozenset(
    {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json", "chat_template.jinja"}
)
"""Files of a tokenizer other than its vocabulary; without a vocabulary, libraries create an empty tokenizer."""

_WITHOUT_WEIGHTS = ("Scheduler", "Tokenizer", "Processor", "FeatureExtractor")
"""Ends of class names of parts without weights."""


def check_folder(source: CheckpointSource, options: DiffusersOptions) -> None:
    """Raise BadModel, with the first problem, if a source is a folder whose pipeline cannot be loaded."""
    if source.file is not None:
        check_file(source.file, None, source.spec)
        return
    if (folder := source.folder) is None:
        return
    index = read_index(folder)
    names = find_skipped_parts(source, index["_class_name"], options)
    check_pickles(source, folder, [part for part in list_parts(index) if part not in names], options.pickles)
    if problem := next(problems(source, folder, names, options), None):
        raise BadModel(f"{source}: {problem}")


def problems(
    source: CheckpointSource, folder: Path, left_out: Collection[str], options: DiffusersOptions
) -> Iterator[str]:
    """Yield the problems of a pipeline's files, each with its part and file."""
    index = read_index(folder)
    if source.variant and not any(_has_variant(folder / p, source.variant) for p in list_parts(index)):
        yield f"has no weights of the variant {source.variant!r} (option variant)"
    for part in list_parts(index):
        cls = str(index[part][1])
        if part in left_out:
            continue
        if not (folder / part).is_dir():
            yield f"its {part} ({cls}) is missing: {INDEX} names it, but the folder {folder / part} does not exist"
        elif "Tokenizer" in cls:
            if not _vocabulary(folder / part):
                yield f"its {part} has no files: {folder / part} has no vocabulary"
            yield from (f"its {part} is damaged: {why}" for why in _check_tokenizer_files(folder / part))
        elif not any((folder / part).iterdir()):
            yield f"its {part} ({cls}) has no files: {folder / part} is empty"
        elif not any(name in cls for name in _WITHOUT_WEIGHTS) and not options.remote_code:
            yield from find_model_problems(part, folder / part, source.variant, bool(options.pickles))


def _has_variant(folder: Path, variant: str) -> bool:
    return any(f.suffix in (SAFE, *PICKLES) and f".{variant}" in f.name for f in folder.glob("*"))


def _check_tokenizer_files(folder: Path) -> Iterator[str]:
    """Yield a problem for each file of a tokenizer that cannot be read; libraries do not name the file."""
    for file in sorted(folder.glob("*.json")):
        try:
            found = json.loads(file.read_text("utf-8"))
        except ValueError as error:
            yield f"{file} is not valid JSON ({error})"
        else:
            if file.name == "tokenizer.json" and not (isinstance(found, dict) and "model" in found):
                yield f"{file} describes no tokenizer"


def _vocabulary(folder: Path) -> bool:
    return any(
        f.is_file() and not f.name.startswith(".") and f.name not in _NO_VOCABULARY for f in folder.iterdir()
    )


def find_model_problems(part: str, folder: Path, variant: str | None, pickles: bool) -> Iterator[str]:
    """Yield the problems of a model's config and weights.

    Args:
        part: Name of the part in messages.
        folder: Its folder.
        variant: Variant of the weights files.
        pickles: Pickles count as weights.
    """
    if not (folder / "config.json").is_file():
        yield f"its {part} has no config.json in {folder}"
        return
    try:
        described = isinstance(json.loads((folder / "config.json").read_text("utf-8")), dict)
    except ValueError:
        described = False
    if not described:
        yield f"its {part} has a broken config: {folder / 'config.json'} does not describe a model"
        return
    try:
        found = _weights(folder, variant)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        yield f"its {part} has a broken index of weights in {folder} ({type(error).__name__}: {error})"
        return
    if not found and not (pickles and any(f.suffix in PICKLES for f in folder.iterdir())):
        others = sorted(file.name for file in folder.glob(f"*{SAFE}"))
        hint = f"; there is {', '.join(others)} (option variant)" if others else ""
        yield f"its {part} has no weights ({_NAMES[0]}{SAFE} or {_NAMES[1]}{SAFE}) in {folder}{hint}"
    for file in found:
        if not file.is_file():
            yield f"its {part} lacks {file}, one of the files that its weights are split into"
        elif problem := find_damage(file):
            yield f"its {part} is damaged: {file} {problem}"
        else:
            continue
        return


def _weights(folder: Path, variant: str | None) -> list[Path]:
    """Return the safetensors files to load: one file, or those that an index names, whether or not they exist."""
    for dotted in [f".{variant}", ""] if variant else [""]:
        for name in _NAMES:
            if (single := folder / f"{name}{dotted}{SAFE}").is_file():
                return [single]
            for index in (f"{name}{SAFE}.index{dotted}.json", f"{name}{dotted}{SAFE}.index.json"):
                if (folder / index).is_file():
                    shards: dict[str, Any] = json.loads((folder / index).read_text("utf-8"))["weight_map"]
                    return [folder / shard for shard in sorted(set(shards.values()))]
    return []

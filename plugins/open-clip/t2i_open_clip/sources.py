"""Sources of CLIP models: open_clip's list, repositories on the hub, and local files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import open_clip
from huggingface_hub import constants
from t2i_core.api.errors import BadModel, NotHere, UnknownName
from t2i_core.api.text import describe_error
from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file

from t2i_open_clip import checkpoint_files
from t2i_open_clip.options import ClipOptions

_WEIGHTS = ("open_clip_model.safetensors",)
_PICKLES = ("open_clip_pytorch_model.bin",)
_FAILS = (OSError, ValueError, KeyError, RuntimeError)
"""Errors of transformers and the hub's client for missing, broken or unsuitable files."""


@dataclass(frozen=True)
class ClipSource:
    """One CLIP model.

    Attributes:
        argument: Argument of the user.
        model: open_clip's name of the architecture; the config names it for a folder or repository.
        tag: open_clip's data on published weights: repository, preprocessing, activations.
        file: Local weights of MODEL/FILE.
        folder: Folder with config and weights.
        repository: Repository on the hub with config and weights.
        name: The component as the user names it, if it is not `open-clip:ARGUMENT`.
    """

    argument: str
    model: str = ""
    tag: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    folder: Path | None = None
    repository: str = ""
    name: str = ""

    @property
    def spec(self) -> str:
        """The component as the user names it."""
        return self.name or f"open-clip:{self.argument}"

    @property
    def repository_and_name(self) -> tuple[str, str]:
        """The repository on the hub and the name of the weights; empty texts if there are none."""
        if self.repository:
            return self.repository, ""
        repository, _, name = self.tag.get("hf_hub", "").rpartition("/")
        return repository, name


def find(argument: str) -> ClipSource:
    """Return the source that an argument names. Raises UnknownName or BadModel."""
    if argument.startswith(checkpoint_files.HUB):
        return ClipSource(argument, repository=argument.removeprefix(checkpoint_files.HUB))
    if folder := checkpoint_files.folder(argument):
        found = ClipSource(argument, folder=folder)
        _text_config(found, f"local-dir:{folder}")  # raises if it cannot be read
        return found
    model, _, pretrained = argument.partition("/")
    if model not in open_clip.list_models():
        hint = f"folder {argument} does not exist either" if "/" in argument else ""
        raise UnknownName.among("model of open_clip", model, open_clip.list_models(), hint)
    if tag := open_clip.get_pretrained_cfg(model, pretrained):
        return ClipSource(argument, model, tag)
    if file := checkpoint_files.find_own_file(argument):
        return ClipSource(argument, model, file=file)
    tags = open_clip.list_pretrained_tags_by_model(model)
    hint = f"it has {', '.join(tags) or 'none'}, and no such file exists"
    raise UnknownName.among(f"weights of {model}", pretrained, tags, hint)


def fetch(source: ClipSource, options: ClipOptions, offline: bool) -> Path:
    """Return the file of weights; download it if it is missing and may be downloaded. Raises BadModel."""
    found = source.file
    if source.folder:
        found = checkpoint_files.find_weights(source.folder, source.argument)
    elif found is None:
        found = _fetch_weights(source, options, offline)
    return check_file(found, options.sha256, source.spec)


def _fetch_weights(source: ClipSource, options: ClipOptions, offline: bool) -> Path:
    wanted = (*_WEIGHTS, *_PICKLES) if options.sha256 else _WEIGHTS
    repository, name = source.repository_and_name
    if source.repository:
        hub_files.fetch_from_hub(repository, (checkpoint_files.CONFIG,), options.revision, offline, source.spec)
    elif not repository:
        raise BadModel(
            f"{source.spec}: its weights are not on the hub but at {source.tag.get('url') or 'no known place'}"
            f": fetch them yourself and take open-clip:{source.model}/FILE"
        )
    if name:  # weights under another name than open_clip's, with safetensors next to them
        safe = f"{Path(name).stem}.safetensors"
        wanted = (safe, name) if options.sha256 else (safe,)
    return hub_files.fetch_from_hub(repository, wanted, options.revision, offline, source.spec)


def place(source: ClipSource, options: ClipOptions, offline: bool) -> str:
    """Return open_clip's name for the architecture and tokenizer."""
    if source.repository:
        config = hub_files.fetch_from_hub(
            source.repository, (checkpoint_files.CONFIG,), options.revision, offline, source.spec
        )
        return f"local-dir:{config.parent}"
    return f"local-dir:{source.folder}" if source.folder else source.model


def tokenizer(source: ClipSource, options: ClipOptions, offline: bool) -> Any:
    """Return the tokenizer. Raises BadModel if its files cannot be downloaded."""
    name = place(source, options, offline)
    in_repository = bool(source.repository and _text_config(source, name).get("hf_tokenizer_name"))

    def made() -> Any:
        if in_repository:
            from huggingface_hub import snapshot_download

            snapshot_download(
                source.repository, revision=options.revision, local_files_only=constants.HF_HUB_OFFLINE,
                allow_patterns=["*.json", "*.txt", "*.model"],
            )  # fmt: skip
        return open_clip.get_tokenizer(name)

    return _load_or_fetch(source, "its tokenizer", offline, made, of_hub=source.folder is None)


def text_config(source: ClipSource, options: ClipOptions, offline: bool) -> None:
    """Download the config of a text tower of transformers, as in multilingual CLIPs. Raises BadModel."""
    if tower := _text_config(source, place(source, options, offline)).get("hf_model_name"):
        from transformers import AutoConfig

        what = f"the config of its text tower {tower}"
        _load_or_fetch(source, what, offline, lambda: AutoConfig.from_pretrained(tower))


def _text_config(source: ClipSource, name: str) -> Mapping[str, Any]:
    if not name.startswith("local-dir:"):
        return open_clip.get_model_config(name)["text_cfg"]
    file = Path(name.removeprefix("local-dir:")) / checkpoint_files.CONFIG
    try:
        found: Mapping[str, Any] = dict(json.loads(file.read_text(encoding="utf-8"))["model_cfg"]["text_cfg"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadModel(
            f"{source.spec}: {file} is not a valid config of open_clip ({describe_error(error)})"
        ) from error
    return found


def _load_or_fetch(
    source: ClipSource, what: str, offline: bool, made: Callable[[], Any], of_hub: bool = True
) -> Any:
    """Return what a library loads from files that it finds itself, local ones first, else those of the hub.

    `of_hub` tells whether the hub has the files at all.
    """
    try:
        with hub_files.network(allowed=False):
            return made()
    except _FAILS as error:
        if not of_hub:
            raise BadModel(
                f"{source.spec}: {what} cannot be had from {source.folder} ({describe_error(error)})"
            ) from error
        if offline or constants.HF_HUB_OFFLINE:
            raise NotHere(what, source.spec) from error
        if why := hub_files.find_outage():
            raise NotHere(what, source.spec, why) from error
    try:
        return made()
    except _FAILS as error:
        raise BadModel(f"{source.spec}: {what} cannot be had ({describe_error(error)})") from error

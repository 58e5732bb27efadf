"""Networks of timm, from its list, a repository on the hub, or a folder that timm saved."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadModel, BadOption, NotHere, UnknownName
from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file, explain_load_error

from t2i_timm import synsets
from t2i_timm.options import TimmNetworkOptions, TimmOptions

if TYPE_CHECKING:
    from t2i_timm.classifier import LoadedClassifier

NetworkOptionsT = TypeVar("NetworkOptionsT", bound=TimmNetworkOptions)

_CONFIG = "config.json"
_WEIGHTS = ("model.safetensors",)
_PICKLES = ("pytorch_model.bin",)
_OF_FOLDER = (*_WEIGHTS, *_PICKLES, "pytorch_model.pth", "model.pth")
"""Files that timm looks for in a folder, in its order."""


@dataclass(frozen=True)
class Head:
    """The classes in a model's config.

    Attributes:
        count: Number of outputs.
        names: Names of the outputs in order, if the checkpoint has names.
    """

    count: int
    names: tuple[str, ...] = ()


def labels(argument: str, options: TimmOptions, offline: bool) -> tuple[ObjectClass, ...]:
    """Return the classes; download the config if it is missing and may be downloaded.

    Raises:
        UnknownName: The model is not known.
        BadModel: The classes cannot be determined.
    """
    return _labels(argument, options, offline)[1]


def weights(argument: str, options: TimmNetworkOptions) -> Iterable[Path | str]:
    """Return what the results depend on: local files, or the name and commit of a repository."""
    at = f"@{options.revision}" if options.revision else ""
    if folder := find_folder(argument):
        return [folder / "config.json", options.checkpoint or _find_weights(folder, argument)]
    if options.checkpoint:
        return [*([f"{argument}{at}"] if "/" in argument else []), options.checkpoint]
    return [f"{find_repository(argument)}{at}"]


def is_here(argument: str, options: TimmNetworkOptions) -> bool:
    """Return whether the model loads only from the user's files, not from the hub. Raises BadModel."""
    return bool(find_folder(argument) or (options.checkpoint and "/" not in argument))


def pin_commit(argument: str, options: NetworkOptionsT, offline: bool, judge: str = "timm") -> NetworkOptionsT:
    """Return the options with the commit of the revision.

    Raises:
        UnknownName: The model is not known.
        BadModel: The commit cannot be determined.
        BadOption: A revision is given for the user's own files.
    """
    if is_here(argument, options):
        own = find_folder(argument) or options.checkpoint
        assert own is not None
        hub_files.refuse_revision(options.revision, own, f"{judge}:{argument}")
        return options
    if not (repository := find_repository(argument)):
        return options  # the error of `fetch` names the place of its weights
    try:
        commit = hub_files.resolve_commit(repository, _CONFIG, options.revision, offline, f"{judge}:{argument}")
    except BadModel as error:
        raise _explain_missing(argument, error) from error
    return options.model_copy(update={"revision": commit})


def fetch(argument: str, options: TimmNetworkOptions, offline: bool, judge: str = "timm") -> Path:
    """Return the file of weights; download it if it is missing and may be downloaded. Raises BadModel."""
    spec = f"{judge}:{argument}"
    folder = find_folder(argument)
    if not folder and "/" in argument:
        fetch_config(argument, options, offline, judge)
    if options.checkpoint:
        return check_file(options.checkpoint, options.sha256, spec)
    if folder:
        return check_file(_find_weights(folder, argument), options.sha256, spec)
    wanted = (*_WEIGHTS, *_PICKLES) if options.sha256 else _WEIGHTS
    repository = argument
    if "/" not in argument:
        registered = _find_registered(argument)
        repository = registered.hf_hub_id
        if not repository:
            raise BadModel(
                f"{spec}: its weights are not on the hub but at {registered.url or 'no known place'}: "
                "fetch them yourself and name the file with the option checkpoint"
            )
        # some weights are published only in another format, such as NumPy arrays, which timm converts
        if (name := registered.hf_hub_filename) and not name.endswith((".bin", ".pth")):
            wanted = (name,)
    found = hub_files.fetch_from_hub(repository, wanted, options.revision, offline, spec)
    return check_file(found, options.sha256, spec)


def load(argument: str, options: TimmOptions, offline: bool) -> LoadedClassifier:
    """Return the classifier. Raises UnknownName or BadModel."""
    import timm
    from timm.data import create_transform, resolve_model_data_config

    from t2i_timm import preprocessing
    from t2i_timm.classifier import LoadedClassifier, check_head

    source, classes = _labels(argument, options, offline)
    file = fetch(argument, options, offline)
    try:
        network = _network(argument, options, file, len(classes))
    except Exception as error:  # of many types: not an archive, more than weights, tensors of another model
        raise BadModel(f"timm:{argument}: cannot be loaded from {file} ({explain_load_error(error)})") from error
    config = resolve_model_data_config(network)
    size = (config["input_size"][1], config["input_size"][2])
    check_head(network, classes, size, f"timm:{argument}")
    own = create_transform(**config, is_training=False)
    return LoadedClassifier(
        network,
        preprocessing.transform(options.preprocessing, own, size, config["mean"], config["std"]),
        labels=classes,
        settings={
            "weights": str(file) if options.checkpoint or find_folder(argument) else find_repository(argument),
            "commit": hub_files.read_commit(file),
            "labels": source,
            "preprocessing": options.preprocessing,
            **{key: config[key] for key in ("input_size", "interpolation", "crop_pct", "crop_mode")},
            "timm": timm.__version__,
        },
    )


def _network(argument: str, options: TimmOptions, file: Path, count: int) -> Any:
    import timm

    if options.checkpoint:
        folder = find_folder(argument)
        if not folder and "/" in argument:  # with a name, timm would contact the hub even if t2i is offline
            folder = fetch_config(argument, options, offline=True).parent
        name = f"local-dir:{folder}" if folder else argument
        return timm.create_model(name, pretrained=False, checkpoint_path=str(file), num_classes=count)
    if find_folder(argument) or "/" in argument:
        return timm.create_model(f"local-dir:{file.parent}", pretrained=True)
    return timm.create_model(argument, pretrained=True, pretrained_cfg_overlay={"file": str(file)})


def _labels(argument: str, options: TimmOptions, offline: bool) -> tuple[str, tuple[ObjectClass, ...]]:
    """Return the source of the classes, and the classes."""
    if options.labels != "auto" and options.checkpoint:  # the checkpoint must have the same number of outputs
        return options.labels, synsets.labels(options.labels)
    head = _head(argument, options, offline)
    if options.labels != "auto" and head.count:
        found = synsets.labels(options.labels)
        if len(found) != head.count:
            raise BadOption(
                f"option labels={options.labels}: has {len(found)} classes, and timm:{argument} has {head.count} "
                "outputs"
            )
        return options.labels, found
    if head.names:
        return "the checkpoint's own", synsets.classes(head.names)
    if head.count == 0:
        raise BadModel(f"timm:{argument}: it has no classes, only features; use a classifier")
    name = synsets.find_list(head.count)
    if name is None:
        raise BadModel(
            f"timm:{argument}: it has {head.count} classes, which none of timm's lists of ImageNet has, and its "
            "checkpoint does not name them (label_names in config.json)"
        )
    return name, synsets.labels(name)


def _head(argument: str, options: TimmOptions, offline: bool) -> Head:
    if folder := find_folder(argument):
        return _read_head(folder / "config.json", argument)
    if "/" in argument:
        return _read_head(fetch_config(argument, options, offline), argument)
    registered = _find_registered(argument)
    return Head(registered.num_classes, tuple(registered.label_names or ()))


def _read_head(file: Path, argument: str) -> Head:
    """Return the classes in a folder's config.json, in timm's current form or the earlier flat one."""
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        inner = config.get("pretrained_cfg", config)
        count = int(config["num_classes"] if "num_classes" in config else inner["num_classes"])
        names = config.get("label_names") or inner.get("label_names") or inner.get("labels") or ()
        if isinstance(names, dict):
            names = [names[str(index)] for index in range(count)] if names else ()
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise BadModel(f"timm:{argument}: {file} is not a valid config.json of timm ({error!r})") from error
    if names and len(names) != count:
        raise BadModel(f"timm:{argument}: {file} names {len(names)} of {count} classes")
    return Head(count, tuple(names))


def find_folder(argument: str) -> Path | None:
    """Return the folder that an argument names, or None. Raises BadModel for a path without a model."""
    path = Path(argument.removeprefix("local-dir:")).expanduser()
    if (path / "config.json").is_file():
        return path
    is_path = argument.startswith(("/", ".", "~", "local-dir:")) or argument.count("/") > 1
    if path.is_dir() or is_path:
        raise BadModel(f"timm:{argument}: {path} is not a folder with a config.json of timm")
    return None


def fetch_config(repository: str, options: TimmNetworkOptions, offline: bool, judge: str = "timm") -> Path:
    """Return the config of a repository on the hub. Raises BadModel if it cannot be downloaded."""
    try:
        return hub_files.fetch_from_hub(repository, (_CONFIG,), options.revision, offline, f"{judge}:{repository}")
    except BadModel as error:
        raise _explain_missing(repository, error) from error


def _explain_missing(argument: str, error: BadModel) -> BadModel:
    """Return the error for a name that is neither a repository nor a folder, because users may mean a folder."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    if "/" in argument and isinstance(error, NotHere):
        return NotHere(argument, error.spec, error.network, error.missing)
    cause = error.__cause__
    if "/" in argument and isinstance(cause, RepositoryNotFoundError) and not isinstance(cause, GatedRepoError):
        return BadModel(f"{error}; folder {argument} does not exist either")
    return error


def _find_weights(folder: Path, argument: str) -> Path:
    for name in _OF_FOLDER:
        if (folder / name).is_file():
            return folder / name
    raise BadModel(f"timm:{argument}: {folder} holds no weights: none of {', '.join(_OF_FOLDER)}")


def find_repository(argument: str) -> str:
    """Return the repository of an argument that is not a folder; an empty text if timm knows none."""
    return argument if "/" in argument else _find_registered(argument).hf_hub_id or ""


def _find_registered(argument: str) -> Any:
    """Return timm's PretrainedCfg of one of its names. Raises UnknownName."""
    import timm
    from timm.models import get_pretrained_cfg

    known = timm.list_models(pretrained=True)
    architecture = argument.partition(".")[0]
    if not timm.is_model(architecture):
        raise UnknownName.among("model of timm", argument, known)
    tagged = [name for name in known if name.partition(".")[0] == architecture]
    if not tagged or argument not in (architecture, *tagged):
        hint = f"there are {', '.join(tagged)}" if tagged else "timm has no weights of it"
        raise UnknownName.among("weights of timm", argument, tagged, hint)
    return get_pretrained_cfg(argument)

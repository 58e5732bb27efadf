"""Names of models on the site."""

from __future__ import annotations

from collections.abc import Sequence

from .entries import BoardEntry
from .public_text import Publish


def name_models(entries: Sequence[BoardEntry], publish: Publish) -> dict[str, str]:
    """Return each model's name on the site by its identity.

    It is the newest label. Models with the same label have in brackets what differs between them: the model, its
    options, the perturbation of its prompts. If that does not tell them apart, their newest run does, or a number.

    Args:
        entries: The scores.
        publish: Removes folders from names.
    """
    newest = {entry.identity: entry for entry in sorted(entries, key=lambda entry: entry.order)}
    labels = {identity: publish(entry.result.label) for identity, entry in newest.items()}
    names = dict(labels)
    for same in _list_shared(names):
        parts = {identity: _list_parts(newest[identity], labels[identity], publish) for identity in same}
        common = set.intersection(*map(set, parts.values()))
        for identity, own in parts.items():
            names[identity] = _add(labels[identity], [text for text in own if text not in common])
    for same in _list_shared(names):
        for identity in same:
            names[identity] = _add(names[identity], [newest[identity].run.name])
    while shared := _list_shared(names):  # again, because a label may look like a name with its number
        for same in shared:
            for number, identity in enumerate(same, 1):
                names[identity] = _add(names[identity], [str(number)])
    return names


def _list_shared(names: dict[str, str]) -> list[list[str]]:
    """Return the identities of models with the same name, in a list for each such name."""
    by_name: dict[str, list[str]] = {}
    for identity, name in names.items():
        by_name.setdefault(name, []).append(identity)
    return [same for same in by_name.values() if len(same) > 1]


def _list_parts(entry: BoardEntry, label: str, publish: Publish) -> list[str]:
    """Return the texts by which a model may differ from others with its label."""
    changed = entry.model.perturbation
    model = publish(entry.result.model)
    return [
        *([model] if model != label else []),
        *map(publish, list_settings(entry)),
        *([f"perturb={publish(changed.name)}"] if changed else []),
    ]


def list_settings(entry: BoardEntry) -> list[str]:
    """Return the options that were given for a model: `drop=0.1`."""
    return [f"{key}={value}" for key, value in entry.result.settings.items()]


def _add(name: str, more: list[str]) -> str:
    """Return a name with more in its brackets."""
    if not more:
        return name
    inside = ", ".join(more)
    return f"{name[:-1]}, {inside})" if name.endswith(")") else f"{name} ({inside})"

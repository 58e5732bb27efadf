"""Spending of paid components on a run, over all commands that worked on it.

The run's folder has one record of the commands without `--shard` and one of each shard, so that processes at work
beside each other do not write the same file. run.json has the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..api.budget import Spending
from ..results.manifest import SpendingRecord
from ..storage.run_folder import RunFolder

_RECORDS = TypeAdapter(dict[str, SpendingRecord])


def record_spending(
    folder: RunFolder, before: Mapping[str, Spending], now: Mapping[str, Spending]
) -> dict[str, dict[str, float]]:
    """Record what paid components spent in the commands on a run, or on a shard of it.

    Args:
        folder: The folder.
        before: What they spent in earlier commands, as `read_spending` returned it when this one began.
        now: What they have spent in this one so far.

    Returns:
        The sum, for run.json; of the whole run with that of its shards.

    Raises:
        BadFolder: If the folder cannot be written.
    """
    own = _sum_spending(before, now)
    if now:
        folder.write_spending(own)
    if folder.shard is not None:
        return own
    return _sum_spending(before, now, *map(_parse, folder.read_spending_of_shards()))


def read_spending(folder: RunFolder) -> dict[str, Spending]:
    """Return what earlier commands on a run or a shard spent, by component; nothing if there is no record."""
    return _parse(folder.read_spending())


def _parse(record: Any) -> dict[str, Spending]:
    try:
        records = _RECORDS.validate_python(record)
    except ValidationError:
        return {}
    return {name: Spending(each.usd, each.unconfirmed) for name, each in records.items()}


def _sum_spending(*parts: Mapping[str, Spending]) -> dict[str, dict[str, float]]:
    """Return the sum of what components have spent, as run.json records it."""
    found: dict[str, Spending] = {}
    for part in parts:
        for name, own in part.items():
            before = found.get(name, Spending())
            found[name] = Spending(round(before.usd + own.usd, 9), round(before.unconfirmed + own.unconfirmed, 9))
    return {name: asdict(own) for name, own in found.items()}

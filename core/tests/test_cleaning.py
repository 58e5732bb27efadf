"""Cleaning takes the oldest first, no more than it must, and leaves a store that works."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest
from t2i_core.api.digest import digest_data
from t2i_core.api.environment import (
    ENVIRONMENTS,
    RECORD,
    EnvironmentRecord,
    lock_environments,
    read_environment,
)
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.api.image import Truth
from t2i_core.storage.cache import measure_cache, parse_size, shrink_cache, use_cache
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.environments import list_environments
from t2i_core.storage.store import DATABASE, Store

RNG = np.random.default_rng(0)
HOUR = 3600 * 10**9


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def noise() -> np.ndarray:
    return RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)


def key(name: object) -> str:
    return digest_data(str(name))


def test_the_oldest_images_go_first_and_with_them_their_truth(cache: Path) -> None:
    with Store() as store:
        kept = {}
        for age in (3, 1, 2, 0):
            kept[age] = image = store.put_image(key(age), encode_image(noise(), truth=Truth((64, 64), ())))
            stat = image.path.stat()
            os.utime(image.path, ns=(stat.st_atime_ns, stat.st_mtime_ns - age * HOUR))
            assert store.image(key(age)) is not None  # its new time is noted
        size = kept[0].path.stat().st_size
    before = measure_cache()
    assert before is not None
    assert before.images == 4
    cleaned = shrink_cache(before.bytes - size - 100)
    assert (cleaned.images, cleaned.bytes_before) == (2, before.bytes)  # a little more than one
    with Store() as store:
        assert [store.image(key(age)) is not None for age in (0, 1, 2, 3)] == [True, True, False, False]
        assert store.truth(kept[1].digest) is not None
        assert store.truth(kept[3].digest) is None
        assert store.put_image(key(3), encode_image(noise())).path.exists()


def test_the_oldest_observations_go_first_and_the_rest_is_as_it_was(cache: Path) -> None:
    values = {n: RNG.bytes(10_000) for n in range(40)}
    with Store() as store:
        for n, value in values.items():
            store.put(key(n), value)
    before = measure_cache()
    assert before is not None
    cleaned = shrink_cache(before.bytes - 200_000)
    assert cleaned.bytes_after <= before.bytes - 200_000 < cleaned.bytes_after + 3 * 4096
    assert 0 < cleaned.observations < 40
    with Store() as store:
        found = [store.get(key(n)) for n in values]
        assert found == [None] * cleaned.observations + [values[n] for n in range(cleaned.observations, 40)]


def test_observations_of_an_earlier_run_are_older_than_a_later_ones_images(cache: Path) -> None:
    with Store() as store:
        store.put(key("observed"), RNG.bytes(50_000))
    with Store() as store:
        store.put_image(key("drawn"), encode_image(noise()))
    before = measure_cache()
    assert before is not None
    cleaned = shrink_cache(before.bytes - 20_000)
    assert (cleaned.images, cleaned.observations) == (0, 1)


def test_cleaning_removes_files_of_killed_processes(cache: Path) -> None:
    with Store() as store:
        kept = store.put_image(key(0), encode_image(noise()))
    half = kept.path.with_name(f".{kept.path.name}.7.part")
    lost = kept.path.with_name(f"{kept.digest[:2] + '0' * 62}.png")
    for file in (half, lost):
        file.write_bytes(b"no row names it")
    cleaned = shrink_cache(10**9)
    assert (cleaned.images, cleaned.leftovers) == (0, 2)
    assert [file.name for file in (half, lost, kept.path) if file.exists()] == [kept.path.name]


def test_files_of_a_user_among_the_images_do_not_count(cache: Path) -> None:
    """They cannot be cleaned, so a limit below their size would empty the cache at every run."""
    with Store() as store:
        kept = store.put_image(key(0), encode_image(noise()))
    before = measure_cache()
    (cache / "images" / "mine").mkdir()
    for place in ("mine", kept.digest[:2]):
        (cache / "images" / place / "large.png").write_bytes(bytes(10**6))
    assert measure_cache() == before
    assert shrink_cache(500_000).images == 0
    assert kept.path.exists()


@pytest.mark.parametrize("damage", ["changed = 'x'", "bytes = x'00'", "digest = 'x'", "value = 3"])
def test_damaged_rows_go_like_others(cache: Path, damage: str) -> None:
    with Store() as store:
        for number in range(3):
            store.put_image(key(number), encode_image(noise()))
    with sqlite3.connect(cache / DATABASE) as database:
        database.execute(f"update images set {damage} where key = ?", (bytes.fromhex(key(1)),))
    shrink_cache(0)
    assert not list((cache / "images").glob("*/*.png"))
    with Store() as store:
        assert [store.image(key(number)) for number in range(3)] == [None] * 3


def test_no_run_loses_what_it_uses(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_LIMIT", "0")
    said: list[str] = []
    with use_cache(said.append):
        with Store() as store:
            store.put(key(0), b"value")
        with pytest.raises(BadFolder, match="in use by a run"):
            shrink_cache(0)
        with use_cache(said.append):  # one that ends first cleans nothing
            pass
        with Store() as store:
            assert store.get(key(0)) == b"value"
    assert said == [said[0]]
    assert said[0].startswith("cache: 0 images and 1 observations removed")
    with Store() as store:
        assert store.get(key(0)) is None


def test_nothing_is_cleaned_after_an_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_LIMIT", "0")
    with Store() as store:
        store.put(key(0), b"value")
    with pytest.raises(ZeroDivisionError), use_cache():
        raise ZeroDivisionError
    with Store() as store:
        assert store.get(key(0)) == b"value"


def test_a_cache_that_is_not_there_is_empty(cache: Path) -> None:
    assert measure_cache() is None
    assert shrink_cache(0).bytes_before == 0
    assert not cache.exists()


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("20GB", 20 * 10**9), ("1.5 MiB", 3 * 2**19)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "--limit") == size


@pytest.mark.parametrize("text", ["", "much", "-1", "-1GB"])
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(BadOption, match="must be a size such as 20GB"):
        parse_size(text, "--limit")


def put_environment(cache: Path, key: str, used: float, size: int = 100_000) -> Path:
    folder = cache / ENVIRONMENTS / (key * 32)
    folder.mkdir(parents=True)
    (folder / "library.py").write_bytes(b"#" * size)
    EnvironmentRecord(("some<2",), {"some": "1.0"}, size, used).write(folder)
    return folder


def test_environments_go_with_the_rest_in_the_order_of_their_last_use(cache: Path) -> None:
    with Store() as store:
        store.put(key("observed"), RNG.bytes(50_000))
    old, new = put_environment(cache, "a", used=1), put_environment(cache, "b", used=time.time() + 60)
    mine = cache / ENVIRONMENTS / "my-notes.txt"
    mine.write_text("keep this")
    before = measure_cache()
    assert before is not None
    assert (before.environments, before.environment_bytes) == (2, 200_000)
    cleaned = shrink_cache(before.bytes - 1000)
    assert (cleaned.environments, cleaned.observations) == (1, 0)
    assert not old.exists()
    assert new.exists()
    assert "1 environments" in str(cleaned)
    cleaned = shrink_cache(0)
    assert (cleaned.environments, cleaned.observations) == (1, 1)
    assert sorted(each.name for each in mine.parent.iterdir()) == [".lock", "my-notes.txt"]


def test_environments_that_killed_processes_left_are_removed(cache: Path) -> None:
    Store().close()
    for name in (f".building-{'a' * 32}", f".removing-{'c' * 32}"):
        (cache / ENVIRONMENTS / name / "lib").mkdir(parents=True)
    whole = put_environment(cache, "b", used=1)
    before = measure_cache()
    assert before is not None
    assert shrink_cache(before.bytes * 2).leftovers == 2
    assert sorted(each.name for each in whole.parent.iterdir()) == [".lock", whole.name]


def test_no_environment_is_removed_while_one_is_built_or_a_run_uses_the_cache(cache: Path) -> None:
    Store().close()
    folder = put_environment(cache, "a", used=1)
    with lock_environments(folder.parent):
        assert shrink_cache(0).environments == 0
    with use_cache(), pytest.raises(BadFolder, match="in use by a run"):
        shrink_cache(0)
    assert folder.exists()


def test_a_linked_environment_is_neither_counted_nor_removed(cache: Path, tmp_path: Path) -> None:
    Store().close()
    folder = put_environment(tmp_path / "elsewhere", "a", used=1)
    (cache / ENVIRONMENTS).mkdir()
    (cache / ENVIRONMENTS / folder.name).symlink_to(folder)
    assert list_environments(cache) == []
    assert shrink_cache(0).environments == 0
    assert folder.exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"requirements": 3}', '{"requirements": [], "versions": [], "bytes": 1}']
)
def test_an_environment_without_a_valid_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).write_text(text)
    assert read_environment(tmp_path) is None

"""What is kept is given back as it was put; what is damaged is not."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadFolder
from t2i_core.api.image import Instance, Truth, encode_png
from t2i_core.api.mask import PackedMask
from t2i_core.api.prompt import ObjectClass, Scene, SceneObject
from t2i_core.files.atomic_write import write_whole
from t2i_core.files.image_file import DamagedImage
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import DATABASE, Store

KEY = digest_data("a sample")
PIXELS = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
SIZE = (PIXELS.shape[1], PIXELS.shape[0])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def test_an_image_is_kept_with_its_record_and_pixels(store: Store) -> None:
    kept = store.put_image(KEY, encode_image(PIXELS, {"tokens_lost": 3}))
    again = store.image(KEY)
    assert again == kept
    assert np.array_equal(again.pixels, PIXELS)
    (kept,) = store.details([KEY])
    assert (kept.size, kept.record) == (SIZE, {"tokens_lost": 3})
    assert store.holds(again)


def test_equal_images_are_one_file(store: Store) -> None:
    a, b = (
        store.put_image(KEY, encode_image(PIXELS)),
        store.put_image(digest_data("another"), encode_image(PILImage.fromarray(PIXELS))),
    )
    assert a.path == b.path


def test_equal_images_of_two_threads_are_written_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    written, both = [], Barrier(2)

    def write(file: Path, data: bytes) -> os.stat_result:
        written.append(file)
        time.sleep(0.05)  # the other thread looks for the file meanwhile
        return write_whole(file, data)

    monkeypatch.setattr("t2i_core.storage.store.write_whole", write)
    keys = [KEY, digest_data("another")]

    def put(key: str) -> None:
        both.wait()
        store.put_image(key, encode_image(PIXELS))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(put, keys))
    assert len(written) == 1
    assert all(store.has_images(keys))


def test_nothing_is_found_where_nothing_was_put(store: Store) -> None:
    assert store.image(KEY) is None
    assert store.get(KEY) is None
    assert not store.has(KEY)
    assert store.details([KEY]) == [None]


@pytest.mark.parametrize("harm", ["truncate", "empty", "delete"])
def test_a_file_that_is_not_whole_counts_as_not_kept(store: Store, harm: str) -> None:
    path = store.put_image(KEY, encode_image(PIXELS)).path
    if harm == "delete":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: 50 if harm == "truncate" else 0])
    assert store.image(KEY) is None
    assert np.array_equal(store.put_image(KEY, encode_image(PIXELS)).pixels, PIXELS)


def alter(path: Path, keep_time: bool = False) -> None:
    """Change one byte; by default as a program would, which changes the file's time too."""
    stat = path.stat()
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    later = 0 if keep_time else 10**9
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + later))


def test_a_file_written_since_counts_as_not_kept_and_is_replaced(store: Store) -> None:
    image = store.put_image(KEY, encode_image(PIXELS))
    alter(image.path)
    assert store.image(KEY) is None
    assert np.array_equal(store.put_image(KEY, encode_image(PIXELS)).pixels, PIXELS)


def test_a_file_that_was_only_touched_or_copied_is_still_kept(store: Store) -> None:
    image = store.put_image(KEY, encode_image(PIXELS))
    os.utime(image.path, (1, 1))
    assert store.image(KEY) == image


def test_an_altered_file_is_found_when_opened_and_can_be_forgotten(store: Store) -> None:
    image = store.put_image(KEY, encode_image(PIXELS))
    alter(image.path, keep_time=True)
    altered = store.image(KEY)
    assert altered is not None
    with pytest.raises(DamagedImage, match="has changed since it was stored"):
        _ = altered.pixels
    store.forget_image(altered.digest)
    assert store.image(KEY) is None


def test_outside_files_stay_where_they_are_and_are_never_removed(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "mine.jpg"
    PILImage.fromarray(PIXELS).save(outside)
    image = store.put_image(KEY, encode_image(outside))
    assert image.path == outside
    assert not store.holds(image)
    store.forget_image(image.digest)
    assert outside.exists()


FLIPPED = "value = cast(substr(value, 1, 1) || x'ff' || substr(value, 3) as blob)"


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (f"observations set {FLIPPED}", "observation"),
        ("observations set value = x''", "observation"),
        ("observations set value = 'x'", "observation"),
        ("observations set key = zeroblob(32)", "other observation"),
        (f"images set {FLIPPED}", "image"),
        ("images set path = 'elsewhere'", "image"),
        ("images set path = cast(x'ff' as text)", "image"),  # not UTF-8
        ("images set path = x'ff'", "image"),
        ("images set path = cast(x'00' as text)", "image"),
        ("images set changed = 0, bytes = 1", "image"),
        (f"failures set {FLIPPED}", "failure"),
        (f"settings set {FLIPPED}", "settings"),
        (f"rates set {FLIPPED}", "rate"),
    ],
)
def test_a_damaged_row_counts_as_not_there(store: Store, change: str, lost: str) -> None:
    store.put_image(KEY, encode_image(PIXELS, {"tokens_lost": 3}))
    store.put(KEY, b"an answer")
    other = digest_data("another")
    store.put_failure(other, "it is never drawn")
    store.put_settings("model", {"steps": 50})
    store.put_rate("model", 0.25)
    find = {
        "observation": lambda: store.get(KEY),
        "other observation": lambda: store.get("00" * 32),
        "image": lambda: store.image(KEY) or store.details([KEY])[0],
        "failure": lambda: store.failures([other])[0],
        "settings": lambda: store.settings("model"),
        "rate": lambda: store.rate("model"),
    }[lost]
    assert (find() is None) == (lost == "other observation")
    with sqlite3.connect(store.folder / DATABASE) as db:
        db.execute(f"update {change}")
    assert find() is None


def test_an_image_is_found_though_the_index_by_digest_is_damaged(store: Store) -> None:
    other = digest_data("another")
    kept = [store.put_image(key, encode_image(PIXELS + n)) for n, key in enumerate((KEY, other))]
    with sqlite3.connect(store.folder / DATABASE) as db:
        db.execute("update images set digest = (select digest from images where key = ?)", (bytes.fromhex(other),))
    assert store.images([KEY, other]) == kept


def test_a_damaged_entry_is_replaced(store: Store) -> None:
    image = store.put_image(KEY, encode_image(PIXELS, {"tokens_lost": 3}))
    store.put(KEY, b"an answer")
    with sqlite3.connect(store.folder / DATABASE) as db:
        for table in ("images", "observations"):
            db.execute(f"update {table} set {FLIPPED}")
    assert store.put(KEY, b"another answer") == b"another answer"
    assert store.get(KEY) == b"another answer"
    assert store.put_image(KEY, encode_image(PIXELS)) == image
    assert store.image(KEY) == image


def test_a_row_of_another_table_counts_as_not_there(store: Store) -> None:
    """As if a page of one table had replaced a page of another."""
    store.put_failure(KEY, "a safety filter")
    store.put_settings("model", {"steps": 50})
    with sqlite3.connect(store.folder / DATABASE) as database:
        database.execute("insert into observations select key, value, 0 from failures")
        database.execute("insert into rates select * from settings")
    assert store.failures([KEY])[0] == "a safety filter"
    assert store.get(KEY) is None
    assert store.rate("model") is None


def test_an_image_without_its_truth_counts_as_not_kept(store: Store) -> None:
    image = store.put_image(KEY, encode_image(PIXELS, truth=Truth((30, 20), ())))
    with sqlite3.connect(store.folder / DATABASE) as db:
        db.execute("update truths set value = x'00'")
    assert store.image(KEY) is None
    with pytest.raises(DamagedImage, match="truth"):
        store.truth(image.digest)
    with sqlite3.connect(store.folder / DATABASE) as db:
        db.execute("delete from truths")
    assert store.image(KEY) is None
    store.put_image(KEY, encode_image(PIXELS, truth=Truth((30, 20), ())))
    assert store.truth(image.digest) == Truth((30, 20), ())


def test_fresh_takes_nothing_that_was_there(tmp_path: Path) -> None:
    with Store(tmp_path) as before:
        before.put_image(KEY, encode_image(PIXELS))
        before.put(KEY, b"old")
    with Store(tmp_path, fresh=True) as fresh:
        assert fresh.image(KEY) is None
        assert fresh.get(KEY) is None
        fresh.put(KEY, b"new")
        assert fresh.get(KEY) == b"new"
    with Store(tmp_path) as after:
        assert after.get(KEY) == b"new"
        assert after.image(KEY) is not None


PUT_MANY = """
import sys
from t2i_core.api.digest import digest_data
from t2i_core.storage.store import Store
with Store(__import__("pathlib").Path(sys.argv[1])) as store:
    for i in range(100):
        store.put(digest_data([int(sys.argv[2]), i]), bytes([int(sys.argv[2])]))
        store.put(digest_data(["shared", i]), b"same")
"""


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", PUT_MANY, tmp_path, str(w)]) for w in range(3)]
    assert [w.wait() for w in writers] == [0, 0, 0]
    with Store(tmp_path) as store:
        assert all(store.get(digest_data([w, i])) == bytes([w]) for w in range(3) for i in range(100))
        assert all(store.get(digest_data(["shared", i])) == b"same" for i in range(100))


RACE = """
import sys, pathlib, numpy as np
from t2i_core.api.digest import digest_data
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import Store
with Store(pathlib.Path(sys.argv[1])) as store:
    for i in range(60):
        image = store.put_image(digest_data(i), encode_image(np.full((8, 8, 3), int(sys.argv[2]), np.uint8)))
        print(image.digest)
"""


def test_processes_that_make_the_same_image_otherwise_all_take_the_first_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACE, tmp_path]
    makers = [subprocess.Popen([*command, str(m)], stdout=subprocess.PIPE, text=True) for m in (1, 2, 3)]
    said = [m.communicate()[0].split() for m in makers]
    assert len(said[0]) == 60
    assert said[0] == said[1] == said[2]


OPEN = """
import sys, pathlib, time
from t2i_core.storage.store import Store
time.sleep(max(0, float(sys.argv[2]) - time.time()))
for i in range(10):
    Store(pathlib.Path(sys.argv[1]) / str(i)).close()
"""


@pytest.mark.long
def test_several_processes_open_a_new_store_at_the_same_moment(tmp_path: Path) -> None:
    moment = str(time.time() + 4)
    openers = [subprocess.Popen([sys.executable, "-c", OPEN, tmp_path, moment]) for _ in range(8)]
    assert [o.wait() for o in openers] == [0] * 8


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadFolder, match="T2I_CACHE_DIR"):
        Store(tmp_path / "file")
    (tmp_path / DATABASE).write_bytes(b"this is no database, but it is long enough to be read" * 100)
    with pytest.raises(BadFolder, match=r"is damaged \(file is not a database\): remove it"):
        Store(tmp_path)


def test_whatever_is_wrong_with_the_database_itself_is_said_to_be_damage(store: Store) -> None:
    assert "was removed or changed" in str(store.gone("an image"))
    with sqlite3.connect(store.folder / DATABASE) as db:
        db.execute("drop table observations")
    with pytest.raises(BadFolder, match=r"is damaged \(no such table: observations\): remove it"):
        store.put(KEY, b"what was said")


def test_damage_that_cannot_be_quoted_is_said_too(tmp_path: Path) -> None:
    Store(tmp_path).close()
    data = (tmp_path / DATABASE).read_bytes()
    assert b"CREATE TABLE observations" in data
    data = data.replace(b"CREATE TABLE observations", b"CR\xda\xdaTE TABLE observations")
    (tmp_path / DATABASE).write_bytes(data)
    with pytest.raises(BadFolder, match=r"is damaged .*: remove it"):
        Store(tmp_path)


def test_a_database_that_says_it_cannot_be_written_is_damaged_not_forbidden(tmp_path: Path) -> None:
    Store(tmp_path).close()
    data = bytearray((tmp_path / DATABASE).read_bytes())
    data[18] = 9  # the version of SQLite that may write it
    (tmp_path / DATABASE).write_bytes(data)
    with Store(tmp_path) as store, pytest.raises(BadFolder, match=r"is damaged .*: remove it"):
        store.put(KEY, b"what was said")


def test_rows_missing_from_a_damaged_database_are_reported_as_damage(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for i in range(200):
            store.put(digest_data(i), bytes(100))
    data = (tmp_path / DATABASE).read_bytes()
    pages = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    (tmp_path / DATABASE).write_bytes(b"".join([*pages[:-2], pages[-1], pages[-2]]))
    with Store(tmp_path) as store:
        assert "is damaged" in str(store.gone("an observation"))


def test_the_cache_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path))
    assert find_cache_folder() == tmp_path
    monkeypatch.delenv("T2I_CACHE_DIR")
    assert "t2i" in str(find_cache_folder())


def test_truth_survives_storage(store: Store) -> None:
    mask = np.zeros((20, 30), bool)
    mask[3:9, 4:17] = True
    car = ObjectClass("car", "car.n.01")
    truth = Truth(
        size=(30, 20),
        instances=(
            Instance(car, "red", (4, 3, 17, 9), PackedMask.pack(mask), {"kind": "van"}),
            Instance(ObjectClass("dog"), None, (0, 0, 1, 1), PackedMask.pack(~mask)),
        ),
        asked=Scene((SceneObject(car, "red"),)),
    )
    image = store.put_image(KEY, encode_image(PIXELS, truth=truth))
    again = store.truth(image.digest)
    assert again == truth
    assert np.array_equal(again.instances[0].mask.unpack(), mask)
    assert store.truth("0" * 64) is None


def test_pixels_must_be_pixels() -> None:
    with pytest.raises(ValueError, match="float64"):
        encode_png(np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match="str"):
        encode_png("no image")


def test_a_short_write_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "file"
    with pytest.raises(OSError, match="No such file"):
        write_whole(target, b"data")
    write_whole(tmp_path / "file", b"data")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_entries_of_another_process_are_not_overwritten(store: Store) -> None:
    with Store(store.folder) as another:
        assert another.put(KEY, b"first") == b"first"
        assert store.put(KEY, b"second") == b"first"
        assert store.get(KEY) == b"first"
        other = digest_data("another")
        another.put_image(other, encode_image(PIXELS))
        store.put_failure(other, "it is never drawn")
        assert store.failures([other])[0] is None
    with Store(store.folder, fresh=True) as fresh:
        assert fresh.put(KEY, b"anew") == b"anew"
    assert store.get(KEY) == b"anew"


def test_an_older_versions_database_is_left_alone(tmp_path: Path) -> None:
    older = tmp_path / "store-5.sqlite"
    with sqlite3.connect(older) as database:
        database.execute("create table observations (key blob primary key, value blob not null, crc integer)")
        database.execute("insert into observations values (?, 'older', 0)", (bytes.fromhex(KEY),))
    before = older.read_bytes()
    with Store(tmp_path) as store:
        assert store.get(KEY) is None
        store.put(KEY, b"newer")
    assert older.read_bytes() == before


def test_a_copied_file_is_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.put_image(KEY, encode_image(PIXELS)).path
    os.utime(path, ns=(0, 10**18))
    assert store.image(KEY) is not None
    monkeypatch.setattr("t2i_core.storage.store.digest_file", lambda path: pytest.fail("read again"))
    assert store.image(KEY) is not None
    (kept,) = store.details([KEY])
    assert (kept.size, kept.record) == (SIZE, {})

"""The fault tests notice a fault of t2i itself: each of these mistakes in its code makes one of them fail.

Each mistake is made in a copy of core, and the test runs on that copy:
uv run pytest -n auto -m long tests/faults/test_mutations.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import t2i_core

CORE = Path(t2i_core.__file__).parent
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutation:
    """A mistake in the code.

    Attributes:
        name: What goes wrong.
        file: The file of core in which it is.
        changes: Each part of the code with what stands there instead.
        test: The test that must fail.
    """

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    test: str


MUTATIONS = (
    Mutation(
        "transactions are committed at the end only",
        "storage/database.py",
        (
            (
                'self.execute("begin immediate")',
                'self._connection.in_transaction or self.execute("begin immediate")',
            ),
            ('                self.execute("commit")\n', ""),
            ('                    self.execute("rollback")', "                    pass"),
            (
                '"""Close the file."""',
                '"""Close."""\n        self.execute("commit" if self._connection.in_transaction else "")',
            ),
        ),
        "test_regressions.py::test_kept_work_is_not_repeated_after_a_kill",
    ),
    Mutation(
        "a failure becomes a grey image",
        "engine/generation.py",
        (
            (
                "            return answer\n        if not isinstance",
                "            return encode_image(np.full((16, 20, 3), 128, np.uint8))\n        if not isinstance",
            ),
        ),
        "test_regressions.py::test_failed_and_excluded_samples_are_counted_and_listed",
    ),
    Mutation(
        "keys of images leave out the seed",
        "engine/sample.py",
        (("image_key(head, seed, noise))", "image_key(head, 0, 0))"),),
        "test_regressions.py::test_failed_and_excluded_samples_are_counted_and_listed",
    ),
    Mutation(
        "the user's images are looked up once",
        "engine/generation.py",
        (("if existing or not kept:", "if not kept:"),),
        "test_regressions.py::test_a_run_takes_the_users_images_as_they_are",
    ),
    Mutation(
        "CRCs are not checked",
        "storage/database.py",
        (("crc32(value, crc32(key, of_table)) == _CRC_OF_WHOLE", "of_table"),),
        "test_regressions.py::test_damaged_rows_of_the_database_count_as_not_there",
    ),
    Mutation(
        "files of images are not looked at",
        "storage/store.py",
        (("whole = stat.st_size == kept.size and (", "whole = True or ("),),
        "test_regressions.py::test_damaged_images_are_made_again",
    ),
    Mutation(
        "images are not compared with their digest when they are opened",
        "api/image.py",
        (("if hashlib.sha256(data).hexdigest() != self.digest:", "if False:"),),
        "test_regressions.py::test_an_image_altered_without_a_trace_is_noticed_when_it_is_opened",
    ),
    Mutation(
        "the run folder is not locked",
        "storage/run_folder.py",
        (("            self._lock.acquire()\n", ""),),
        "test_regressions.py::test_a_run_or_a_part_of_it_is_held_by_one_process",
    ),
    Mutation(
        "files are written in place",
        "files/atomic_write.py",
        (
            ('os.path.join(folder, f".{name}.{os.urandom(4).hex()}.part")', "str(path)"),
            ("os.open(part, _NEW, 0o666)", "os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)"),
            ("            os.unlink(part)  # noqa: PTH108\n", "            pass\n"),
        ),
        "test_regressions.py::test_files_get_their_final_names_when_they_are_complete",
    ),
    Mutation(
        "leftovers of killed processes stay",
        "storage/run_folder.py",
        (("                self._sweep()\n", "                pass\n"),),
        "test_regressions.py::test_files_get_their_final_names_when_they_are_complete",
    ),
    Mutation(
        "tables are not compared with their digest when they are read",
        "results/run.py",
        (('if hashlib.file_digest(file, "sha256").hexdigest() != written:', "if False:"),),
        "test_regressions.py::test_a_damaged_file_of_a_run_is_refused_when_read_and_written_anew",
    ),
    Mutation(
        "every failure is final",
        "engine/generation.py",
        (("        if encoded.final:\n", "        if True:\n"),),
        "test_regressions.py::test_work_that_failed_is_tried_again_unless_the_failure_is_final",
    ),
    Mutation(
        "answers are matched by their order",
        "engine/answer_stream.py",
        (("item = open_items.pop(id(answer[0]), None)", "item = open_items.pop(next(iter(open_items)))"),),
        "test_rude_plugins.py::test_a_deed_harms_only_what_it_touches",
    ),
)


def copy_core(folder: Path) -> Path:
    """Copy core into a folder that Python searches first, with its bytecode, which holds for unchanged files."""
    return Path(shutil.copytree(CORE, folder / "t2i_core"))


def run_test(test: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a fault test with the core in a folder."""
    options = ["-q", "-x", "-n0", "-m", "", "-p", "no:cacheprovider"]  # with those that take long
    command = [sys.executable, "-m", "pytest", *options, f"tests/faults/{test}"]
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    variables |= {"PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mistake_in_the_code_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    file = copy_core(tmp_path) / mutation.file
    text = file.read_text(encoding="utf-8")
    for before, after in mutation.changes:
        assert text.count(before) == 1, f"{mutation.file} has changed: correct the mutation"
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")
    done = run_test(mutation.test, tmp_path)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-3000:] + done.stderr
    assert " error" not in done.stdout.splitlines()[-1], done.stdout[-3000:]  # the test itself, not what it needs


@pytest.mark.long
def test_a_copy_without_a_mistake_passes(tmp_path: Path) -> None:
    copy_core(tmp_path)
    done = run_test("test_regressions.py::test_failed_and_excluded_samples_are_counted_and_listed", tmp_path)
    assert done.returncode == pytest.ExitCode.OK, done.stdout[-3000:] + done.stderr

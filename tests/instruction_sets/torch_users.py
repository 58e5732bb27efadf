"""A pytest plugin that notes test files with an error or a failure: without torch, they may be torch's users.

This finds files that import torch while they are collected, and tests whose fixture failed in another file.
"""

import os
from pathlib import Path

import pytest


def _note(report: pytest.CollectReport | pytest.TestReport) -> None:
    if report.failed:
        with Path(os.environ["TORCH_USERS"]).open("a", encoding="utf-8") as file:
            file.write(report.nodeid.partition("::")[0] + "\n")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a file, or a folder with its conftest.py, that cannot be imported."""
    _note(report)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the file of a test that failed."""
    _note(report)

"""Environments that some machines of a cluster do not see."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from t2i_core.api.errors import BadFolder
from t2i_ray.environment_check import check_environment


@pytest.mark.long
def test_an_environment_must_be_on_all_machines(cluster: Any) -> None:
    check_environment(sys.executable, "judge 'x'")
    with pytest.raises(BadFolder, match=r"judge 'x': its environment is not on the machine .* set T2I_CACHE_DIR"):
        check_environment("/not/here/bin/python", "judge 'x'")

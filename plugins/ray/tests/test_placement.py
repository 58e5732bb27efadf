from __future__ import annotations

import pytest
from t2i_core.api.errors import BadOption
from t2i_ray.placement import Machine, Placement, has_room, place_workers


def test_one_worker_per_gpu() -> None:
    found = place_workers([Machine(16, 4), Machine(8, 2)], None, None, None)
    assert found == Placement(workers=6, cpus=1, gpus=1, threads=4, room=6)


def test_parts_of_gpus() -> None:
    assert place_workers([Machine(16, 1), Machine(8, 1)], None, 0.5, None).workers == 4
    assert place_workers([Machine(16, 3)], None, 2, None).workers == 1  # a worker's GPUs are on one machine


def test_without_gpus_half_the_cpus() -> None:
    assert place_workers([Machine(8, 0), Machine(4, 0)], None, None, None).workers == 6
    assert place_workers([Machine(1, 0)], None, None, None) == Placement(1, 1, 0, 1, 1)
    assert place_workers([Machine(8, 2)], None, None, "cpu") == Placement(4, 1, 0, 2, 4)


def test_more_workers_than_cpus_share_them() -> None:
    assert place_workers([Machine(2, 0)], 8, None, None) == Placement(8, 0.25, 0, 1, 8)
    assert place_workers([Machine(2, 4)], None, None, None).cpus == 0.5
    assert place_workers([Machine(0, 1)], None, None, None).cpus == 0


def test_more_workers_than_gpus_wait() -> None:
    assert place_workers([Machine(8, 2)], 4, None, None).room == 2


def test_a_cluster_without_room_is_refused() -> None:
    with pytest.raises(BadOption, match="no machine of the cluster has 1 GPUs for a worker") as raised:
        place_workers([Machine(8, 0)], None, 1, None)
    assert "--gpus-per-worker" in str(raised.value)
    with pytest.raises(BadOption, match=r"has 2 GPUs for a worker \(the most is 1\)"):
        place_workers([Machine(8, 1), Machine(8, 1)], None, 2, None)


def test_parts_of_more_than_one_gpu_are_refused() -> None:
    with pytest.raises(BadOption, match=r"--gpus-per-worker must be a whole number or less than 1 \(got 1.5\)"):
        place_workers([Machine(8, 4)], None, 1.5, None)
    assert place_workers([Machine(8, 4)], None, 2.0, None).workers == 2


def test_workers_without_gpus_have_no_cuda() -> None:
    with pytest.raises(BadOption, match="--device cuda needs GPUs, and the workers have none"):
        place_workers([Machine(8, 4)], None, 0, "cuda")


def test_a_certain_gpu_is_refused() -> None:
    with pytest.raises(BadOption, match="--device cuda:1 names one GPU"):
        place_workers([Machine(8, 2)], None, None, "cuda:1")


def test_room_for_one() -> None:
    assert has_room([Machine(4, 0)], 1, 1, 0)
    assert not has_room([], 1, 1, 0)
    assert not has_room([Machine(8, 0)], 1, 1, 1)
    assert has_room([Machine(8, 0), Machine(1, 1)], 1, 1, 1)

from importlib.metadata import entry_points

import pytest
from t2i_arena_elo.plugin import t2i_generators, t2i_metrics
from t2i_core.api.errors import BadModel
from t2i_core.testing import MetricContract
from t2i_core.testing.parts import settle

MODULE = "t2i_arena_elo.plugin"


def test_every_component_has_its_entry_point_and_every_entry_point_its_component():
    for group, hook in (("t2i.metrics", t2i_metrics), ("t2i.generators", t2i_generators)):
        entered = {e.name for e in entry_points(group=group) if e.value == MODULE}
        assert entered == {info.name for info in hook()}


class TestElo(MetricContract):
    module, name = MODULE, "elo"


class TestReward(MetricContract):
    module, name = MODULE, "reward"


def test_a_search_cannot_be_made_offline():
    (info,) = t2i_generators()
    with pytest.raises(BadModel, match="offline"):
        info.create(settle(info, {}, None).setup(offline=True))

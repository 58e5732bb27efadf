import pytest
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row


class MeanReward(Metric):
    needs = (Need("reward", capability="reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit):
        yield Row("reward", unit.one().one("reward").value)


@pytest.fixture
def mean_reward() -> MetricInfo:
    return MetricInfo(
        name="mean-reward", summary="Mean reward.", create=MeanReward, measures=(Measure("reward", "Mean."),)
    )

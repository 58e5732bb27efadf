"""Faults of queries: failures, and images of the cache that turn out to be damaged."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..api.failure import Failure
from ..api.judge import Query
from ..storage.store import Store


@dataclass
class QueryFaults:
    """Faults of queries that a stage found.

    Attributes:
        failures: Why queries have no answer, by their keys.
        damaged: Digests of the cache's images that were found damaged. Queries about them are not asked.
        is_repaired: Whether damaged images were generated again before; another damage is then a failure.
    """

    failures: dict[str, Failure] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    is_repaired: bool = False

    def __or__(self, more: QueryFaults) -> QueryFaults:
        """Return the faults of both."""
        return QueryFaults(self.failures | more.failures, self.damaged | more.damaged, self.is_repaired)

    def affects(self, query: Query) -> bool:
        """Return whether a query is about an image that is known to be damaged."""
        return not self.damaged.isdisjoint(image.digest for image in query.images)

    def add_damage(self, why: Exception, key: str, query: Query, store: Store) -> None:
        """Note the damaged images of the cache; if none can be generated again, the query has failed.

        Args:
            why: The error.
            key: Key of the query.
            query: The query.
            store: The cache.
        """
        digests = {image.digest for image in query.images if store.holds(image)}
        if digests and not self.is_repaired:
            self.damaged |= digests
        else:
            self.failures[key] = Failure(str(why))

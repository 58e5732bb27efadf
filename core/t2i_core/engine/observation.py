"""The second stage: judges answer every query that has no answer kept yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..api.adapter import combine
from ..api.errors import BadFolder
from ..api.failure import Failure
from ..api.judge import Capability, Query
from ..api.metric import Need, Sample
from ..api.observation import TYPES, Labels, encode_arrays
from ..api.observation_check import encode_checked
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.progress import Progress, Task
from ..api.prompt import Prompt
from ..api.text import describe_error
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .answer_stream import stream_answers
from .component import Component
from .job import Failures, Job, Model, Served, derived_key, observation_key
from .lifecycle import Execution, keep_settings, open_component


@dataclass(frozen=True)
class _ToAsk:
    key: str
    query: Query
    job: Job
    served: Served


@dataclass(frozen=True)
class Desk:
    """All that one judge, or a model about itself, is asked in one capability: by which jobs for which needs."""

    component: Component[Any]
    capability: Capability
    asking: tuple[tuple[Job, Served], ...]

    @property
    def labels(self) -> Labels | None:
        """The classes that the judge declares."""
        return self.asking[0][1].labels


def desks(jobs: Iterable[Job]) -> list[Desk]:
    """Gather needs by judge and capability, so that each judge is made once."""
    gathered: dict[tuple[str, Capability], Desk] = {}
    for job in jobs:
        for served in job.needs:
            if served.choice:
                askers: list[tuple[Component[Any], Job]] = [(served.choice.judge, job)]
            else:
                askers = [(model.component, replace(job, models=(model,))) for model in job.models]
            for component, own in askers:
                key = (component.judge_fingerprint, served.asked)
                desk = gathered.get(key) or Desk(component, served.asked, ())
                gathered[key] = replace(desk, asking=(*desk.asking, (own, served)))
    return list(gathered.values())


def observe(jobs: Sequence[Job], store: Store, failures: Failures, how: Execution, progress: Progress) -> None:
    """Ask what is missing, judge by judge, and derive what metrics take from image and observation."""
    for desk in desks(jobs):
        to_ask, to_derive = _left(desk, store, failures)
        if to_ask:
            with (
                open_component(desk.component, how) as judge,
                progress.task(f"{desk.capability} by {desk.component.spec}", to_ask, "queries") as task,
            ):
                _ask(desk, judge, store, failures, task)
            _, to_derive = _left(desk, store, failures)  # what several needs take from one answer
        if to_derive:
            with progress.task(f"numbers from {desk.capability}", to_derive, "images") as task:
                _derive_missing(desk, store, failures, task)


def _left(desk: Desk, store: Store, failures: Failures) -> tuple[int, int]:
    """Count the queries that have no answer kept, and the kept answers from which something is not derived yet."""
    to_ask, to_derive = set(), 0
    for item in asked(desk, store, failures):
        if item.key in failures.observations:
            continue
        if not store.has(item.key):
            to_ask.add(item.key)
        elif _lacks_derived(item, store):
            to_derive += 1
    return len(to_ask), to_derive


def _ask(desk: Desk, judge: Any, store: Store, failures: Failures, task: Task) -> None:
    in_flight: set[str] = set()
    labels = desk.labels

    asked_for: dict[int, _ToAsk] = {}

    def readable() -> Iterator[Query]:
        """Open images here, so that a damaged one fails alone and is never blamed on the judge."""
        for item in missing(desk, store, failures, in_flight):
            try:
                query = _opened(item.query, desk, store)
            except DamagedImage as error:
                _blame(error, item, store, failures)
                in_flight.discard(item.key)
                task.advance()
            else:
                asked_for[id(query)] = item
                yield query

    def observe(queries: Iterable[Query]) -> Iterator[Any]:
        return iter(judge.observe(desk.capability, queries))

    started, done = time.monotonic(), 0
    worked = any(store.has(item.key) for item in asked(desk, store, failures))
    for query, answer in stream_answers(observe, readable(), describe_component(desk.component), worked):
        item = asked_for.pop(id(query))
        try:
            value = b"" if isinstance(answer, Failure) else encode_checked(answer, desk.capability, labels, query)
        except (TypeError, ValueError) as error:
            answer = Failure(f"{describe_component(desk.component)} {error}")
        except Exception as error:  # whatever is wrong with it, it is this query's failure
            answer = Failure(
                f"{describe_component(desk.component)} gave what cannot be kept: {describe_error(error)}"
            )
        if isinstance(answer, Failure):
            failures.observations[item.key] = answer
        else:
            value = store.put(item.key, value)
            if item.served.need.derive:
                _derive(replace(item, query=query), TYPES[desk.capability].from_bytes(value, labels), store)
        in_flight.discard(item.key)
        done += 1
        task.advance()
    keep_settings(store, desk.component, judge, desk.component.judge_fingerprint)
    if done:
        store.put_rate(desk.component.judge_fingerprint, (time.monotonic() - started) / done)


def _opened(query: Query, desk: Desk, store: Store) -> Query:
    truth = getattr(desk.component.info, "reads_truth", False)
    # copies, so that the pixels are let go of with the query
    images = tuple(replace(i, truth=store.truth(i.digest) if truth else None) for i in query.images)
    for image in images:
        _ = image.pixels
    return replace(query, images=images)


def _blame(error: DamagedImage, item: _ToAsk, store: Store, failures: Failures) -> None:
    """Have damaged images of the store made again, once; what cannot be read then has failed."""
    damaged = {i.digest for i in item.query.images if store.holds(i)} - failures.healed
    for digest in damaged:
        store.forget_image(digest)
    failures.healed |= damaged
    if not damaged:
        failures.observations[item.key] = Failure(str(error))


def missing(desk: Desk, store: Store, failures: Failures, in_flight: set[str] | None = None) -> Iterator[_ToAsk]:
    """Yield the queries that have no answer kept and did not fail just now, each once."""
    in_flight = set() if in_flight is None else in_flight
    for item in asked(desk, store, failures):
        if item.key not in in_flight and item.key not in failures.observations and not store.has(item.key):
            in_flight.add(item.key)
            yield item


NOT_KEPT = Failure("its image is not made yet")


def gather(
    job: Job,
    models: Iterable[Model],
    prompt: Prompt,
    seed: int,
    need: Need | None,
    store: Store,
    failures: Failures,
) -> tuple[Sample, ...] | Failure:
    """Return the samples of one item, with their images where the need looks at them, or why there is none."""
    samples = []
    for model in models:
        image = None
        if need is None or need.images == "generated":
            key = job.image_key(model, prompt, seed)
            if key in failures.images:
                return failures.images[key]
            image = store.image(key)
            if image is None:
                return NOT_KEPT
        samples.append(Sample(model.label, prompt, seed, image))
    return tuple(samples)


Gather = Callable[[Job, Iterable[Model], Prompt, int, Need | None, Store, Failures], tuple[Sample, ...] | Failure]


def asked(desk: Desk, store: Store, failures: Failures, gathering: Gather = gather) -> Iterator[_ToAsk]:
    """Yield every query of a desk with its key; samples that cannot be gathered ask nothing."""
    for job, served in desk.asking:
        if served.need.per == "run":
            yield from asked_once(job, served)
            continue
        for models, prompt, seed in job.items():
            samples = gathering(job, models, prompt, seed, served.need, store, failures)
            if isinstance(samples, Failure):
                continue
            try:
                with guard_plugin(job.metric, f"to say what to ask about prompt {prompt.id!r}", heeds_damage=True):
                    queries = list(keyed(served, models[0], samples))
                for key, query in queries:
                    yield _ToAsk(key, query, job, served)
            except DamagedImage:
                continue  # measuring meets it again and counts it as this sample's failure


def asked_once(job: Job, served: Served) -> Iterator[_ToAsk]:
    """Yield every query of a need that is asked once per run."""
    with guard_plugin(job.metric, "to say what it asks once"):
        queries = list(keyed(served, job.models[0], shared_samples(job)))
    for key, query in queries:
        yield _ToAsk(key, query, job, served)


def shared_samples(job: Job) -> tuple[Sample, ...]:
    """What a need that is asked once per run is asked for: a sample without an image for each prompt."""
    return tuple(Sample(job.models[0].label, prompt, job.seeds[0]) for prompt in job.prompts)


def keyed(served: Served, model: Model, samples: tuple[Sample, ...]) -> Iterator[tuple[str, Query]]:
    """Yield the queries that the judge itself is asked for one item, with their keys."""
    fingerprint = served.judge_fingerprint(model)
    for query in served.queries(samples):
        yield observation_key(fingerprint, served.asked, query), query


def gathered(
    job: Job, models: Sequence[Model], prompt: Prompt, seed: int, store: Store, failures: Failures
) -> tuple[Sample, ...] | Failure:
    """The same when all images are made: raises BadFolder where one that was there is gone, or altered, since."""
    found = gather(job, models, prompt, seed, None, store, failures)
    if found is NOT_KEPT:
        raise image_gone(store, models, prompt, seed)
    return found


def image_gone(store: Store, models: Sequence[Model], prompt: Prompt, seed: int) -> BadFolder:
    """What to say where an image that was there is gone, or altered, since."""
    whose = " or ".join(model.label for model in models)
    return store.gone(f"an image (of {whose}, prompt {prompt.id!r}, seed {seed})")


def _derive_missing(desk: Desk, store: Store, failures: Failures, task: Task) -> None:
    """Run metrics' functions of image and observation where the observation is kept and their result is not."""
    for item in asked(desk, store, failures):
        if item.key in failures.observations or not _lacks_derived(item, store):
            continue
        value = store.get(item.key)
        if value is None:
            continue
        try:
            _derive(item, TYPES[desk.capability].from_bytes(value, desk.labels), store)
        except DamagedImage as error:
            _blame(error, item, store, failures)
        task.advance()


def _lacks_derived(item: _ToAsk, store: Store) -> bool:
    derive = item.served.need.derive
    return derive is not None and not store.has(derived_key(item.key, item.served, item.job.metric))


def _derive(item: _ToAsk, observation: Any, store: Store) -> None:
    derive = item.served.need.derive
    assert derive is not None
    chain = item.served.choice.chain if item.served.choice else ()
    image = item.query.images[0]
    with guard_plugin(item.job.metric, f"in {derive.name!r} on {image.path}", heeds_damage=True):
        arrays = derive.function(image.pixels, combine(chain, item.query, [observation]))
        value = encode_arrays(arrays)
    store.put(derived_key(item.key, item.served, item.job.metric), value)

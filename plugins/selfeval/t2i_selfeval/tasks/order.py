"""ARO's order: captions of COCO or Flickr30k, and the same words in wrong orders.

Wrong captions are made anew, by the paper's four ways, for it publishes none. Texts are prepared first (lower
case, most marks dropped, cut to some words) and words are what stands between blanks then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadOption, BadPrompts, MissingDependency
from t2i_core.api.text import describe_error

from ..task_options import AroOrderOptions, Perturbation
from .fields import listed
from .picking import Draft, drawn, ranked, samples

Tags = Callable[[list[str]], list[str]]
"""Penn Treebank's tag of each word of a text."""

_NOUNS, _ADJECTIVES = frozenset({"NN", "NNS", "NNP", "NNPS"}), frozenset({"JJ", "JJR", "JJS"})
_TAGGED: tuple[Perturbation, ...] = ("nouns-adjectives", "all-but-nouns-adjectives")
#: So often another order is drawn where one is that of another caption already.
_TRIES = 20


def prompts(setup: Setup[AroOrderOptions]) -> Iterator[Prompt]:
    """Yield the samples. Raises BadPrompts, or MissingDependency where no tagger can be had."""
    file, options = Path(setup.argument or "").expanduser(), setup.options
    if not file.is_file():
        raise BadPrompts(
            f"aro-order:{setup.argument}: there is no such file; want coco_karpathy_test.json or "
            "flickr30k_test.json, beside the folder of its images"
        )
    tags = tagger(options.tagger) if set(options.perturbations) & set(_TAGGED) else None
    return samples(_drafts(file, options, tags), "aro", str(file), options.limit, options.seed)


def _drafts(file: Path, options: AroOrderOptions, tags: Tags | None) -> Iterator[Draft]:
    """As many as are wanted, in the order in which they are taken: to tag all captions would take minutes."""
    captions = sorted(_captions(file, options), key=lambda caption: ranked(options.seed, caption[0]))
    left = options.limit
    for id, image, caption in captions:
        if left == 0:
            return
        wrong = orders(caption, options.perturbations, tags, drawn(options.seed, "orders", id))
        if wrong is not None:
            yield Draft(id, image, caption, tuple(wrong), "text-corruption")
            left = None if left is None else left - 1


def _captions(file: Path, options: AroOrderOptions) -> Iterator[tuple[str, Path, str]]:
    """Id, image and caption, prepared."""
    for number, entry in enumerate(listed(file)):
        image = file.parent / entry.text("image")
        own = list(enumerate(entry.texts("caption")))
        if options.captions == "one":
            own = [drawn(options.seed, "caption", number).choice(own)]
        for at, caption in own:
            yield f"aro-order-{file.stem}-{number}-{at}", image, prepared(caption, options.most_words)


def prepared(caption: str, most_words: int) -> str:
    """A caption as ARO shows it: lower case, without `.!"()*#:;~`, not too long."""
    return " ".join(re.sub(r"[.!\"()*#:;~]", " ", caption.lower()).split()[:most_words])


def orders(
    caption: str, perturbations: Sequence[Perturbation], tags: Tags | None, rng: Random
) -> list[str] | None:
    """Wrong orders of a caption's words, each another; None where there are not so many."""
    words = caption.split()
    tagged = tags(words) if tags is not None else []
    found = [caption]
    for perturbation in perturbations:
        tries = (" ".join(_perturbed(words, perturbation, tagged, rng)) for _ in range(_TRIES))
        if (another := next((text for text in tries if text not in found), None)) is None:
            return None
        found.append(another)
    return found[1:]


def _perturbed(words: list[str], perturbation: Perturbation, tags: list[str], rng: Random) -> list[str]:
    if perturbation in ("within-trigrams", "trigrams"):
        trigrams = [words[at : at + 3] for at in range(0, len(words), 3)]
        if perturbation == "trigrams":
            rng.shuffle(trigrams)
        else:
            for trigram in trigrams:
                rng.shuffle(trigram)
        return [word for trigram in trigrams for word in trigram]
    nouns = [at for at, tag in enumerate(tags) if tag in _NOUNS]
    adjectives = [at for at, tag in enumerate(tags) if tag in _ADJECTIVES]
    if perturbation == "nouns-adjectives":
        return _exchanged(_exchanged(words, nouns, rng), adjectives, rng)
    kept = {*nouns, *adjectives} if perturbation == "all-but-nouns-adjectives" else set()
    return _exchanged(words, [at for at in range(len(words)) if at not in kept], rng)


def _exchanged(words: list[str], places: list[int], rng: Random) -> list[str]:
    """The words with those in some places in another order."""
    found = list(words)
    for place, source in zip(places, rng.sample(places, len(places)), strict=True):
        found[place] = words[source]
    return found


def tagger(pipeline: str) -> Tags:
    """Tag words by a pipeline of spaCy. Raises MissingDependency, or BadOption for a pipeline without tags."""
    without = 'or take orders that need none: -o \'aro-order.perturbations=["trigrams", "words"]\''
    try:
        import spacy
        from spacy.tokens import Doc
    except ImportError:
        raise MissingDependency(
            f"aro-order: spaCy, which tells nouns and adjectives, is not installed: pip install spacy && "
            f"python -m spacy download {pipeline}; {without}"
        ) from None
    try:
        model = spacy.load(pipeline)
    except (OSError, ValueError) as error:
        raise MissingDependency(
            f"aro-order: spaCy's pipeline {pipeline!r} cannot be loaded ({describe_error(error)}): "
            f"python -m spacy download {pipeline}; {without}"
        ) from error

    def tags(words: list[str]) -> list[str]:
        found = [token.tag_ for token in model(Doc(model.vocab, words=words))]
        if not any(found):
            raise BadOption(f"aro-order: spaCy's pipeline {pipeline!r} gives words no tags (NN, JJ)")
        return found

    return tags

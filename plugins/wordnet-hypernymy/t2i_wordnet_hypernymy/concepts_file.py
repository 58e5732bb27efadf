"""Prompt sources that read files: a user's own concepts, predictions of a model, the published list of concepts.

The published list is `data/main.csv` of the taxonomy paper's repository. Its columns `core_synset`, `core_lemma`,
`definition` and `subset` are read. A prediction is a lemma that a model predicted, with the synset that was to be
predicted.

References:
    Taxonomy paper, section 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from t2i_core.api.errors import BadPrompts
from t2i_core.api.facet_levels import join_levels
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject
from t2i_core.io.table import TableRow, parse_table
from t2i_core.io.text_file import read_text

from .options import PhraseOptions, RandomOptions, SynsetPromptOptions
from .templates import text_of
from .wordnet import wordnet

COLUMNS = ("lemma", "synset", "definition")
"""Columns that are not facets."""

PUBLISHED = {
    "appendix": "easy",
    "predict_hypernym": "hypernymy",
    "leafs_and_no_leafs": "hyponymy",
    "simple_triplet_2parent": "mixing",
}
"""The subset of each name in the published list, which adds `_llama` for predictions (here `p-easy`, ...)."""


@dataclass(frozen=True)
class ListedConcept:
    """One line of a file.

    Attributes:
        where: File and line, for messages.
        lemma: The word that the prompt asks for.
        synset: Its place in WordNet.
        definition: The file's definition, or WordNet's.
        facets: Facets of the prompt.
    """

    where: str
    lemma: str
    synset: str
    definition: str
    facets: Mapping[str, str]

    @property
    def name(self) -> str:
        """Lemma and synset, which may be different words."""
        return f"{self.lemma} ({self.synset})"

    def prompt(self, options: SynsetPromptOptions, prompt_id: str) -> Prompt:
        """Return the concept's prompt."""
        return Prompt(
            id=prompt_id,
            text=text_of(self.lemma, self.definition if options.definition else "", options.template),
            scene=Scene((SceneObject(ObjectClass(self.lemma, self.synset)),)),
            facets=self.facets,
        )


def read_concepts(setup: Setup[PhraseOptions]) -> Iterator[Prompt]:
    """Yield a prompt for each line of a user's file.

    The prompt asks for the lemma; the synset says where it is in WordNet. Without a lemma, it asks for the
    synset's first; without a definition, prompts use WordNet's. All other columns become facets.

    Raises:
        BadPrompts: The file is not valid. The message names file, line and problem.
    """
    seen: set[str] = set()
    for concept in list_concepts(Path(setup.argument or "")):
        if concept.name in seen:
            raise BadPrompts(f"{concept.where}: {concept.name} appears twice; delete one of the lines")
        seen.add(concept.name)
        yield concept.prompt(setup.options, concept.name)


def read_predictions(setup: Setup[PhraseOptions]) -> Iterator[Prompt]:
    """Yield a prompt for each prediction of a file; of the published list, only for its predictions.

    Predictions of one word for one synset are one prompt if their texts are equal, otherwise they are numbered.

    Raises:
        BadPrompts: The file is not valid. The message names file, line and problem.
    """
    path = Path(setup.argument or "")
    concepts = list_concepts(path)
    if any(concept.facets.get("subset") in PUBLISHED.values() for concept in concepts):
        concepts = [concept for concept in concepts if concept.facets.get("subset", "").startswith("p-")]
        if not concepts:
            raise BadPrompts(
                f"{path}: no predictions; their subset must be p-easy, p-hypernymy, p-hyponymy or p-mixing"
            )
    counts: Counter[str] = Counter()
    for prompt in _merge(concept.prompt(setup.options, concept.name) for concept in concepts):
        counts[prompt.id] += 1
        number = counts[prompt.id]
        yield prompt if number == 1 else replace(prompt, id=f"{prompt.id} {number}")


def read_random_split(setup: Setup[RandomOptions]) -> Iterator[Prompt]:
    """Yield a prompt for each synset of the published random split; a synset in several subsets is one prompt.

    Raises:
        BadPrompts: The file is not valid or has no line of the split, or options ask for another draw.
    """
    path = Path(setup.argument or "")
    drawn = setup.options.model_dump(include=set(RandomOptions.model_fields) - set(PhraseOptions.model_fields))
    if given := [name for name, value in drawn.items() if value != RandomOptions.model_fields[name].default]:
        raise BadPrompts(f"wordnet-random:{path}: {given[0]} is for a new draw; leave it or the file out")
    wanted = set(PUBLISHED.values()) - {"easy"}
    concepts = [concept for concept in list_concepts(path) if concept.facets.get("subset") in wanted]
    if not concepts:
        raise BadPrompts(f"{path}: no line whose column subset is hypernymy, hyponymy or mixing")
    yield from _merge(concept.prompt(setup.options, concept.synset) for concept in concepts)


def _merge(prompts: Iterable[Prompt]) -> list[Prompt]:
    """Make prompts of the same id and text one prompt with the facets of all."""
    merged: dict[tuple[str, str], Prompt] = {}
    for prompt in prompts:
        first = merged.setdefault((prompt.id, prompt.text), prompt)
        names = dict.fromkeys((*first.facets, *prompt.facets))
        values = {name: [str(p.facets[name]) for p in (first, prompt) if name in p.facets] for name in names}
        merged[prompt.id, prompt.text] = replace(first, facets={n: join_levels(v) for n, v in values.items()})
    return list(merged.values())


def list_concepts(path: Path) -> list[ListedConcept]:
    """Return the lines of a file of concepts or of the published list.

    Raises:
        BadPrompts: The file is not valid. The message names file, line and problem.
    """
    columns, rows = parse_table(path, read_text(path, BadPrompts), BadPrompts)
    published = "core_synset" in columns
    if not published and "synset" not in columns:
        raise BadPrompts(
            f"{path}, line 1: no column 'synset'; the table must have it, or core_synset as published"
        )
    if not rows:
        raise BadPrompts(f"{path}: no concepts; the file must have a line with a synset for each concept")
    return [_read_concept(row, f"{path}, line {row.line}", published) for row in rows]


def _read_concept(row: TableRow, where: str, published: bool) -> ListedConcept:
    prefix = "core_" if published else ""
    synset = row.cells.get(f"{prefix}synset", "")
    if not synset:
        raise BadPrompts(f"{where}: column '{prefix}synset' is empty; fill it in or delete the line")
    try:
        own = wordnet().definition(synset)
    except BadPrompts as error:
        raise BadPrompts(f"{where}: {error}") from None
    facets = {name: cell for name, cell in row.cells.items() if name not in COLUMNS}
    if published:
        facets = {"subset": _name_subset(row.cells["subset"])} if "subset" in row.cells else {}
    return ListedConcept(
        where,
        row.cells.get(f"{prefix}lemma", wordnet().lemmas(synset)[0]).replace("_", " "),
        synset,
        row.cells.get("definition", own),
        facets,
    )


def _name_subset(published: str) -> str:
    base = published.removesuffix("_llama")
    name = PUBLISHED.get(base, base)
    return name if base == published else f"p-{name}"

"""Concepts of a user's own: a CSV or TSV file of lemmas, synsets and, if wished, definitions and facets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2i_core.api.errors import BadPrompts
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject
from t2i_core.io.table import read_table

from .options import PhraseOptions
from .prompts import text_of
from .wordnet import nouns

COLUMNS = ("lemma", "synset", "definition")


def read_concepts(setup: Setup[PhraseOptions]) -> Iterator[Prompt]:
    """Yield a prompt for each line: the lemma is what is asked for, the synset where it stands in WordNet.

    They need not be the same word: a lemma may be what a model predicts for the synset. The definition is
    WordNet's where the file gives none. All other columns are facets. Raises BadPrompts with file, line and fault.
    """
    path = Path(setup.argument or "")
    seen: set[str] = set()
    rows = read_table(path, BadPrompts, ("lemma", "synset"))
    if not rows:
        raise BadPrompts(f"{path}: holds no concepts")
    for row in rows:
        where = f"{path}, line {row.line}"
        lemma, synset = (row.cells.get(name, "") for name in ("lemma", "synset"))
        if not lemma or not synset:
            raise BadPrompts(f"{where}: want a lemma and a synset")
        try:
            own = nouns().definition(synset)
        except BadPrompts as error:
            raise BadPrompts(f"{where}: {error}") from None
        name = lemma.replace("_", " ")
        prompt_id = f"{name} ({synset})"
        if prompt_id in seen:
            raise BadPrompts(f"{where}: {prompt_id} stands there twice")
        seen.add(prompt_id)
        definition = row.cells.get("definition", own) if setup.options.definition else ""
        yield Prompt(
            id=prompt_id,
            text=text_of(name, definition, setup.options.template),
            scene=Scene((SceneObject(ObjectClass(name, synset)),)),
            facets={column: cell for column, cell in row.cells.items() if column not in COLUMNS},
        )

"""The prompt source `concepts`: a user's CSV or TSV file of lemmas, synsets and optionally definitions, facets."""

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
    """Yield a prompt for each line of the file.

    The prompt asks for the lemma; the synset says where it is in WordNet. The two may be different words, for
    example if the lemma is a model's prediction for the synset. Without a column `definition`, prompts use those
    of WordNet. All other columns become facets.

    Raises:
        BadPrompts: The file is not valid. The message names file, line and problem.
    """
    path = Path(setup.argument or "")
    seen: set[str] = set()
    rows = read_table(path, BadPrompts, ("lemma", "synset"))
    if not rows:
        raise BadPrompts(f"{path}: no concepts; the file must have a line with lemma and synset for each concept")
    for row in rows:
        where = f"{path}, line {row.line}"
        lemma, synset = (row.cells.get(name, "") for name in ("lemma", "synset"))
        if not lemma or not synset:
            missing = "synset" if lemma else "lemma"
            raise BadPrompts(f"{where}: column '{missing}' is empty; fill it in or delete the line")
        try:
            own = nouns().definition(synset)
        except BadPrompts as error:
            raise BadPrompts(f"{where}: {error}") from None
        name = lemma.replace("_", " ")
        prompt_id = f"{name} ({synset})"
        if prompt_id in seen:
            raise BadPrompts(f"{where}: {prompt_id} appears twice; delete one of the lines")
        seen.add(prompt_id)
        definition = row.cells.get("definition", own) if setup.options.definition else ""
        yield Prompt(
            id=prompt_id,
            text=text_of(name, definition, setup.options.template),
            scene=Scene((SceneObject(ObjectClass(name, synset)),)),
            facets={column: cell for column, cell in row.cells.items() if column not in COLUMNS},
        )

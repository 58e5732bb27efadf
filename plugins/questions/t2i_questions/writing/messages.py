"""The message that asks a language model for the questions of a prompt, and the reading of its reply.

The model writes one line for each question, `NUMBER | CATEGORY | PARENTS | QUESTION`. The words are t2i's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from t2i_core.api import PromptQuestion

CATEGORIES = ("entity", "count", "attribute", "relation", "action", "text", "global")
MOST_QUESTIONS = 60
_LONGEST_QUESTION = 300

INSTRUCTION = """You check whether pictures show what a text describes. Write the questions of this check.

Rules:
- Each question asks about exactly one fact of the text, and the answer is yes if the picture shows this fact.
- Together the questions cover every fact of the text. They ask about nothing that the text does not say.
- Ask first whether each thing is there, then about its number, its attributes and its relations.
- A question about a thing that may be missing has the question whether it is there as its parent. List the
  numbers of all parents, which must be earlier questions, or 0 without parents.
- The category is one of: {categories}. Use `text` for words to be read in the picture and `global` for the style
  or the picture as a whole.

Write one line for each question and nothing else:
NUMBER | CATEGORY | PARENTS | QUESTION

Example for the text "two ripe pears beside a tin bucket, watercolour":
1 | entity | 0 | Are there pears?
2 | count | 1 | Are there exactly two pears?
3 | attribute | 1 | Are the pears ripe?
4 | entity | 0 | Is there a bucket?
5 | attribute | 4 | Is the bucket made of tin?
6 | relation | 1, 4 | Are the pears beside the bucket?
7 | global | 0 | Is the picture a watercolour?

The text: {text}"""

CORRECTION = """{message}

Reply {attempt} to this request could not be used: {problem}. Its beginning was: {reply}
Follow the form exactly this time."""

_LINE = re.compile(r"\s*(\d+)\s*\|\s*([^|]+?)\s*\|\s*([^|]*?)\s*\|\s*(.+?)\s*")
_SHOWN = 200


class UnusableQuestions(ValueError):
    """A reply that is not a list of questions; the message says why."""


def write_message(text: str) -> str:
    """Return the message that asks for the questions of a prompt."""
    return INSTRUCTION.format(categories=", ".join(CATEGORIES), text=" ".join(text.split()))


def write_correction(message: str, reply: str, problem: str, attempt: int) -> str:
    """Return the message that asks again after a reply that could not be used, the `attempt`-th."""
    return CORRECTION.format(
        message=message, attempt=attempt, problem=problem, reply=repr(" ".join(reply.split())[:_SHOWN])
    )


def read_questions(reply: str) -> tuple[PromptQuestion, ...]:
    """Return the questions of a reply.

    Lines of another form are skipped, because models add words before and after.

    Raises:
        UnusableQuestions: There are no questions, their numbers repeat, a category or a parent is unknown, or a
            line is not a question.
    """
    found: list[PromptQuestion] = []
    for line in reply.splitlines():
        if matched := _LINE.fullmatch(line.strip().strip("`")):
            found.append(_read_question(*matched.groups(), earlier=[question.id for question in found]))
    if not found:
        raise UnusableQuestions("it has no line of the form NUMBER | CATEGORY | PARENTS | QUESTION")
    if len(found) > MOST_QUESTIONS:
        raise UnusableQuestions(f"it has {len(found)} questions; at most {MOST_QUESTIONS} are allowed")
    return tuple(found)


def _read_question(
    number: str, category: str, parents: str, text: str, *, earlier: Sequence[str]
) -> PromptQuestion:
    id, kind = str(int(number)), category.lower()
    if id in earlier:
        raise UnusableQuestions(f"the number {id} appears twice")
    if kind not in CATEGORIES:
        raise UnusableQuestions(f"question {id} has the category {category!r}, which is none of the allowed ones")
    if not text.endswith("?") or len(text) > _LONGEST_QUESTION:
        raise UnusableQuestions(f"line {id} does not end with one short question")
    own = [part.strip() for part in parents.split(",") if part.strip() not in ("", "0")]
    if unknown := next((part for part in own if not part.isdecimal() or str(int(part)) not in earlier), None):
        raise UnusableQuestions(f"question {id} has the parent {unknown!r}, which is not an earlier question")
    return PromptQuestion(id, text, parents=tuple(dict.fromkeys(str(int(part)) for part in own)), category=kind)

"""The tokenizer of COCO's caption evaluation in Python.

It imitates the PTBTokenizer of Stanford CoreNLP 3.4.1 with `-preserveLines -lowerCase`, as coco-caption calls it:
Penn Treebank tokens of each caption in lower case, without the tokens of `PUNCTUATION`. Brackets stay, because
they are in lower case before they are compared with the list.

At each place of a text, the rule with the longest match gives the token, and of equally long matches the first. A
match includes what must follow the token. `tests/golden/ptb.jsonl.gz` holds 5,000 captions with the tokens that
the jar gives, which this module gives too. The jar reads all captions as one text, so that the dot of a caption
that ends with a single letter (`with Mr. T.`) depends on the next caption; here each caption is read alone.
"""

from __future__ import annotations

import re

from t2i_captioning.ptb_rules import PAIRS, list_rules

PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
"""The tokens that coco-caption removes (`pycocoevalcap/tokenizer/ptbtokenizer.py`)."""

_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_MONEY = {"\u00a2": "cents", "\u00a3": "#", "\u00a4": "$", "\u20a0": "$", "\u20ac": "$", "\u0080": "$"}
_FRACTIONS = {"\u00bc": "1/4", "\u00bd": "1/2", "\u00be": "3/4", "\u2153": "1/3", "\u2154": "2/3"}
_QUOTES = {
    "\u2018": "`", "\u2019": "'", "\u201c": "``", "\u201d": "''", "\u00ab": "``", "\u00bb": "''", "\u2039": "`",
    "\u203a": "'",
}  # fmt: skip
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_SPACE = " \t\u00a0"

_PLAIN = re.compile(r"[A-Za-z]{2,}(?=[ \t\u00a0]|$)")
_SPLIT = frozenset(pair.replace(" ", "") for pair in PAIRS)


def tokenize_line(text: str) -> list[str]:
    """Return the tokens of one line as the jar prints them (quotes may differ), before punctuation is removed."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        elif (plain := _PLAIN.match(text, at)) and plain.group().lower() not in _SPLIT:
            tokens.append(plain.group().lower())
            at = plain.end()
        else:
            at = _read_token(text, at, tokens)
    return tokens


def _read_token(text: str, at: int, tokens: list[str]) -> int:
    """Append the token that starts here, if any, and return where the next may start."""
    best, rule = None, None
    for each in list_rules():
        found = each.pattern.match(text, at)
        if found and (best is None or found.end() > best.end()):
            best, rule = found, each
    if best is None or rule is None:  # an unknown character, which the jar drops
        return at + 1
    token = best.group(1)
    tokens.append(_write(token) if rule.becomes is None else rule.becomes)
    return best.end(1)


def _write(token: str) -> str:
    token = token.lower()
    if token in _MONEY:
        return _MONEY[token]
    if token in _FRACTIONS:
        return _FRACTIONS[token]
    for entity, character in _ENTITIES.items():
        token = token.replace(entity, character)
    token = token.replace("\u00ad", "")
    if set(token) <= _QUOTES.keys():
        return "".join(map(_QUOTES.__getitem__, token))
    if token in _BRACKETS:
        return _BRACKETS[token]
    if not token.endswith(">"):  # in telephone numbers and smileys
        token = token.replace("(", "-lrb-").replace(")", "-rrb-")
    return token.replace(" ", "\u00a0")


def tokenize(caption: str) -> str:
    """Return the tokens of a caption that COCO's evaluation scores, separated by blanks.

    A token may hold a no-break space (a telephone number, `1 1/2`), at which some of the scorers split. Line
    breaks are blanks.
    """
    tokens = tokenize_line(re.sub(r"[\r\n]", " ", caption))
    return " ".join(token for token in tokens if token and token not in PUNCTUATION)

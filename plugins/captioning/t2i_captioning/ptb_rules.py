"""The rules of COCO's tokenizer: what a token may be, and what must follow it.

They were found by running PTBTokenizer of Stanford CoreNLP 3.4.1 on captions made for this purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

# parts of patterns; letters include combining marks and some accents, but neither superscripts nor fractions
_NOT_LETTERS = r"\d_\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215f\u2460-\u24ff\u2776-\u2793"
_L = (
    rf"(?:[^\W{_NOT_LETTERS}]|[\u00ad\u02c2-\u02c5\u02d2-\u02df\u02e5-\u02ff\u0300-\u036f]"
    r"|&[aeiouAEIOU](?:acute|grave|uml);)"
)
_D = r"[0-9]"
_LD = rf"(?:{_L}|\d)"
_A = "['\u0092\u2019]"  # apostrophes
_ELIDED = rf"(?:[dDoOlL](?:{_A}|[`\u0091\u2018\u201b]){_LD})?{_LD}+"
_WORD = rf"{_L}{_LD}*(?:[.!?]{_L}{_LD}*)*"
_THING = rf"{_ELIDED}(?:[-_\u058a\u2010\u2011]{_ELIDED})*"
_NUMBER = rf"{_D}*(?:[.:,]{_D}+)+|{_D}+"
_ACRONYM = r"[A-Za-z](?:\.[A-Za-z])*"
_INITIALS = r"[A-Z]+(?:(?:[+&]|&amp;)[A-Z]+)+"
_SLASHED = r"[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}"
_NO_URL = r'"<>|(){} \t'
_HOST = r"[^ \t\"`'<>|.!?(){},-_$]"  # as in the original, a range from the comma to the underscore

_SYMBOLS = (
    r"[!-/:-@\[-`{-~\u0080\u00a1-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u2016-\u2023\u201a\u201e\u201f"
    r"\u2030-\u203b\u203e-\u2042\u2044\u2070-\u207e\u2080-\u208e\u20a0\u20a4\u20ac\u2100-\u215e\u2190-\u2bff"
    r"\u3001\u3002\u3012\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0\uffe1\uffe5\uffe6]"
)

# abbreviations that keep their dot; in either case where the first letter is not written as a capital
_TITLES = (
    "mr|mrs|ms|drs?|profs?|sens?|reps?|attys?|lt|col|gen|messrs|govs?|adm|rev|maj|sgt|cpl|pvt|mt|capt|ste?|ave"
    "|pres|lieut|hon|brig|co?mdr|pfc|spc|supts?|det|dept|vs|alex|wm|jos|cie|cf|treas|ft|asst|a\\.k\\.a"
)
_NAMES = (
    "jr|sr|bros|blvd|rd|esq|inc|cos?|corp|ltd|plc|rt|bancorp|bhd|assn|univ|intl|sys|etc|al|seq|bldg|est"
    "|ct|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu|thurs|fri|ala|ariz|calif|colo|conn|dak|fla"
    "|ga|ind|kans?|ky|md|mich|minn|mo|mont|neb|nev|okla|penn|tenn|va|vt|wisc?|wyo|tel|ext|sq"
)
_CAPITALS = "M(?i:iss)|A(?i:z)|A(?i:rk)|D(?i:el)|I(?i:ll)|L(?i:a)|M(?i:ass)|O(?i:re)|P(?i:a)|T(?i:ex)|W(?i:ash)"
_NUMBERED = "nos?|prop|ca|figs?|art|pp|op"
_STARTS = (
    "A|After|An|As|At|But|He|Her|However|If|In|It|Last|Many|More|Mr\\.|Ms\\.|Now|Once|One|Other|Our|She|Since|So"
    "|Some|Such|That|The|Their|Then|There|These|They|This|We|What|When|While|Yet|You"
)
_START = "(?:" + "|".join(word[0] + (f"(?i:{word[1:]})" if word[1:] else "") for word in _STARTS.split("|")) + ")"
_CLITICS = ("s", "m", "d", "re", "ve", "ll")
_FILES = (
    "bat|bmp|c|class|cgi|cpp|dll|docx?|exe|gif|gz|h|html?|jar|java|jpe?g|mov|mp3|pdf|php|pl|png|ppt|ps|py|sql|tar|txt"
    "|wav|x|xml|zip"
)
PAIRS = ("can not", "gon na", "got ta", "lem me", "gim me", "wan na", "'t is", "'t was")


class Rule(NamedTuple):
    """A rule.

    Attributes:
        pattern: The token, as the first group, and what must follow it.
        becomes: Replacement of the token; None if it is only put in lower case.
    """

    pattern: re.Pattern[str]
    becomes: str | None = None


def _rule(token: str, follows: str = "", becomes: str | None = None, ignore_case: bool = False) -> Rule:
    return Rule(re.compile(f"({token}){follows}", re.IGNORECASE if ignore_case else 0), becomes)


def _pairs() -> Iterator[Rule]:
    for pair in PAIRS:
        first, second = pair.split(" ")
        yield _rule(first, second, ignore_case=True)


@cache
def list_rules() -> tuple[Rule, ...]:
    """Return the rules; of equally long matches the first counts."""
    tag = r"<(?:[!?][A-Za-z-][^>]*|/?[A-Za-z][A-Za-z0-9:._-]*(?:/?[ \t][^<>]*|/)?)>"
    mouth = r"[()DdPpO\\{@|\[\]]"
    return (
        _rule(tag),
        *_pairs(),
        _rule(r"[A-Za-z]*?[A-MO-Z]", f"n(?:{_A}|`)t", ignore_case=True),
        _rule(f"n{_A}t", becomes="n't", ignore_case=True),
        _rule("n`t", ignore_case=True),
        *(_rule(f"{_A}{end}", "(?:[^A-Za-z]|$)", becomes=f"'{end}", ignore_case=True) for end in _CLITICS),
        _rule(r"&#[0-9]+;"),
        _rule(r"&amp;|&lt;|&gt;", ignore_case=True),
        _rule(r"&(?:quot|apos);", becomes="'", ignore_case=True),
        _rule(r"&(?:mdash|ndash);", becomes="--", ignore_case=True),
        _rule(r"&nbsp;", becomes="", ignore_case=True),
        _rule(rf"https?://[^{_NO_URL}]+[^{_NO_URL}.!?,-]", ignore_case=True),
        _rule(
            rf"(?:www\.(?:[^{_NO_URL}.!?,]+\.)+[a-zA-Z]{{2,4}}|(?:{_HOST}+\.)+(?:com|net|org|edu))"
            rf"(?:/[^ \t\"<>|()]+[^{_NO_URL}.!?,-])?"
        ),
        _rule(rf"[a-zA-Z0-9][^{_NO_URL}]*@(?:[^{_NO_URL}.]+\.)*[^{_NO_URL}.]+"),
        _rule(rf"@[A-Za-z_][A-Za-z_0-9]*|#{_L}+"),
        _rule(r"c\+\+|[cf]#", ignore_case=True),
        *(_rule(_WORD, rf"{_A}{end}", ignore_case=True) for end in _CLITICS),
        _rule(_WORD),
        _rule(rf"{_LD}+(?:\.{_LD}+)*\.(?:{_FILES})(?!{_LD})", ignore_case=True),
        _rule(rf"[A-HJ-XZn](?:{_A}|[`\u0091\u2018\u201b]){_L}{{2,}}"),
        _rule(_apostrophes(), ignore_case=True),
        _rule(rf"{_L}+[aeiouyAEIOUY]{_A}[aeiouA-Z]{_L}*"),
        _rule(rf"y{_A}", "[A-Za-z]", ignore_case=True),
        _rule(rf"{_A}\d\d", r"(?:\s|$)"),
        _rule(r"(?:\d{1,4}[- \u00a0])?\d{1,4}(?:\\?/|\u2044)\d{1,4}"),
        _rule(r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}"),
        _rule(
            r"(?:\([0-9]{2,3}\)[ \u00a0]?|(?:\+\+?)?(?:[0-9]{2,4}[- \u00a0])?[0-9]{2,4}[- \u00a0])"
            r"[0-9]{3,4}[- \u00a0]?[0-9]{3,5}"
        ),
        _rule(rf"[-+]?(?:{_NUMBER})"),
        _rule(rf"{_SLASHED}(?:\\?/{_SLASHED}){{1,2}}"),
        _rule(_THING),
        _rule(_INITIALS),
        _rule(r"[A-Za-z0-9][A-Za-z0-9.,]*(?:-(?:[A-Za-z](?:\.[A-Za-z])+\.|[A-Za-z0-9]+))+"),
        _rule(rf"(?:{_TITLES}|ph(?:\.d)?|ed\.d)\.", ignore_case=True),
        _rule(rf"(?:{_NAMES})\.", r"[\s\S]{0,2}", ignore_case=True),
        _rule(rf"(?:{_CAPITALS}|[Pp]t[ye])\.", r"[\s\S]{0,2}"),
        _rule(rf"(?:{_NUMBERED})\.", r"\s?\d", ignore_case=True),
        _rule(rf"(?:{_WORD}|{_THING}|{_INITIALS})\.", "[,;:\u3001]"),
        _rule("[A-Za-z]", rf"\.\s{_START}\s"),
        _rule(rf"{_ACRONYM}\."),
        _rule(rf"[<>]?[:;=]{_A}?[-o*]?{mouth}", "(?:[^A-Za-z0-9]|$)"),
        _rule(r"[\^x=~<>'-]_[\^x=~<>'-]"),
        _rule(r"[A-Z]*\$"),
        _rule(r"[?!]+|\*+|_+|#+|<<|>>"),
        _rule(r"-{2,4}|[\u2013-\u2015\u0096\u0097]", becomes="--"),
        _rule("-+"),
        _rule(r"\.{3,5}|(?:\.[ \u00a0]){2,4}\.|[\u0085\u2026]", becomes="..."),
        _rule("'", r"[A-Za-z][^ \t\u00a0]", becomes="`"),
        *(_rule(f"{_A}{end}", becomes=f"'{end}", ignore_case=True) for end in _CLITICS),
        _rule("[\u2018\u2019\u201c\u201d\u00ab\u00bb\u2039\u203a]{2}"),
        _rule(r"[\"`'\u0091-\u0094\u2018\u2019\u201b-\u201d\u00ab\u00bb\u2039\u203a]", becomes="'"),
        _rule(_SYMBOLS),
    )


def _apostrophes() -> str:
    """Return the pattern of words with an apostrophe that stay whole."""
    words = (
        "'n'?", "[ldj]'", "dunkin'", "somethin'", "ol'", "'em", "'[2-9]0s", "'till?", "'cause", "c'est", "li'l",
        "s'mores", "nor'easter", "ev'ry", "nat'l", "e'er",
    )  # fmt: skip
    return "|".join(["c'mon", *(word.replace("'", _A) for word in words)])

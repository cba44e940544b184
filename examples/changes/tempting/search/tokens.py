"""Words of the wiki: how text becomes index terms."""

import re
import unicodedata

from search.synonyms import SYNONYMS

# A word, or an identifier such as err-4417, gw-lys-02, tls1.2, pg_wal.
WORD = re.compile(r"[a-z0-9]+(?:[-._/][a-z0-9]+)*")
PART = re.compile(r"[a-z]+|[0-9]+")

STOP_WORDS = frozenset(
    """a about all am an and any are as at be been but by can could did do does for from get getting got had has have
    he her his how i if in into is it its just may me must my no not of off on one or our out own shall she should so
    some somebody someone somewhere than that the their them then there they this to too up us was we were what when
    where which while who whom whose why will with would you your
    das der die ein eine ist und was wie de des du est et faire la le les mot que un une""".split()
)


def fold(text: str) -> str:
    """Lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


SUFFIXES = (
    "ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ied", "ies", "ed", "es",
    "al", "ly", "s", "e", "y",
)


def stem(word: str) -> str:
    """What the forms of a word share: approve, approval, approves, approved -> approv."""
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return word


STEMMED_SYNONYMS = {stem(typed): written for typed, written in SYNONYMS.items()}

# Years, prices, serials: in running text a long number says nothing about the subject and only
# makes sections look different from each other. The ones people search for stand in headings.
LONG_NUMBER = re.compile(r"[0-9]{4}")


def without_long_numbers(terms: list[str]) -> list[str]:
    return [term for term in terms if not LONG_NUMBER.search(term)]


def tokenize(text: str) -> list[str]:
    """Index terms of a text, in order; an identifier counts as a whole and in its parts."""
    terms = []
    for word in WORD.findall(fold(text)):
        parts = PART.findall(word)
        if len(parts) > 1:
            terms.append(word)
        terms.extend(stem(part) for part in parts if part not in STOP_WORDS)
    return terms


def query_terms(query: str) -> dict[str, float]:
    """Terms of a query with their weights; a synonym weighs as much as what was typed."""
    weights: dict[str, float] = {}
    for term in tokenize(query):
        weights[term] = 1.0
    for term in list(weights):
        for synonym in tokenize(STEMMED_SYNONYMS.get(term, "")):
            weights.setdefault(synonym, 1.0)
    return weights

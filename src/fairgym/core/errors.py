"""The one error that a user's input can cause."""

import re

# Longest word and longest sentence, in characters, and how much of their end is kept.
_WORD, _WORD_END, _SENTENCE, _SENTENCE_END = 300, 60, 2000, 600


class FairgymError(ValueError):
    """Bad input, explained in one sentence that names the field, what it got and what it takes.

    The command line prints the sentence alone and exits with code 2. What is too long in it, such
    as a value of thousands of letters, is cut in its middle.
    """

    def __init__(self, sentence: object = "") -> None:
        """Keep the sentence, bounded."""
        super().__init__(_bounded(str(sentence)))


def _bounded(sentence: str) -> str:
    """The sentence with its middle, and that of its words, cut out where they are too long."""
    short = re.sub(rf"\S{{{_WORD + 1},}}", lambda word: _cut(word[0], _WORD, _WORD_END), sentence)
    return _cut(short, _SENTENCE, _SENTENCE_END)


def _cut(text: str, most: int, end: int) -> str:
    return text if len(text) <= most else f"{text[: most - end - 3]}...{text[-end:]}"

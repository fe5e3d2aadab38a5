"""The one error that a user's input can cause."""


class FairgymError(ValueError):
    """Bad input, explained in one sentence that names the field, what it got and what it takes.

    The command line prints the sentence alone and exits with code 2.
    """

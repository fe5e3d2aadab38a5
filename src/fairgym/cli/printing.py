"""Texts of users on the screen: names of folders, files and policies."""


def plain(text: object) -> str:
    r"""A text on one line, whose control characters and invisible signs are shown, not obeyed.

    Examples:
        >>> from fairgym.cli.printing import plain
        >>> plain("runs/a\x1b[31mb")
        'runs/a\\x1b[31mb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(text))

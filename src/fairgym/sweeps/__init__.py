"""Plans of many runs, and their training: folders by configuration, reused and resumed."""

from fairgym.sweeps.plan import Planned, finish, folder_name, label_of, loaded, plan, unique

__all__ = ["Planned", "finish", "folder_name", "label_of", "loaded", "plan", "unique"]

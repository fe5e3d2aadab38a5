"""The MAFE-Edu environment: admissions, university budget, employer, planner. See `README.md`."""

from fairgym.environments.education.environment import Education
from fairgym.environments.education.params import EducationParams
from fairgym.environments.education.types import EducationComponents

__all__ = ["Education", "EducationComponents", "EducationParams"]

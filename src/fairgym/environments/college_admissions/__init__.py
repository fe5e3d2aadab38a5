"""College admissions with strategic applicants (D'Amour et al. 2020)."""

from fairgym.environments.college_admissions.environment import CollegeAdmissions
from fairgym.environments.college_admissions.types import (
    CollegeAdmissionsComponents,
    CollegeAdmissionsParams,
)

__all__ = ["CollegeAdmissions", "CollegeAdmissionsComponents", "CollegeAdmissionsParams"]

"""Columns, rows and entries of the arrays, by name.

The columns of the queue and of the borrowers are in blocks: a block holds `LANES` people, a column
of it `LANES` adjacent numbers. A loop over the people of a block then becomes vector instructions,
and a person who comes or goes touches one short stretch of memory.
"""

LANES = 64  # people of a block

# people, one row each; the columns of the data in the order in which agents see them
GROUP, RATE, TERM, PRINCIPAL, INCOME, DEBT, FICO_LOW, FICO_HIGH, DELINQUENCY, SCORE = range(10)
RESIDUAL, SERVED = 10, 11
RECORD = (
    "group",
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)
# borrowers, in blocks: place of a column's first number in its block; agents see 3 to 18
(B_BASE, B_RESIDUAL, B_BURDEN, B_GROUP, B_RATE, B_BALANCE, B_MATURES, B_WARNING) = (
    LANES * column for column in range(8)
)
(B_REQUESTED, B_RECEIVED, B_INSTALLMENT, B_DEBT_NOW, B_SCORE_NOW) = (
    LANES * column for column in range(8, 13)
)
(B_TERM, B_PRINCIPAL, B_INCOME, B_FICO_LOW, B_FICO_HIGH, B_DELINQUENCY) = (
    LANES * column for column in range(13, 19)
)
B_DEBT, B_LINE = 19 * LANES, 20 * LANES
B_PLAIN, B_COLUMNS = 11, 21  # number of columns without networks, and with
B_SEEN = (
    "group",
    "interest_rate",
    "balance",
    "time_to_maturity",  # the column holds the month
    "warning",
    "total_requested",
    "total_received",
    "installment",
    "debt_to_income",
    "qualification_score",
    "term",
    "principal",
    "annual_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)
# the queue, in blocks: the first ten columns of people, then the month of entry
Q_SINCE, Q_COLUMNS = 10 * LANES, 11
# rows of the components
(
    PROFIT,
    APPLIED,
    APPROVED,
    DISBURSED,
    WAITED,
    ENDED,
    DEFAULTED,
    LEFT_WAITING,
    NEVER_PAID_OUT,
    FIRST_APPROVED,
    FIRST_DISBURSED,
    PEOPLE,
) = range(12)
COMPONENTS = (
    "profit",
    "applied",
    "approved",
    "disbursed",
    "waited",
    "ended",
    "defaulted",
    "waiting",
    "never_paid_out",
    "first_approved",
    "first_disbursed",
    "people",
)
IDLE, WAITING, REPAYING, APPLYING, TIME = range(5)  # counts
TOTAL_PROFIT, TOTAL_LOSSES, TOTAL_PAYMENTS, OWED = range(4)  # books; owed each month
MONTHS = 128  # of the schedule of deposits, a ring

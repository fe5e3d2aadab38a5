"""Parts that several systems share: moves of features, schedules, regions, sampled people."""

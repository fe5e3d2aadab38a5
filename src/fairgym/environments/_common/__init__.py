"""Code that several systems share: moving features, schedules, regions, sampled people."""

"""Drawing images of a run to be labelled by people, so that a judge's errors can be corrected."""

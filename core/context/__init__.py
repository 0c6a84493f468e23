"""The lines and lists of a prompt as pure values: how messages become history, how keys are ordered."""

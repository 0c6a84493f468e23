"""Pure functions that turn messages into the history lists of a prompt, and order the prompt's keys."""

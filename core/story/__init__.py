"""The rooms of `core.stories`: recaps of messages, what is included and hidden, scenes, the running recap."""

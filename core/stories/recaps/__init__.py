"""Recaps of messages: made, included under a limit, hidden, shown."""

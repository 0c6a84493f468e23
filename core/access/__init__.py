"""Access control: audiences, conversations, participants, and the statement that finds the audiences of a scope."""

"""Access control: audiences, conversations, participants, and the statement that finds what a scope may see."""

"""Access control: audiences, conversations, participants, and the statement that reads the audiences a scope sees."""

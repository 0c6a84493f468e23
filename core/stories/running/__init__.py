"""The running recap of a conversation, in versions: what it covers, how it is made, where it is put."""

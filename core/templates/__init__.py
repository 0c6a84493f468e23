"""The templates and word lists of `prompts/`: finding, sandboxing and rendering them."""

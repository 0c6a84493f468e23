"""The proxy: everything under `/v1` of a model server in the OpenAI dialect, with memory added to chats."""

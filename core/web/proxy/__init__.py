"""The proxy: everything under `/v1` of a model server in the OpenAI dialect, with memory added to chats.

| Module | Owns |
|---|---|
| routes | one request in a straight line |
| upstream | the connections to LLM_BASE_URL, and the headers that pass |
| identity | whose chat a request is |
| messages | the person's last message, the lines that are stored, a text put into a body |
| tasks | what a front end asks beside the chat |
| answer | the text of an answer, whole or in a stream |
| memory | building and storing, in threads of their own |
"""

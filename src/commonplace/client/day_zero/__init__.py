"""What is already known on a machine before the first session: notes of agents, folders of Markdown, stores of other memory
servers, commit messages. `commonplace import` stores it as documents and backlog items; transcripts are `commonplace sync`.
"""

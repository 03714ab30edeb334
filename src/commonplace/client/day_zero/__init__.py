"""What is already known on a machine before the first session: notes of agents, folders of Markdown, the file of the
official memory server, commit messages. `commonplace import` stores it as documents; transcripts are `commonplace sync`.
"""

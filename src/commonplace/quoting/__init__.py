"""Words of others are quotations: what is shown of them carries a mark where a reader must be careful.

`marks.py` marks replies, notices and boot packs, `instruction_texts.py` tells which texts read like orders to a model,
`hidden_characters.py` shows what is not seen. `call.py` marks every reply, so no room needs to.
"""

IMPORTER = "importer"
"""The author of what `commonplace import` stores: texts that nobody of the team has checked."""

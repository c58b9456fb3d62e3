"""Pages that people ask for, each a template of the record; nothing is computed here."""

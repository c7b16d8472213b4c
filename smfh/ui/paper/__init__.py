"""The Paper page: the published tables and figures, compared with results measured here."""

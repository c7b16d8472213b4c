"""Paper: its tables and figures beside what is measured here."""

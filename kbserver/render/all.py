"""Importing this registers every renderer; add yours here."""

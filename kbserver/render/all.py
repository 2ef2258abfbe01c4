"""Importing this registers every renderer; add yours here."""
import kbserver.render.doctor  # noqa: F401
import kbserver.render.lessons  # noqa: F401

"""Importing this registers every renderer; add yours here."""
import kbserver.render.assembly
import kbserver.render.compile
import kbserver.render.doctor
import kbserver.render.knowledge  # noqa: F401
import kbserver.render.lessons  # noqa: F401

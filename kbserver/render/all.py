"""Importing this registers every renderer; add yours here."""

import kbserver.render.assembly
import kbserver.render.claims
import kbserver.render.compile
import kbserver.render.device
import kbserver.render.doctor
import kbserver.render.facts
import kbserver.render.isa
import kbserver.render.knowledge
import kbserver.render.lessons
import kbserver.render.profile
import kbserver.render.time
import kbserver.render.verify
import kbserver.render.waves  # noqa: F401

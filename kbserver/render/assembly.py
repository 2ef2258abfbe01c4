"""Text of `inspect_assembly`: instructions under their block labels, with the source line where it changes."""

from __future__ import annotations

from kbserver.ops.assembly import AssemblyListing
from kbserver.render.document import Document
from kbserver.render.registry import renders


@renders(AssemblyListing)
def _(listing: AssemblyListing) -> Document:
    of = f" of {listing.kernel}" if listing.kernel else ""
    document = Document().say(
        f"build:{listing.build_id} for {listing.arch} ({listing.decided_by}); {listing.compiler}; "
        f"{len(listing.lines)} of {listing.total} instructions{of} that fit"
    )
    label = source = None
    for line in listing.lines:
        if line.label != label:
            document.say(f"{line.label}:")
        shown = f"  ; {line.source}" if line.source and line.source != source else ""
        document.say(f"{line.n:>6}  {line.text}{shown}")
        label, source = line.label, line.source
    if listing.next_start:
        document.say(f"cut: start={listing.next_start} goes on")
    elif not listing.lines and listing.start > 1 and listing.total:
        document.say(f"start={listing.start} is past the end")
    return document

"""Well-known statements about these GPUs, with the verdict and the facts that decide it: `claims.yaml`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from kbserver.core.errors import ContentError, KbError
from kbserver.core.model import Record, SourceRef
from kbserver.core.paths import current_roots
from kbserver.core.sources import cite
from kbserver.core.yamlio import parse_yaml
from kbserver.hardware.fact_files import read_text
from kbserver.hardware.facts import FACTS_FOLDER, Fact, FactTable, load_facts

CLAIMS_FILE = f"{FACTS_FOLDER}/claims.yaml"
VERDICTS = ("contradicted", "doubtful", "unit_error", "outdated", "supported")


class KnownClaim(Record):
    """A statement that is often copied. `facts` decide it, `finding` says how, `said_by` where it stands."""

    id: str
    claim: str
    verdict: str
    facts: tuple[Fact, ...]
    finding: str
    said_by: tuple[SourceRef, ...]


def load_known_claims() -> tuple[KnownClaim, ...]:
    """Return the known claims of the content root in force. Raises ContentError naming file and claim."""
    path = current_roots().content / CLAIMS_FILE
    return _parse(read_text(path), load_facts())


@lru_cache(maxsize=4)
def _parse(text: str, facts: FactTable) -> tuple[KnownClaim, ...]:
    data = parse_yaml(text, CLAIMS_FILE)
    if not isinstance(data, dict) or not isinstance(data.get("claims"), dict):
        raise ContentError("expected a mapping `claims:` of id to entry", where=CLAIMS_FILE)
    return tuple(_claim(str(claim_id), entry, facts) for claim_id, entry in data["claims"].items())


def _claim(claim_id: str, entry: Any, facts: FactTable) -> KnownClaim:
    try:
        claim = KnownClaim(
            id=claim_id,
            claim=entry["claim"],
            verdict=entry["verdict"],
            facts=tuple(facts.get(one) for one in entry["facts"]),
            finding=entry["finding"],
            said_by=tuple(cite(one["id"], one.get("locator")) for one in entry["said_by"]),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise ContentError(f"claim {claim_id}: {first['loc'][0]}: {first['msg']}", where=CLAIMS_FILE) from None
    except (KeyError, TypeError, AttributeError, KbError) as error:
        reason = error.message if isinstance(error, KbError) else repr(error)
        raise ContentError(f"claim {claim_id}: {reason}", where=CLAIMS_FILE) from None
    if claim.verdict not in VERDICTS or not claim.facts or not claim.said_by:
        raise ContentError(
            f"claim {claim_id}: it needs facts, said_by and a verdict ({', '.join(VERDICTS)})", where=CLAIMS_FILE
        )
    return claim

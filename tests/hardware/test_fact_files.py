"""Reading fact files: every fault names file, line and id; nothing half-read is used or cached."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError
from kbserver.core.paths import Roots, use_roots
from kbserver.hardware.facts import load_facts
from kbserver.hardware.known_claims import load_known_claims

ROOT = Path(__file__).resolve().parents[2]
GOOD = """facts:
  gfx950.lds.banks:
    name: LDS banks
    value: 64
    unit: banks
    evidence: vendor
    sources:
    - {id: paper, locator: "Table 1"}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A content root with one good fact file."""
    folder = tmp_path / "gpu_arch" / "facts"
    folder.mkdir(parents=True)
    (tmp_path / "index.yaml").write_text("version: 1\n", encoding="utf-8")
    products = (ROOT / "gpu_arch/facts/products.yaml").read_text(encoding="utf-8")
    (folder / "products.yaml").write_text(products, encoding="utf-8")
    (folder / "sources.yaml").write_text("sources:\n  paper: {title: A paper, kind: vendor}\n", encoding="utf-8")
    (folder / "lds.yaml").write_text(GOOD, encoding="utf-8")
    return tmp_path


def load(root: Path, workspace: Path | None = None):
    with use_roots(Roots(root, workspace or root / ".kb", "test")):
        return load_facts()


def write(root: Path, text: str, name: str = "lds.yaml") -> None:
    (root / "gpu_arch/facts" / name).write_text(text, encoding="utf-8")


def test_a_good_file_becomes_facts(root: Path) -> None:
    fact = load(root).get("gfx950.lds.banks")

    assert (fact.arch, fact.product, fact.key, fact.value, fact.unit) == ("gfx950", None, "lds.banks", 64, "banks")
    assert (fact.sources[0].title, fact.sources[0].locator) == ("A paper", "Table 1")


FAULTS = {
    "unknown source": (GOOD.replace("id: paper", "id: blog"), 2, "unknown source 'blog'"),
    "unknown unit": (GOOD.replace("unit: banks", "unit: furlongs"), 2, "unknown unit 'furlongs'"),
    "unknown evidence": (GOOD.replace("evidence: vendor", "evidence: rumour"), 2, "evidence must be one of"),
    "unknown field": (GOOD.replace("unit: banks", "units: banks"), 2, "unknown field 'units'"),
    "unknown target": (GOOD.replace("gfx950", "gfx951"), 2, "unknown target 'gfx951'"),
    "product of another target": (GOOD.replace("gfx950.lds", "gfx950.mi300x.lds"), 2, "not a product of gfx950"),
    "id without area": (GOOD.replace("gfx950.lds.banks", "banks"), 2, "an id is"),
    "no value": (GOOD.replace("    value: 64\n", ""), 2, "value is missing"),
    "no source": (GOOD.partition("    sources:")[0], 2, "a value needs a source"),
    "null that claims evidence": (GOOD.replace("value: 64", "value: null"), 2, "evidence none goes with value null"),
    "null without a note": (
        GOOD.replace("value: 64", "value: null").replace("evidence: vendor", "evidence: none"), 2, "needs a note"
    ),
    "derived without formula": (GOOD.replace("evidence: vendor", "evidence: derived"), 2, "names its formula"),
    "conflict without reason": (
        GOOD + "    conflicts:\n    - {value: 32, sources: [{id: paper}]}\n", 2, "a conflict says why"
    ),
    "conflict without source": (GOOD + "    conflicts:\n    - {value: 32, reason: old}\n", 2, "names who says so"),
    "unknown product": (GOOD + "    products: [MI999]\n", 2, "'MI999' is not a product of gfx950"),
    "duplicate id": (GOOD + GOOD.partition("\n")[2], 9, "duplicate key"),
    "not a mapping": ("- 1\n", None, "expected one mapping"),
    "a second key": (GOOD + "extra: 1\n", None, "expected one mapping"),
    "name that YAML reads as a number": (GOOD.replace("name: LDS banks", "name: 64"), 2, "name must be text"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_file_line_and_reason(root: Path, fault: str) -> None:
    text, line, reason = FAULTS[fault]
    write(root, text)

    with pytest.raises(ContentError) as caught:
        load(root)

    assert reason in caught.value.message
    assert (caught.value.where or "").endswith(f"facts/lds.yaml:{line}" if line else "facts/lds.yaml")


def test_one_id_in_two_files_is_refused(root: Path) -> None:
    write(root, GOOD, "more.yaml")

    with pytest.raises(ContentError, match=r"gfx950\.lds\.banks stands in lds\.yaml already"):
        load(root)


def test_a_formula_needs_facts_that_exist(root: Path) -> None:
    write(root, GOOD + "    formula: gfx950.lds.width * 2\n    inputs: [gfx950.lds.width]\n")

    with pytest.raises(ContentError, match=r"no fact 'gfx950\.lds\.width'"):
        load(root)


def test_aliases_for_nothing_are_refused(root: Path) -> None:
    write(root, "aliases:\n  lds.bnaks: [banks]\n", "aliases.yaml")

    with pytest.raises(ContentError, match="which no fact has"):
        load(root)


def test_a_byte_order_mark_changes_nothing(root: Path) -> None:
    (root / "gpu_arch/facts/lds.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())

    assert load(root).get("gfx950.lds.banks").value == 64


def test_a_changed_file_is_read_again(root: Path) -> None:
    assert load(root).get("gfx950.lds.banks").value == 64
    write(root, GOOD.replace("value: 64", "value: 6400"))

    assert load(root).get("gfx950.lds.banks").value == 6400


def cached_file(root: Path) -> Path:
    [path] = (root / ".kb/cache").glob("facts-*.json")
    return path


def fresh(root: Path) -> Path:
    """Make the in-process table unusable by a new modification time; the content, and so the cache, stays."""
    os.utime(root / "gpu_arch/facts/lds.yaml", ns=(1, 1))
    return root


def test_the_cache_answers_the_same_table(root: Path) -> None:
    first = load(root).get("gfx950.lds.banks")
    again = load(fresh(root)).get("gfx950.lds.banks")

    assert again == first
    assert again is not first


@pytest.mark.parametrize("damage", [b"", b"{", b"[]\x00", b'[{"id": "x"}]', b'{"a": 1}'])
def test_a_damaged_cache_is_rebuilt(root: Path, damage: bytes) -> None:
    load(root)
    cached_file(root).write_bytes(damage)

    assert load(fresh(root)).get("gfx950.lds.banks").value == 64
    assert json.loads(cached_file(root).read_bytes())[0]["value"] == 64


def test_a_workspace_that_cannot_be_written_only_costs_time(root: Path) -> None:
    blocked = root / "blocked"
    blocked.write_text("a file, not a folder", encoding="utf-8")

    assert load(root, blocked).get("gfx950.lds.banks").value == 64


def test_no_fact_files_is_an_error_and_not_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="no fact files"):
        load(tmp_path)


def test_threads_share_one_table(root: Path) -> None:
    roots = Roots(root, root / ".kb", "test")
    tables = []

    def work() -> None:
        with use_roots(roots):
            tables.append(load_facts())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(tables) == 8
    assert all(table is tables[0] for table in tables)


CLAIM = """claims:
  wrong-banks:
    claim: gfx950 has 32 LDS banks
    verdict: contradicted
    facts: [gfx950.lds.banks]
    finding: It has 64.
    said_by: [{id: paper}]
"""


def load_claims(root: Path, text: str):
    write(root, text, "claims.yaml")
    with use_roots(Roots(root, root / ".kb", "test")):
        return load_known_claims()


def test_a_known_claim_carries_the_facts_that_decide_it(root: Path) -> None:
    [claim] = load_claims(root, CLAIM)

    assert (claim.verdict, claim.facts[0].value, claim.said_by[0].title) == ("contradicted", 64, "A paper")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("gfx950.lds.banks", "gfx950.lds.bunks", "unknown fact"),
        ("verdict: contradicted", "verdict: nonsense", "a verdict"),
        ("said_by: [{id: paper}]", "said_by: [{id: blog}]", "unknown source"),
        ("    finding: It has 64.\n", "", "finding"),
        ("finding: It has 64.", "finding: 64.", "finding: Input should be a valid string"),
        ("facts: [gfx950.lds.banks]", "facts: []", "it needs facts"),
    ],
)
def test_a_malformed_claim_is_named(root: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(ContentError) as caught:
        load_claims(root, CLAIM.replace(old, new))

    assert caught.value.message.startswith("claim wrong-banks:")
    assert reason in caught.value.message

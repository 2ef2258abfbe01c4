"""Text to claims to verdicts: what a write-up says about hardware, code and times, held against facts and builds."""

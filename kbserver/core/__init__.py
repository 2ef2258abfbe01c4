"""What every part shares: errors, typed results, roots, YAML, sources, targets and limited child processes."""

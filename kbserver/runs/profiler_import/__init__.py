"""What AMD's profilers wrote, read into one shape: `read.import_profile(path)` is the way in."""

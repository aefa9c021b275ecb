"""What users rely on though no document says it. Sources are public bug reports."""

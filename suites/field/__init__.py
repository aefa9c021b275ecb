"""What users rely on though no document says it."""

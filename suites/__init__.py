"""The specification: a folder a chapter, with its claims, tests, faults and oracles."""

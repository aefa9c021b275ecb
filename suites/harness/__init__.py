"""The harness's own tests: neither shipped nor part of the specification."""

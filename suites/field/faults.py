"""Faults and sound variants of the field chapter, a module for each kind of subject."""

from . import faults_service  # noqa: F401

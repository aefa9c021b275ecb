"""Faults and sound variants of what the field relies on, registered as their modules are imported."""

from . import faults_index, faults_layer, faults_store  # noqa: F401

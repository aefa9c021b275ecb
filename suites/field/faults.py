"""Faulty and sound subjects of each kind, registered as their modules are imported."""

from . import (  # noqa: F401
    faults_embedder,
    faults_embedder_declared,
    faults_gallery,
    faults_index,
    faults_layer,
    faults_module,
    faults_parts,
    faults_service,
    faults_similarity,
    faults_store,
    sound_embedders,
)

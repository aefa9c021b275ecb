"""Faulty and sound embedders, registered as their modules are imported."""

from . import faults_embedder, faults_embedder_declared, faults_gallery, sound_embedders  # noqa: F401

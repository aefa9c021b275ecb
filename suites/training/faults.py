"""Faulty and sound layers, audit steps, trainers and modules, registered as their modules are imported."""

from . import faults_layer, faults_module, faults_step, faults_training  # noqa: F401

"""Loads the plugin, so that plain pytest in a checkout judges the suites too."""

pytest_plugins = ["embedding_conformance.plugin"]

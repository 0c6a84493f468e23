"""Probes of the flags of conversations."""

"""Probes of the flags of recall."""

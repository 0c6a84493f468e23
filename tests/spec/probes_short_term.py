"""Probes of the flags of short-term."""

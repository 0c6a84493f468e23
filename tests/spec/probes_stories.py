"""Probes of the flags of stories."""

"""Probes of the flags of jobs."""

"""Tests of the tables, on every engine that is present."""

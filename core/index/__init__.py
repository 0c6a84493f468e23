"""The search tables: what stands where, written with the rows, checked and repaired."""

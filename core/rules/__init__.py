"""Pure functions over plain values: no database, no clock, no input or output."""

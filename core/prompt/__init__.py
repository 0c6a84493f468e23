"""Building blocks of the finished prompt: report, messages for providers, token counters."""

"""One module per noun owns that noun's tables: its writes, its reads, its row shape. Tables never decide."""

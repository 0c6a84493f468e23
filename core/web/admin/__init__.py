"""The operator's API and page under `/admin`."""

"""Tests of the admin page in Debian's Chromium; see `core.admin.pages`."""

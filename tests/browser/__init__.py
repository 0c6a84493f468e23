"""Tests of the admin page in Debian's Chromium; see `core.web.admin.pages`."""

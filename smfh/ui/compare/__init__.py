"""The Compare page: methods, code lengths and seeds side by side."""

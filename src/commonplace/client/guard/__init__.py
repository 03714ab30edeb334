"""Refuse commits of files that another agent has leased."""

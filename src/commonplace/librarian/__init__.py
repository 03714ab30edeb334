"""Reads source code without any model and keeps the function registry true to it; knows no room, only calls."""

"""What hooks do about shell commands, and where a file is in its repository."""

"""The client side: what looks at the files of the machine that it runs on. It imports no room."""

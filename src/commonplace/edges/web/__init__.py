"""The web page: its files, sign-in, and `.json` beside each view. What it shows comes from the operations over REST."""

"""Who speaks: the principal behind a request, its session, its window, and whether a session is alive."""

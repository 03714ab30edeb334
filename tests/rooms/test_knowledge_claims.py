"""Sentences of developers that cannot both hold are reported as contradictions; those that can are not."""

import pytest

from commonplace.rooms.knowledge.claims import extract_claims, find_clash

CLASH = [
    ("We use PostgreSQL as the primary database.", "We use MySQL as the primary database.", "value"),
    ("The default branch is main.", "The default branch is master.", "value"),
    ("Redis is required.", "Redis is optional.", "value"),
    ("Redis is required for sessions.", "Redis is optional for sessions.", "value"),
    ("CI runs on Python 3.11.", "CI runs on Python 3.12.", "value"),
    ("The service runs on Python 3.11", "The service runs on Python 3.12", "value"),
    ("Deploys go to region eu-west-1.", "Deploys go to region us-east-1.", "value"),
    ("The region is eu-west-1.", "The region is us-east-1.", "value"),
    (
        "The request timeout of the gateway is 30 seconds.",
        "The request timeout of the gateway is 90s.",
        "value",
    ),
    ("Request timeout: 30 seconds", "Request timeout: 2 minutes", "value"),
    (
        "The client retries three times with a timeout of 30 seconds before it gives up.",
        "The client retries three times with a timeout of 90 seconds before it gives up.",
        "value",
    ),
    ("The worker retries a failed job three times.", "The worker retries a failed job 5 times.", "value"),
    (
        "Sessions of the web shop are stored in redis.",
        "Sessions of the web shop are stored in postgres.",
        "value",
    ),
    ("We use Jest for unit tests.", "We use Vitest for unit tests.", "value"),
    ("We use GitHub Actions for CI.", "We use Jenkins for CI.", "value"),
    ("The API listens on port 8080.", "The API listens on port 9090.", "value"),
    ("Run the linter before the tests.", "Run the linter after the tests.", "value"),
    ("The cache key is case sensitive.", "The cache key is case insensitive.", "value"),
    ("Redis is our default cache.", "Memcached is our default cache.", "value"),
    ("The license of the project is MIT.", "The license of the project is Apache-2.0.", "value"),
    ("主数据库使用PostgreSQL作为存储。端口是5432。", "端口是6432。", "value"),
    (
        "The gateway retries failed payment requests.",
        "The gateway never retries failed payment requests.",
        "polarity",
    ),
    ("Always squash commits before merging.", "Do not squash commits before merging.", "polarity"),
    ("TLS is enabled.", "TLS is disabled.", "polarity"),
    ("Force pushes are allowed.", "Force pushes are forbidden.", "polarity"),
    ("Log passwords.", "Never log passwords.", "polarity"),
    ("Redis is required.", "Redis isn't required.", "polarity"),
    ("The importer works without a network.", "The importer works with a network.", "polarity"),
    (
        "Disable TLS verification in the staging client.",
        "Don't disable TLS verification in the staging client.",
        "polarity",
    ),
]
COMPATIBLE = [
    ("thylacine old body never expires", "thylacine expiring learning body"),
    ("The connect timeout of the gateway is 5 seconds.", "The read timeout of the gateway is 30 seconds."),
    ("The staging timeout is 30 seconds.", "The production timeout is 90 seconds."),
    ("The timeout of the gateway is 60 seconds.", "The timeout of the gateway is 1 minute."),
    ("The timeout of the gateway is 30s.", "The timeout of the gateway is 30 seconds."),
    ("The cart service uses Redis for caching.", "The search service uses Redis for caching."),
    ("The cart service uses Redis for caching.", "The cart service uses Redis for locking."),
    ("The cart service stores totals in Redis.", "The cart service stores coupons in Redis."),
    (
        "The shop API exposes a users endpoint for admins.",
        "The shop API exposes an orders endpoint for admins.",
    ),
    ("The cart uses Redis.", "The cart uses Kafka."),
    ("Ticket 123 is about the cart totals.", "Ticket 124 is about the cart totals."),
    ("Build 12 failed on the Windows runner.", "Build 13 failed on the Windows runner."),
    ("RFC 7231 defines the semantics of GET.", "RFC 9110 defines the semantics of GET."),
    ("The service runs on Python 3.", "The service runs on Python 3.11."),
    ("We use Postgres as the primary database.", "We use PostgreSQL as the primary database."),
    ("The cart service is slow under load.", "The cart service is stateless by design."),
    ("The cart service is slow.", "The cart service is small."),
    ("Do not run migrations in parallel.", "Run migrations in parallel with the linter."),
    ("The staging database is not backed up.", "The production database is backed up."),
    ("Don't use Redis for sessions in unit tests.", "Use Redis for sessions."),
    ("No retries on POST requests.", "Retries on GET requests."),
    ("The cart service logs every error in staging.", "The cart service logs every error in production."),
    ("The timeout of the gateway was 30 seconds.", "The timeout of the gateway is 90 seconds."),
    ("Is the default branch main?", "The default branch is master."),
    ("The default branch of the cart is main.", "The default branch of the shop is master."),
    ("Redis is required.", "Kafka is required."),
    ("Do not disable TLS verification.", "Enable TLS verification."),
    ("Worker 1 handles mail.", "Worker 2 handles mail."),
    ("Step 1: install the packages.", "Step 2: install the hooks."),
    ("Alice owns the cart.", "Bob owns the search."),
    ("The table orders has an index on user_id.", "The table orders has an index on created_at."),
    ("The default cache is Redis for sessions.", "The default cache is Redis for carts."),
]


@pytest.mark.parametrize(("one", "other", "kind"), CLASH)
def test_claims_that_cannot_both_hold_clash_either_way(one, other, kind):
    for mine, theirs in ((one, other), (other, one)):
        found = find_clash(extract_claims(mine), extract_claims(theirs))
        assert found is not None
        assert found.kind == kind


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_claims_that_can_both_hold_do_not_clash(one, other):
    assert find_clash(extract_claims(one), extract_claims(other)) is None
    assert find_clash(extract_claims(other), extract_claims(one)) is None


def test_claims_that_both_texts_make_do_not_clash_with_their_neighbours():
    text = "The staging port is 8080.\nThe port is 80.\nThe port is 81."
    assert find_clash(extract_claims(text), extract_claims(text)) is None

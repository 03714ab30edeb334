"""Secrets are masked by their format, plain text is left alone."""

import time

import pytest

from commonplace.masking import mask_secrets

SECRETS = {
    "github token": "ghp_" + "a1B2" * 9,
    "gitlab token": "glpat-" + "a1B2c3D4e5" * 2,
    "aws key id": "AKIA" + "IOSFODNN7QWERTYZ",
    "anthropic key": "sk-ant-api03-" + "a1B2" * 10,
    "openai key": "sk-proj-" + "a1B2" * 10,
    "commonplace key": "smk_" + "a" * 43,
    "slack token": "xoxb-" + "1234567890-abcdefghij",
    "stripe key": "sk_live_" + "a1B2" * 6,
    "google key": "AIza" + "a" * 35,
    "npm token": "npm_" + "a" * 36,
    "huggingface token": "hf_" + "a" * 34,
    "json web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + "a" * 43,
    "vault token": "hvs." + "a" * 24,
    "password in an address": "user:hunter22",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_masked_replaces_a_secret_by_its_kind(kind):
    before, after = ("postgresql://", "@db/shop") if kind == "password in an address" else ("use ", " here")
    found = mask_secrets(before + SECRETS[kind] + after)
    assert (found.text, found.kinds) == (f"{before}[masked: {kind}]{after}", (kind,))


def test_masked_hides_a_private_key_and_an_assigned_password():
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc+/=\n-----END RSA PRIVATE KEY-----"
    assert mask_secrets(f"a {key} b").text == "a [masked: private key] b"
    assert mask_secrets('password = "correct horse"').kinds == ()
    assert mask_secrets('password = "correcthorse"').kinds == ("password",)


@pytest.mark.parametrize(
    "plain",
    [
        "The token is read from the environment: GITHUB_TOKEN.",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "password = os.environ['PASSWORD']",
        "see https://example.org/path:8080/@user",
        "sk-learn and sk_test are names",
    ],
)
def test_masked_leaves_plain_text_alone(plain):
    assert mask_secrets(plain).text == plain


@pytest.mark.parametrize(
    "piece", ["-----BEGIN PRIVATE KEY-----", "eyJa", "://a:", 'password="', "sk-ant-a-", "a" * 50]
)
def test_masked_takes_time_in_proportion_to_the_text(piece):
    def spent(times: int) -> float:
        began = time.thread_time()
        mask_secrets(piece * times)
        return time.thread_time() - began

    spent(10)
    assert spent(1600) < 64 * max(spent(100), 0.0005)


def test_a_key_without_an_end_costs_in_proportion_to_its_text():
    begin = "-----BEGIN PRIVATE KEY-----\nabcd\n"
    mask_secrets(begin)

    def measure_cpu(lines: int) -> float:
        started = time.process_time()
        for _ in range(5):
            mask_secrets(begin + "some words of a log\n" * lines)
        return time.process_time() - started

    assert measure_cpu(1600) < 40 * measure_cpu(100)

"""Every kind of secret, in the places where agents leave them; and what looks like one and is none."""

import json
import random

import pytest

from commonplace.masking import RULES, mask_secrets

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ANY = random.Random(7)


def _of(alphabet: str, length: int) -> str:
    return "".join(_ANY.choice(alphabet) for _ in range(length))


def hexa(length: int) -> str:
    return _of("0123456789abcdef", length)


def word(length: int) -> str:
    return _of(_LETTERS + "0123456789", length)


def small(length: int) -> str:
    return _of("abcdefghijklmnopqrstuvwxyz0123456789", length)


def capital(length: int) -> str:
    return _of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length)


SECRETS = (
    ("1password token", "ops_eyJ" + word(260)),
    ("adobe secret", "p8e-" + word(32)),
    ("age key", "AGE-SECRET-KEY-1" + capital(58)),
    ("airtable token", "pat" + word(14) + "." + hexa(64)),
    ("alibaba key id", "LTAI" + word(20)),
    ("anthropic key", "sk-ant-api03-" + word(93) + "AA"),
    ("artifactory key", "AKCp" + word(69)),
    ("artifactory token", "cmVmd" + word(59)),
    ("atlassian token", "ATATT3" + word(186)),
    ("aws key id", "AKIA" + capital(16)),
    ("aws bedrock key", "ABSK" + word(120)),
    ("azure secret", "abC8Q~" + word(34)),
    ("clojars token", "CLOJARS_" + small(60)),
    ("cloudflare key", "v1.0-" + hexa(24) + "-" + hexa(146)),
    ("commonplace key", "smk_" + word(43)),
    ("commonplace write token", "cwt_" + word(43)),
    ("crates.io token", "cio" + word(32)),
    ("databricks token", "dapi" + hexa(32)),
    ("digitalocean token", "dop_v1_" + hexa(64)),
    ("discord hook", "https://discord.com/api/webhooks/123456789012345678/" + word(68)),
    ("docker token", "dckr_pat_" + word(27)),
    ("doppler token", "dp.pt." + word(43)),
    ("dynatrace token", "dt0c01." + capital(24) + "." + capital(64)),
    ("easypost key", "EZAK" + small(54)),
    ("figma token", "figd_" + word(40)),
    ("fly.io token", "fo1_" + word(43)),
    ("frame.io token", "fio-u-" + word(64)),
    ("github token", "ghp_" + word(36)),
    ("github token", "github_pat_" + word(82)),
    ("gitlab token", "glpat-" + word(20)),
    ("google key", "AIza" + word(35)),
    ("google secret", "GOCSPX-" + word(28)),
    ("google token", "ya29." + word(120)),
    ("grafana token", "glsa_" + word(32) + "_" + hexa(8)),
    ("groq key", "gsk_" + word(52)),
    ("heroku key", "HRKU-AA" + word(58)),
    ("hubspot token", f"pat-na1-{hexa(8)}-{hexa(4)}-{hexa(4)}-{hexa(4)}-{hexa(12)}"),
    ("huggingface token", "hf_" + word(34)),
    ("infracost token", "ico-" + word(32)),
    ("json web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + word(43)),
    ("langsmith key", "lsv2_pt_" + hexa(32) + "_" + hexa(10)),
    ("linear key", "lin_api_" + word(40)),
    ("mailchimp key", hexa(32) + "-us12"),
    ("mailgun key", "key-" + hexa(32)),
    ("netlify token", "nfp_" + word(36)),
    ("new relic key", "NRAK-" + capital(27)),
    ("notion token", "ntn_" + word(46)),
    ("npm token", "npm_" + word(36)),
    ("nuget key", "oy2" + small(43)),
    ("openai key", "sk-proj-" + word(80)),
    ("openai key", "sk-" + word(20) + "T3BlbkFJ" + word(20)),
    ("openrouter key", "sk-or-v1-" + hexa(64)),
    ("perplexity key", "pplx-" + word(48)),
    ("planetscale token", "pscale_tkn_" + word(43)),
    ("postman key", "PMAK-" + hexa(24) + "-" + hexa(34)),
    ("prefect key", "pnu_" + small(36)),
    ("pulumi token", "pul-" + hexa(40)),
    ("pypi token", "pypi-AgEIcHlwaS5vcmc" + word(80)),
    ("readme key", "rdme_" + small(70)),
    ("replicate token", "r8_" + word(37)),
    ("resend key", f"re_{word(8)}_{word(24)}"),
    ("tailscale key", f"tskey-auth-{word(12)}-{word(32)}"),
    ("rubygems key", "rubygems_" + hexa(48)),
    ("sendgrid key", "SG." + word(22) + "." + word(43)),
    ("sentry token", "sntryu_" + hexa(64)),
    ("shippo token", "shippo_live_" + hexa(40)),
    ("shopify token", "shpat_" + hexa(32)),
    ("slack token", "xoxb-" + "123456789012-123456789012-" + word(24)),
    ("slack token", "xapp-1-A0123456789-1234567890123-" + hexa(64)),
    ("slack hook", "https://hooks.slack.com/services/T01234567/B01234567/" + word(24)),
    ("sourcegraph token", "sgp_" + hexa(16) + "_" + hexa(40)),
    ("square token", "sq0atp-" + word(22)),
    ("stripe key", "sk_live_" + word(24)),
    ("stripe hook secret", "whsec_" + word(32)),
    ("supabase key", "sbp_" + hexa(40)),
    ("tavily key", "tvly-" + word(32)),
    ("telegram token", "123456789:AA" + word(33)),
    ("tencent key id", "AKID" + word(32)),
    ("terraform token", word(14) + ".atlasv1." + word(67)),
    ("twilio key", "SK" + hexa(32)),
    ("vault token", "hvs." + word(90)),
    ("xai key", "xai-" + word(80)),
    ("api key", "sk-" + hexa(48)),
)
PLACES = {
    "prose": "use {} for it",
    "a line of its own": "first\n{}\nlast",
    "the environment": "export THE_ONE={}",
    "a difference": '+    secret: "{}",',
    "a command": "tool --with '{}' --and more",
}


@pytest.mark.parametrize(
    ("kind", "secret"), SECRETS, ids=[f"{kind} {n}" for n, (kind, _) in enumerate(SECRETS)]
)
def test_masked_hides_a_secret_wherever_it_stands(kind, secret):
    for place in PLACES.values():
        plain = place.format(secret)
        inside = json.dumps({"text": plain})
        assert secret not in mask_secrets(plain).text
        assert json.loads(mask_secrets(inside).text)["text"] == mask_secrets(plain).text
        assert mask_secrets(place.format(secret)).kinds[0] == kind


def test_masked_knows_every_kind_that_is_tested_here_and_no_other_by_its_format():
    by_place = {
        "private key",
        "password",
        "password in an address",
        "authorization",
        "cookie",
        "azure key",
        "aws secret",
        "master key",
        "secret",
        "signature",
    }
    assert {rule.kind for rule in RULES} == {kind for kind, _ in SECRETS} | by_place


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("redis://:hunter22@cache:6379/0", "redis://[masked: password in an address]@cache:6379/0"),
        ("https://ann:s3cr3t@example.org/x", "https://[masked: password in an address]@example.org/x"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer [masked: authorization]"),
        ("authorization: Basic YW5uOmh1bnRlcjI=", "authorization: Basic [masked: authorization]"),
        ("curl -H 'X-Api-Key: 0123456789abcdef0'", "curl -H 'X-Api-Key: [masked: authorization]'"),
        ("DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=[masked: password]"),
        ("AccountKey=" + "a1B" * 28 + "ab==;x", "AccountKey=[masked: azure key];x"),
        ('"client_secret": "a1b2c3d4e5"', '"client_secret": "[masked: secret]"'),
        ("aws_secret_access_key = " + "a1B2" * 10, "aws_secret_access_key = [masked: aws secret]"),
    ],
)
def test_masked_hides_a_secret_by_its_place_and_leaves_the_place(text, hidden):
    assert mask_secrets(text).text == hidden
    assert json.loads(mask_secrets(json.dumps(text)).text) == hidden


def test_masked_hides_private_keys_with_their_headers_and_where_they_are_cut_off():
    body = "\n".join("QUJD" * 16 for _ in range(20))
    whole = (
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{body}\n-----END RSA PRIVATE KEY-----"
    )
    cut = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}"
    for key in (whole, cut):
        assert mask_secrets(f"a {key} b").text == "a [masked: private key] b"
        assert json.loads(mask_secrets(json.dumps({"out": f"a {key}", "b": "c"})).text) == {
            "out": "a [masked: private key]",
            "b": "c",
        }


@pytest.mark.parametrize(
    "plain",
    [
        "postgresql://$USER:$PASSWORD@db/shop and https://${user}:${token}@host",
        "Authorization: Bearer $TOKEN or Authorization: Bearer <token>",
        "API_KEY=os.environ and TOKEN=$TOKEN and SECRET_KEY=changeme",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 550e8400-e29b-41d4-a716-446655440000 etag W/0123456789abcdef0123456789abcdef",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        'password = getpass("Password: ")',
    ],
)
def test_masked_leaves_alone_what_only_looks_like_a_secret(plain):
    assert mask_secrets(plain).text == plain

"""Which access tokens are accepted, what they may do, and how the others are refused."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from oauth_issuer import Issuer, SigningKey
from resource_server import ResourceServer

from commonplace import errors
from commonplace.config import read_settings
from team import HandClock


def encode_part(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


async def accepted(server: ResourceServer, token: str) -> dict[str, Any]:
    answer = await server.whoami(token)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.sqlite_only
async def test_metadata_names_the_issuer_at_both_addresses_without_a_key(
    server: ResourceServer, issuer: Issuer
):
    for path in ("", "/mcp"):
        answer = await server.client.get(f"{server.url}/.well-known/oauth-protected-resource{path}")
        assert answer.json() == {
            "resource": server.resource,
            "authorization_servers": [issuer.url],
            "scopes_supported": ["commonplace:read", "commonplace:write", "commonplace:admin"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Commonplace",
        }


@pytest.mark.sqlite_only
async def test_a_call_without_a_token_is_told_where_to_get_one(server: ResourceServer):
    answer = await server.client.post(server.resource, json={})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == (
        f'Bearer resource_metadata="{server.url}/.well-known/oauth-protected-resource/mcp",'
        ' scope="commonplace:read commonplace:write"'
    )


@pytest.mark.sqlite_only
async def test_claims_decide_role_projects_and_agent(server: ResourceServer, issuer: Issuer):
    who = await accepted(server, issuer.mint(server.resource))
    assert who | {"key": ""} == {
        "auth": "on",
        "role": "agent",
        "projects": ["shop"],
        "agent": "ann@example.org",
        "name": "oauth-ann@example.org",
        "key": "",
    }
    admin = issuer.mint(
        server.resource, "openid commonplace:read commonplace:admin", sub="user-2", email="b@c"
    )
    assert (await accepted(server, admin))["role"] == "admin"
    claimed = issuer.mint(
        ["other", server.resource], commonplace_projects=["Web Shop", "till"], sub="user-3", email="c@d"
    )
    assert (await accepted(server, claimed))["projects"] == ["till", "web_shop"]


async def test_the_same_person_is_the_same_caller_in_every_token(server: ResourceServer, issuer: Issuer):
    first = await accepted(server, issuer.mint(server.resource))
    second = await accepted(server, issuer.mint(server.resource, "commonplace:read"))
    assert (first["key"], second["role"]) == (second["key"], "readonly")
    listed = await server.admin(action="list_keys")
    assert [(key.name, key.role, key.created_by) for key in listed.keys] == [
        ("oauth ann@example.org", "readonly", "oauth")
    ]


@pytest.mark.sqlite_only
async def test_a_token_reaches_its_own_projects_only(server: ResourceServer, issuer: Issuer):
    token = issuer.mint(server.resource)
    allowed = await server.call("memory_start_session", token, project="shop")
    refused = await server.call("memory_start_session", token, project="bank")
    assert (allowed.status_code, refused.status_code) == (200, 403)
    reader = issuer.mint(server.resource, "commonplace:read", sub="user-4", email="d@e")
    answer = await server.call("memory_add_backlog_item", reader, project="shop", title="x")
    assert answer.status_code == 403


@pytest.mark.sqlite_only
async def test_a_token_without_a_known_scope_is_told_which_it_needs(server: ResourceServer, issuer: Issuer):
    answer = await server.whoami(issuer.mint(server.resource, "openid email"))
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]


@pytest.mark.sqlite_only
async def test_keys_work_beside_tokens(server: ResourceServer):
    made = await server.admin(action="create_key", name="ci", projects=["shop"])
    assert (await accepted(server, made.key))["key"] == made.id


@pytest.mark.sqlite_only
async def test_hostile_tokens_are_refused(server: ResourceServer, issuer: Issuer):
    good = issuer.mint(server.resource)
    header, payload, signature = good.split(".")
    claims = jwt.decode(good, options={"verify_signature": False})
    other = SigningKey("key-1")
    forged = Issuer(issuer.url, issuer.clock, other)
    own_key = {"alg": "RS256", "kid": "key-1", "jwk": other.to_jwk(), "jku": "http://127.0.0.1:9/keys"}
    deep = encode_part("[" * 4000)
    hostile = {
        "alg none": f"{encode_part({'alg': 'none'})}.{payload}.",
        "alg None with the signature": f"{encode_part({'alg': 'nOnE', 'kid': 'key-1'})}.{payload}.{signature}",
        "public key as HMAC secret": sign_with_public_key(claims, issuer.signing),
        "another audience": issuer.mint("https://elsewhere.example.org/mcp"),
        "audience as prefix": issuer.mint(server.resource[:-1]),
        "no audience": issuer.mint(None),
        "audience is no text": issuer.mint({"a": 1}),
        "another issuer": issuer.mint(server.resource, iss="https://evil.example.org"),
        "no subject": issuer.mint(server.resource, sub=None),
        "no expiry": issuer.mint(server.resource, exp=None),
        "expiry is no number": issuer.mint(server.resource, exp=float("nan")),
        "another key under the same id": forged.mint(server.resource),
        "key in the header": jwt.encode(claims, other.private, "RS256", headers=own_key),
        "unknown key": jwt.encode(claims, other.private, "RS256", headers={"kid": "key-9"}),
        "changed payload": f"{header}.{encode_part(claims | {'scope': 'commonplace:admin'})}.{signature}",
        "signature cut off": good[:-10],
        "no signature": f"{header}.{payload}.",
        "critical extension": jwt.encode(
            claims, issuer.signing.private, "RS256", headers={"kid": "key-1", "crit": ["b64"], "b64": True}
        ),
        "header is a list": f"{encode_part([1])}.{payload}.{signature}",
        "deep header": f"eyJ{deep}.{payload}.{signature}",
        "huge": good + "A" * 20_000,
        "dots": "eyJ..",
    }
    for what, token in hostile.items():
        server.identity._failed_keys = type(server.identity._failed_keys)()
        answer = await server.whoami(token)
        assert answer.status_code == 401, what
        assert 'error="invalid_token"' in answer.headers["www-authenticate"], what
        assert answer.json()["error"] == "unauthenticated", what
    assert (await server.whoami(good)).status_code == 200
    assert (await server.admin(action="list_keys")).total == 1


def sign_with_public_key(claims: dict[str, Any], signing: SigningKey) -> str:
    """HS256 with the public key as the secret, which careless servers accept; jwt.encode refuses to make it."""
    body = f"{encode_part({'alg': 'HS256', 'kid': signing.key_id, 'typ': 'JWT'})}.{encode_part(claims)}"
    digest = hmac.new(signing.public_pem(), body.encode(), hashlib.sha256).digest()
    return f"{body}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@pytest.mark.sqlite_only
async def test_a_token_ends_with_its_time(server: ResourceServer, issuer: Issuer, clock: HandClock):
    token = issuer.mint(server.resource)
    early = issuer.mint(server.resource, nbf=issuer.now + 600)
    assert (await server.whoami(early)).status_code == 401
    assert (await server.whoami(token)).status_code == 200
    clock.advance(seconds=3599)
    assert (await server.whoami(token)).status_code == 200
    clock.advance(seconds=32)
    answer = await server.whoami(token)
    assert (answer.status_code, answer.json()["message"]) == (401, "This access token is expired.")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.sqlite_only
async def test_expired_tokens_and_missing_ones_do_not_count_as_wrong_keys(
    server: ResourceServer, issuer: Issuer
):
    expired = issuer.mint(server.resource, exp=issuer.now - 100)
    statuses = [(await server.whoami(token)).status_code for token in [expired, ""] * 8]
    assert set(statuses) == {401}
    wrong = [(await server.whoami("eyJ.x.y")).status_code for _ in range(12)]
    assert wrong[-1] == 429


@pytest.mark.sqlite_only
async def test_a_rotated_key_works_at_once_and_invented_ids_fetch_nothing(
    server: ResourceServer, issuer: Issuer, clock: HandClock
):
    assert (await server.whoami(issuer.mint(server.resource))).status_code == 200
    assert issuer.jwks_fetches == 1
    old = issuer.mint(server.resource)
    issuer.rotate_key("key-2")
    clock.advance(seconds=31)
    assert (await server.whoami(issuer.mint(server.resource))).status_code == 200
    assert issuer.jwks_fetches == 2
    assert (await server.whoami(old)).status_code == 401
    for number in range(5):
        issuer.signing.key_id = f"invented-{number}"
        assert (await server.whoami(issuer.mint(server.resource))).status_code == 401
    assert issuer.jwks_fetches == 2


@pytest.mark.sqlite_only
async def test_known_keys_serve_while_the_issuer_is_away_for_a_day(
    server: ResourceServer, issuer: Issuer, clock: HandClock
):
    assert (await server.whoami(issuer.mint(server.resource))).status_code == 200
    issuer.is_down = True
    clock.advance(minutes=11)
    assert (await server.whoami(issuer.mint(server.resource))).status_code == 200
    clock.advance(days=1)
    answer = await server.whoami(issuer.mint(server.resource))
    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    made = await server.admin(action="create_key", name="ci", projects=["shop"])
    assert (await server.whoami(made.key)).status_code == 200
    issuer.is_down = False
    clock.advance(seconds=31)
    assert (await server.whoami(issuer.mint(server.resource))).status_code == 200


@pytest.mark.sqlite_only
@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_other_kinds_of_keys_are_used_as_their_kind_allows(server: ResourceServer, issuer: Issuer):
    curve, edwards = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
    weak = rsa.generate_private_key(65537, 1024)
    issuer.published = [
        jwt.algorithms.ECAlgorithm.to_jwk(curve.public_key(), as_dict=True) | {"kid": "curve"},
        jwt.algorithms.OKPAlgorithm.to_jwk(edwards.public_key(), as_dict=True) | {"kid": "edwards"},
        jwt.algorithms.RSAAlgorithm.to_jwk(weak.public_key(), as_dict=True) | {"kid": "weak"},
        issuer.signing.to_jwk() | {"kid": "for encryption", "use": "enc"},
        issuer.signing.to_jwk() | {"kid": "one algorithm", "alg": "PS256"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "symmetric"},
        {"kty": "RSA", "kid": "broken"},
        "no key",
    ]
    claims = jwt.decode(issuer.mint(server.resource), options={"verify_signature": False})
    tried = {
        ("ES256", "curve"): (curve, 200),
        ("EdDSA", "edwards"): (edwards, 200),
        ("RS256", "weak"): (weak, 401),
        ("RS256", "for encryption"): (issuer.signing.private, 401),
        ("RS256", "one algorithm"): (issuer.signing.private, 401),
        ("PS256", "one algorithm"): (issuer.signing.private, 200),
    }
    for (algorithm, key_id), (key, status) in tried.items():
        token = jwt.encode(claims, key, algorithm, headers={"kid": key_id})
        assert (await server.whoami(token)).status_code == status, (algorithm, key_id)


async def test_revoke_key_shuts_a_person_out_at_once_until_readmitted(server: ResourceServer, issuer: Issuer):
    token = issuer.mint(server.resource)
    key = (await accepted(server, token))["key"]
    await server.admin(action="revoke_key", name=key)
    for each in (token, issuer.mint(server.resource, jti="another")):
        answer = await server.whoami(each)
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    owner = await server.admin(action="create_key", name="root", role="owner", projects=["*"])
    assert (await server.call("memory_readmit_subject", owner.key, id=key)).status_code == 200
    assert (await server.whoami(token)).status_code == 200
    assert (await server.call("memory_readmit_subject", owner.key, id=key)).status_code == 404


async def test_the_name_of_a_key_cannot_be_claimed_and_that_of_a_person_not_taken(
    server: ResourceServer, issuer: Issuer
):
    machine = await server.admin(action="create_key", name="ci", agent="builder", projects=["shop"])
    answer = await server.whoami(issuer.mint(server.resource, email="builder"))
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    assert (await server.whoami(issuer.mint(server.resource))).status_code == 200
    free = await server.admin(action="create_key", name="free", projects=["shop"])
    taken = await server.call(
        "memory_start_session", free.key, project="shop", claude_instance="ann@example.org"
    )
    assert (taken.status_code, machine.agent) == (403, "builder")


async def test_a_session_of_one_person_is_closed_to_another(server: ResourceServer, issuer: Issuer):
    mine = issuer.mint(server.resource)
    session = (await server.call("memory_start_session", mine, project="shop")).json()["session_id"]
    yours = issuer.mint(server.resource, sub="user-2", email="bob@example.org")
    answer = await server.call("memory_lock_files", yours, session_id=session, files=["a.py"])
    assert answer.status_code == 404


@pytest.mark.sqlite_only
async def test_the_page_is_not_opened_with_a_token(server: ResourceServer, issuer: Issuer):
    token = issuer.mint(server.resource)
    answer = await server.client.post(f"{server.url}/sign-in", json={"key": token})
    assert answer.status_code == 403
    assert (await server.call("memory_create_sign_in_link", token)).status_code == 403


@pytest.mark.sqlite_only
@pytest.mark.parametrize("oauth_settings", [{"oauth_roles": "group:ops=owner,read=readonly"}])
async def test_groups_give_roles_where_the_operator_says_so(server: ResourceServer, issuer: Issuer):
    assert (await accepted(server, issuer.mint(server.resource, "x", groups=["ops"])))["role"] == "owner"
    assert (await accepted(server, issuer.mint(server.resource, ["read"])))["role"] == "readonly"
    assert (await server.whoami(issuer.mint(server.resource, "group:ops"))).status_code == 403
    challenge = (await server.whoami("")).headers["www-authenticate"]
    assert 'scope="read"' in challenge


@pytest.mark.parametrize(
    "wrong",
    [
        {"auth": "off"},
        {"oauth_resource": ""},
        {"oauth_issuer": "http://login.example.org"},
        {"oauth_issuer": "https://login.example.org?x=1"},
        {"oauth_issuer": 'https://login.example.org/"'},
        {"oauth_issuer": "https://[bad"},
        {"oauth_roles": "write=king"},
        {"oauth_roles": "write"},
        {"oauth_issuer": ""},
    ],
)
def test_settings_that_cannot_work_are_refused_at_the_start(wrong: dict[str, str]):
    right = {
        "auth": "on",
        "oauth_issuer": "https://login.example.org",
        "oauth_resource": "https://memory.example.org/mcp",
    }
    assert read_settings(right, {}).oauth_issuer
    with pytest.raises(errors.Invalid):
        read_settings(right | wrong, {})

"""Runs Authlib and PyJWT through what a task asks for. ../driver.ts has the protocol."""

import json
import sys

import jwt
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import ECKey

task = json.loads(sys.argv[1])


def ask(**line) -> str:
    print(json.dumps(line), flush=True)
    return sys.stdin.readline().strip()


def pyjwt():
    """Verifies an access token by the keys of the service."""
    keys = jwt.PyJWKClient(f"{task['issuer']}/.well-known/jwks.json")
    key = keys.get_signing_key_from_jwt(task["token"])
    return jwt.decode(task["token"], key, algorithms=["ES256"], issuer=task["issuer"], audience=task["server"])


def authlib():
    """Signs a person in, refreshes, exchanges, introspects and revokes."""
    endpoints = f"{task['issuer']}/oauth"
    session = OAuth2Session(
        task["client_id"],
        task["client_secret"],
        scope="mcp:read",
        redirect_uri=task["redirect_uri"],
        code_challenge_method="S256",
    )
    verifier = "a" * 43
    url, state = session.create_authorization_url(f"{endpoints}/authorize", code_verifier=verifier, resource=task["server"])
    token = session.fetch_token(
        f"{endpoints}/token", authorization_response=ask(open=url), state=state, code_verifier=verifier
    )
    refreshed = session.refresh_token(f"{endpoints}/token", refresh_token=token["refresh_token"])
    introspect = lambda of: session.introspect_token(f"{endpoints}/introspect", token=of, token_type_hint="access_token").json()
    before = introspect(refreshed["access_token"])
    session.revoke_token(f"{endpoints}/revoke", token=refreshed["access_token"], token_type_hint="access_token")
    return {
        "refreshed": refreshed["refresh_token"] != token["refresh_token"],
        "before": before,
        "after": introspect(refreshed["access_token"]),
    }


def machine():
    """Gets a token of a machine."""
    session = OAuth2Session(task["client_id"], task["client_secret"], scope="mcp:read")
    return session.fetch_token(f"{task['issuer']}/oauth/token", grant_type="client_credentials", resource=task["server"])


def machine_key():
    """Gets a token of a machine that has a key."""
    token_endpoint = f"{task['issuer']}/oauth/token"
    # It takes the text of a key for one of RSA.
    key = ECKey.import_key(task["private_key"])
    session = OAuth2Session(task["client_id"], key, scope="mcp:read", token_endpoint_auth_method="private_key_jwt")
    session.register_client_auth_method(PrivateKeyJWT(token_endpoint, alg="ES256"))
    return session.fetch_token(token_endpoint, grant_type="client_credentials", resource=task["server"])


CLIENTS = {"pyjwt": pyjwt, "authlib": authlib, "machine": machine, "machine-key": machine_key}
print(json.dumps({"result": CLIENTS[task["client"]]()}), flush=True)

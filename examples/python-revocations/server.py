"""A resource server that verifies tokens offline, and learns of revocations by polling a stream (RFC 8936).

The variables PORT, ISSUER, RESOURCE, CLIENT_ID, CLIENT_SECRET and MAX_AGE configure it. docs/guides/shared-signals.md explains it.
"""

import json
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import requests

PORT = int(os.environ.get("PORT", "3000"))
ISSUER = os.environ.get("ISSUER", "http://localhost:9000")
RESOURCE = os.environ.get("RESOURCE", f"http://localhost:{PORT}/notes")
CLIENT = (os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])
# Without an answer to a poll for this many seconds, revoked tokens could be accepted. The server waits up to 20 seconds for an event.
MAX_AGE = float(os.environ.get("MAX_AGE", "60"))
LONGEST_TOKEN = 86400
CLOCKS = 5
# The service may drop events that waited for more seconds.
MOST_SILENCE = 50
FOR_EVER = 2**53

EVENTS = "https://schemas.openid.net/secevent"
TOKEN_REVOKED = f"{EVENTS}/oauth/event-type/token-revoked"
SESSION_REVOKED = f"{EVENTS}/caep/event-type/session-revoked"
CLAIMS_CHANGE = f"{EVENTS}/caep/event-type/token-claims-change"

NEEDED = [TOKEN_REVOKED, SESSION_REVOKED, CLAIMS_CHANGE]

keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json")


def verified(token: str, typ: str, audience: str) -> tuple[dict, str]:
    """1. The verification of an access token or a security event token. Returns its claims and its key id."""
    header = jwt.get_unverified_header(token)
    if header.get("typ") != typ:
        raise jwt.InvalidTokenError(f"typ is not {typ}")
    key = keys.get_signing_key_from_jwt(token)
    return jwt.decode(token, key, algorithms=["ES256"], issuer=ISSUER, audience=audience), header["kid"]


class Refused(Exception):
    """The service refuses the request, or the stream does not deliver what is needed. Waiting does not help, so no token is accepted."""


class Feed:
    """2. The revocations. A rule revokes the tokens that have all of its claims and were issued before its time."""

    def __init__(self):
        self.rules: dict[str, dict] = {}
        self.began = float("inf")
        self.heard = 0.0
        self.version = ""

    def is_fresh(self) -> bool:
        return time.time() - self.heard <= MAX_AGE

    def check(self, delivers: dict | None) -> None:
        """Raises Refused unless the stream delivers every revocation of the resource. After a change it may have left out some."""
        if not delivers or delivers["status"] != "enabled" or RESOURCE not in delivers["resources"]:
            raise Refused(f"the stream does not deliver the events of {RESOURCE}: {delivers}")
        if missing := [event for event in NEEDED if event not in delivers["events"]]:
            raise Refused(f"the stream does not deliver {missing}")
        if delivers["version"] != self.version:
            self.began = time.time() + CLOCKS
        self.version = delivers["version"]

    def alive(self, asked: float) -> None:
        """Everything before this time has arrived."""
        if asked - self.heard > MOST_SILENCE:
            self.began = time.time() + CLOCKS
        self.heard = asked

    def distrust(self) -> None:
        """No token is accepted until the stream delivers again. Then earlier tokens are unsure."""
        self.heard, self.version = 0.0, ""

    def state(self, claims: dict, kid: str) -> str:
        """Whether a token is `valid` or `revoked`. `unsure`: only the service knows it."""
        issued = claims["iat"]
        known = {**claims, "kid": kid}
        # A list (tuple) so that the poll can add rules meanwhile.
        found = [rule for rule in tuple(self.rules.values()) if matches(rule, known)]
        if any(issued < int(rule["before"]) for rule in found):
            return "revoked"
        # The feed has only seconds, and nothing that was revoked before it began.
        return "unsure" if found or issued <= self.began else "valid"

    def apply(self, token: str) -> None:
        event_token, _ = verified(token, "secevent+jwt", CLIENT[0])
        for kind, event in event_token["events"].items():
            at = event.get("event_timestamp", event_token["iat"])
            if kind == TOKEN_REVOKED:
                self.revoke(event, at)
                if "kid" in event:
                    keys.get_jwk_set(refresh=True)
            elif kind in (SESSION_REVOKED, CLAIMS_CHANGE):
                self.revoke({"sub": event_token["sub_id"]["sub"]}, at)

    def revoke(self, event: dict, at: float) -> None:
        now = time.time()
        rule = {name: event[name] for name in ("jti", "kid", "client_id", "sub", "aud", "agent") if name in event}
        # One token is revoked for ever. A client or a user can get new tokens after the event.
        before = FOR_EVER if "jti" in rule else min(at, event.get("issued_before", at))
        name = json.dumps([rule, event.get("issued_from")])
        # Events of one answer come in any order, and an event may arrive again after a later one.
        before = max(before, self.rules.get(name, {"before": 0})["before"])
        start = event.get("issued_from", 0)
        end = event["exp"] + 2 * CLOCKS if "jti" in rule and "exp" in event else now + LONGEST_TOKEN
        self.rules[name] = {"claims": rule, "from": start, "before": before, "until": end}
        for old in [name for name, each in self.rules.items() if each["until"] < now]:
            del self.rules[old]

    def run(self) -> None:
        pause = 0.5
        while True:
            started = time.time()
            try:
                self.poll(self.subscribe())
            except Exception as error:  # Without an answer the feed gets too old, and then no token is accepted.
                if isinstance(error, Refused):
                    self.distrust()
                print(f"the feed of revocations does not work: {error}", flush=True)
                pause = 0.5 if time.time() - started > 5 else min(2 * pause, 5)
                time.sleep(pause)

    def subscribe(self) -> str:
        """The endpoint of the stream of this server. After a restart the rules are gone, so earlier tokens are `unsure`."""
        streams = called("GET", f"{ISSUER}/.well-known/ssf-configuration")["configuration_endpoint"]
        # Processes that shared a stream would acknowledge each other's events.
        name = f"server at {socket.gethostname()}:{PORT}"
        body = {"events_requested": NEEDED, "description": name}
        own = [each for each in called("GET", streams) if each.get("description") == name]
        stream = own[0] if own else called("POST", streams, body)
        if not own:
            self.distrust()
        return stream["delivery"]["endpoint_url"]

    def poll(self, endpoint: str) -> None:
        """Polls until a poll fails. The first poll returns at once, because no token is accepted before its answer."""
        body = {"returnImmediately": True, "ack": []}
        while True:
            asked = time.time()
            try:
                answer = called("POST", endpoint, body, timeout=MAX_AGE / 2)
            except requests.Timeout:
                body["returnImmediately"] = True
                continue
            self.check(answer.get("delivers"))
            for token in answer["sets"].values():
                self.apply(token)
            if not answer.get("moreAvailable"):
                self.alive(asked)
                # A server that does not let the poll wait is not asked without end.
                if not answer["sets"] and time.time() - asked < 1:
                    time.sleep(0.5)
            body = {"returnImmediately": False, "ack": list(answer["sets"])}


def matches(rule: dict, known: dict) -> bool:
    def has(name: str, value: str) -> bool:
        if name == "agent":
            return value in actors(known)
        found = known.get(name)
        return value in found if isinstance(found, list) else value == found

    return rule["from"] <= known["iat"] <= rule["before"] + CLOCKS and all(has(*each) for each in rule["claims"].items())


def actors(claims: dict) -> list:
    """The agent that holds a token, and the actors of a delegated token (RFC 8693)."""
    found, act = [claims.get("agent_id"), claims["client_id"]], claims.get("act")
    while act:
        found.append(act.get("sub"))
        act = act.get("act")
    return found


def called(method: str, url: str, body: dict | None = None, timeout: float = 5) -> dict:
    answer = requests.request(method, url, json=body, auth=CLIENT, timeout=timeout)
    if 400 <= answer.status_code < 500 and answer.status_code != 429:
        raise Refused(f"{url} answered {answer.status_code} {answer.text[:300]}")
    answer.raise_for_status()
    return answer.json()


def is_active(token: str) -> bool:
    answer = requests.post(f"{ISSUER}/oauth/introspect", data={"token": token}, auth=CLIENT, timeout=5)
    return answer.ok and answer.json()["active"]


feed = Feed()


class Server(BaseHTTPRequestHandler):
    """3. The resource. It accepts no token while the feed does not work."""

    def do_GET(self):
        if not feed.is_fresh():
            return self.answer(503, {"error": "temporarily_unavailable"}, {"Retry-After": "5"})
        try:
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer":
                raise jwt.InvalidTokenError("there is no bearer token")
            claims, kid = verified(token, "at+jwt", RESOURCE)
            state = feed.state(claims, kid)
            # A token with `cnf` needs a DPoP proof, which this server does not check.
            if "cnf" in claims or state == "revoked" or (state == "unsure" and not is_active(token)):
                raise jwt.InvalidTokenError("the token is not accepted")
            self.answer(200, {"sub": claims["sub"], "state": state})
        except (jwt.PyJWTError, KeyError):
            self.answer(401, {"error": "invalid_token"}, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        except requests.RequestException:
            self.answer(503, {"error": "temporarily_unavailable"}, {"Retry-After": "5"})

    def answer(self, status: int, body: dict, headers: dict | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    threading.Thread(target=feed.run, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", PORT), Server).serve_forever()

"""An MCP server with FastMCP whose tokens come from the service. docs/guides/python.md explains it.

The variables PORT, ISSUER and RESOURCE configure it. With CLIENT_ID and CLIENT_SECRET it asks the service about each token.
"""

import os

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider, require_scopes
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from starlette.responses import PlainTextResponse

PORT = int(os.environ.get("PORT", "3000"))
ISSUER = os.environ.get("ISSUER", "http://localhost:9000")
RESOURCE = os.environ.get("RESOURCE", f"http://localhost:{PORT}/mcp")

# 1. The verification of a token. FastMCP assumes RS256 unless an algorithm is set. Without `audience` this server would accept
# every token of the issuer, including tokens for other servers.
by_signature = JWTVerifier(
    jwks_uri=f"{ISSUER}/.well-known/jwks.json",
    issuer=ISSUER,
    audience=RESOURCE,
    algorithm="ES256",
    required_scopes=["notes:read"],
)


def by_introspection() -> IntrospectionTokenVerifier:
    """Asks the service about each token, so that a revoked token is refused at once."""
    return IntrospectionTokenVerifier(
        introspection_url=f"{ISSUER}/oauth/introspect",
        client_id=os.environ["CLIENT_ID"],
        client_secret=os.environ["CLIENT_SECRET"],
        audience=RESOURCE,
        required_scopes=["notes:read"],
    )


verifier = by_introspection() if "CLIENT_ID" in os.environ else by_signature
verify = verifier.verify_token


async def verify_unbound(token: str):
    """A token with `cnf` needs a DPoP proof, which FastMCP does not check."""
    access = await verify(token)
    return None if access is None or access.claims.get("cnf") else access


verifier.verify_token = verify_unbound

# 2. The resource metadata: where clients get tokens (RFC 9728). The issuer is a plain string. AnyHttpUrl would add a slash at
# its end, and clients that compare it with the `issuer` of the metadata would refuse it.
auth = RemoteAuthProvider(
    token_verifier=verifier,
    authorization_servers=[ISSUER],
    base_url=RESOURCE.removesuffix("/mcp"),
    scopes_supported=["notes:read", "notes:write"],
    challenge_scopes=["notes:read", "notes:write"],
)
mcp = FastMCP("notes", auth=auth)

# 3. The tools. Notes belong to the `sub` of the token, regardless of the client that sent it.
notes: dict[str, list[str]] = {}


def own() -> list[str]:
    return notes.setdefault(get_access_token().claims["sub"], [])


@mcp.tool
def list_notes() -> str:
    """Lists your notes."""
    return "\n".join(own()) or "no notes"


@mcp.tool(auth=require_scopes("notes:write"))
def save_note(text: str) -> str:
    """Saves a note."""
    own().append(text)
    return "saved"


@mcp.custom_route("/health", methods=["GET"])
async def health(_request):
    return PlainTextResponse("ok")


if __name__ == "__main__":
    mcp.run(transport="http", host="127.0.0.1", port=PORT, show_banner=False)

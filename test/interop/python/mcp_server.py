"""A server with the official SDK, 1.x or 2.x, as its documentation has people write it. PORT and ISSUER set it up."""

import os
import warnings

import jwt
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

try:
    from mcp.server.fastmcp import FastMCP as Server

    here = {"port": int(os.environ["PORT"])}
except ImportError:  # 2.x
    from mcp.server.mcpserver import MCPServer as Server

    here = {}

warnings.simplefilter("ignore")
PORT, ISSUER = os.environ["PORT"], os.environ["ISSUER"]
RESOURCE = f"http://localhost:{PORT}/mcp"
keys = jwt.PyJWKClient(f"{ISSUER.removesuffix('/')}/.well-known/jwks.json")


class Verifier:
    async def verify_token(self, token):
        try:
            key = keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(token, key, algorithms=["ES256"], issuer=ISSUER, audience=RESOURCE)
        except jwt.PyJWTError:
            return None
        return AccessToken(token=token, client_id=claims["client_id"], scopes=claims["scope"].split(), resource=RESOURCE)


mcp = Server(
    "test",
    token_verifier=Verifier(),
    auth=AuthSettings(issuer_url=ISSUER, resource_server_url=RESOURCE, required_scopes=["mcp:read"]),
    **here,
)


@mcp.tool()
def whoami() -> str:
    return "somebody"


mcp.run(transport="streamable-http", **({} if here else {"port": int(PORT)}))

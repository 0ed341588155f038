"""Runs the official Python client (1.x or 2.x) or FastMCP's client through the steps of a task. ../driver.ts has the protocol."""

import asyncio
import json
import sys
import threading
import time
import urllib.request
import webbrowser
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

try:
    from httpx2 import AsyncClient
    from mcp.shared.auth import AuthorizationCodeResult
except ImportError:  # 1.x
    from httpx import AsyncClient

    AuthorizationCodeResult = None

task = json.loads(sys.argv[1])
seconds_ahead = 0
wall_clock = time.time
time.time = lambda: wall_clock() + seconds_ahead


def ask(**line) -> str:
    print(json.dumps(line), flush=True)
    return sys.stdin.readline().strip()


class Storage:
    """What a client keeps between two starts."""

    def __init__(self, tokens=None, client=None):
        self.tokens, self.client = tokens, client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Official:
    """`mcp`, without a browser of its own."""

    def __init__(self, storage=None):
        self.storage = storage or Storage(client=self.registered())
        if task.get("private_key"):
            key = SignedJWTParameters(
                issuer=task["client_id"],
                subject=task["client_id"],
                signing_key=task["private_key"],
                signing_algorithm="ES256",
            )
            provider = key.create_assertion_provider()
            self.auth = PrivateKeyJWTOAuthProvider(
                task["server"], self.storage, task["client_id"], provider, **self.issuer()
            )
        elif task.get("machine"):
            self.auth = ClientCredentialsOAuthProvider(
                task["server"], self.storage, task["client_id"], task["client_secret"], **self.issuer()
            )
        else:
            self.auth = OAuthClientProvider(
                server_url=task["server"],
                client_metadata=OAuthClientMetadata(redirect_uris=[task["redirect_uri"]], **task.get("metadata", {})),
                storage=self.storage,
                redirect_handler=self.redirect,
                callback_handler=self.callback,
                client_metadata_url=task.get("document"),
            )

    @staticmethod
    def issuer():
        return {"issuer": task["issuer"]} if AuthorizationCodeResult else {}

    @staticmethod
    def registered():
        if "client_id" not in task or task.get("machine"):
            return None
        return OAuthClientInformationFull(
            redirect_uris=[task["redirect_uri"]], client_id=task["client_id"], **Official.issuer()
        )

    async def redirect(self, url):
        self.url = url

    async def callback(self):
        answer = {k: v[0] for k, v in parse_qs(urlsplit(await asyncio.to_thread(ask, open=self.url)).query).items()}
        if "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer.get('error_description')}")
        if AuthorizationCodeResult is None:
            return answer.get("code"), answer.get("state")
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    @asynccontextmanager
    async def way(self):
        if "program" in task:
            command, *args = task["program"]
            async with stdio_client(StdioServerParameters(command=command, args=args, env=task["env"])) as streams:
                yield streams
        else:
            async with AsyncClient(auth=self.auth) as http:
                async with streamable_http_client(task["server"], http_client=http) as streams:
                    yield streams

    async def call(self, tool):
        async with self.way() as way, ClientSession(way[0], way[1]) as session:
            await session.initialize()
            if tool == "list":
                return json.dumps([each.name for each in (await session.list_tools()).tools])
            return (await session.call_tool(tool, {})).content[0].text

    def twin(self):
        """The same client in a second process, which knows when its token expires."""
        return knowing(self, Official(Storage(self.storage.tokens, self.storage.client)))


def knowing(one, other):
    """Has a second process know what it would discover first: no version stores the metadata, and 1.x and 2.x no expiry."""
    for name in ("oauth_metadata", "protected_resource_metadata", "token_expiry_time"):
        setattr(other.auth.context, name, getattr(one.auth.context, name))
    return other


class Fast:
    """FastMCP, which opens the browser and waits for it at an address of its own."""

    def __init__(self, store=None):
        from fastmcp.client.auth import ClientCredentialsOAuthProvider, OAuth
        from key_value.aio.stores.memory import MemoryStore

        self.store = store or MemoryStore()
        if task.get("machine"):
            credentials = {name: task[name] for name in ("client_id", "client_secret", "issuer")}
            self.auth = ClientCredentialsOAuthProvider(task["server"], **credentials)
        else:
            known = {"client_metadata_url": task["document"]} if "document" in task else {}
            self.auth = OAuth(task["server"], token_storage=self.store, callback_port=urlsplit(task["redirect_uri"]).port, **known)

    async def call(self, tool):
        from fastmcp import Client

        async with Client(task["server"], auth=self.auth) as client:
            return (await client.call_tool(tool)).content[0].text

    def twin(self):
        return knowing(self, Fast(self.store))


class Browser(webbrowser.BaseBrowser):
    """Has the test sign in, and brings the answer to the address where FastMCP listens."""

    def open(self, url, new=0, autoraise=True):
        threading.Thread(target=self.visit, args=(url,), daemon=True).start()
        return True

    @staticmethod
    def visit(url):
        answer = ask(open=url)
        for _ in range(100):
            try:
                urllib.request.urlopen(answer).read()
                return
            except ConnectionRefusedError:
                time.sleep(0.1)
            except urllib.error.URLError:
                time.sleep(0.1)


webbrowser.register("driver", None, Browser(), preferred=True)


async def main():
    global seconds_ahead
    client = (Fast if task["client"] == "fastmcp" else Official)()
    for step in task["steps"]:
        if step == "expire":
            ask(expire=True)
            seconds_ahead += 901
        elif step == "twins":
            for text in await asyncio.gather(*[each.call("whoami") for each in (client, client.twin())]):
                print(json.dumps({"text": text}), flush=True)
        else:
            print(json.dumps({"text": await client.call(step)}), flush=True)


asyncio.run(main())

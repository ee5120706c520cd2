#!/usr/bin/env python3
"""The Model Context Protocol's own Python client against a server: one line per check, exit code 0 if all passed.

    sdk_client.py {legacy|auto} WORKSPACE COMMAND [ARGUMENT ...]

`legacy` opens with `initialize`; `auto` with `server/discover`, which must succeed. WORKSPACE is the directory that the
server works on; it must hold `greeting.txt`, one line `hello, world`, and `.env` with SECRET in it, and is changed. The
environment goes to the server as it is.
"""
import hashlib
import json
import os
import sys
from contextlib import asynccontextmanager

import anyio
import jsonschema
from mcp import Client, MCPError, StdioServerParameters

TOOLS = ["process_run", "repository_patch", "repository_read", "repository_search"]
HINTS = {  # read-only, destructive, idempotent, open world
    "repository_read": (True, False, True, False),
    "repository_search": (True, False, True, False),
    "repository_patch": (False, False, False, False),
    "process_run": (False, True, False, False),
}
MODERN = "2026-07-28"
SECRET = "canary-4711"
STEP_S = 30

failures = []


def check(what, holds, found=None):
    """One line; a failure says what was found."""
    print(f"{'ok  ' if holds else 'FAIL'} {what}" + ("" if holds else f": {found!r}"), flush=True)
    if not holds:
        failures.append(what)
    return holds


class Server:
    """A connected client, with the answers' form checked on every call."""

    def __init__(self, client, schemas):
        self.client, self.schemas = client, schemas

    async def call(self, tool, expected="succeeded", **arguments):
        with anyio.fail_after(STEP_S):
            result = await self.client.call_tool(tool, arguments)
        told = result.structured_content
        wrong = list(jsonschema.Draft202012Validator(self.schemas[tool]).iter_errors(told))
        check(f"{tool}: structured content fits the output schema", not wrong, (wrong[:2], told))
        text = result.content[0].text
        check(f"{tool}: the text says status and receipt as well",
              told["status"] in text and told["receipt_id"] in text, text)
        check(f"{tool}: the receipt's id is in _meta",
              (result.meta or {}).get("chancery/receipt_id") == told["receipt_id"], result.meta)
        check(f"{tool}: {expected}, and an error exactly if not succeeded",
              told["status"] == expected and result.is_error == (expected != "succeeded"), told)
        return result


@asynccontextmanager
async def connected(era, command):
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(parameters, mode=era, read_timeout_seconds=STEP_S) as client:
        yield client


async def check_opening(client, era):
    modern = client.protocol_version == MODERN
    check("the version is the era's own", modern == (era == "auto"), client.protocol_version)
    check("the server names itself", client.server_info.name == "chancery", client.server_info)
    check("there are instructions", bool(client.instructions), client.instructions)
    first = (await client.list_tools(cache_mode="bypass")).tools
    second = (await client.list_tools(cache_mode="bypass")).tools
    check("the four tools are listed, always in the same order",
          first == second and sorted(tool.name for tool in first) == TOOLS, first)
    for tool in first:
        hints = tool.annotations
        found = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        check(f"{tool.name}: hints follow from its effect", found == HINTS[tool.name], found)
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
        check(f"{tool.name}: both schemas are schemas of objects",
              tool.input_schema["type"] == tool.output_schema["type"] == "object")
    return {tool.name: tool.output_schema for tool in first}


async def check_files(server, workspace):
    result = await server.call("repository_read", files=[{"path": "greeting.txt"}])
    check("a file is read", "hello, world" in result.content[0].text, result)
    result = await server.call("repository_search", query="hello")
    check("a search finds it", "greeting.txt" in result.content[0].text, result)
    change = {"action": "replace", "path": "greeting.txt", "old": "hello", "new": "good evening"}
    result = await server.call("repository_patch", changes=[change])
    with open(os.path.join(workspace, "greeting.txt"), encoding="utf-8") as file:
        text = file.read()
    check("an edit changes the file", text == "good evening, world\n", (text, result))


async def check_process(server, client):
    result = await server.call("process_run", argv=["echo", "here"])
    check("a program runs", "here" in result.content[0].text, result)
    script = {"script": "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"}
    result = await server.call("process_run", shell=script)
    links = [block for block in result.content if block.type == "resource_link"]
    if check("long output is an artifact with a link", len(links) == 1, result.structured_content):
        whole = await read_whole(client, str(links[0].uri))
        wanted = "".join(f"line {i}\n" for i in range(20000)).encode()
        check("the artifact is the whole output", whole == wanted and links[0].size == len(wanted), len(whole))
        check("its address is its digest", str(links[0].uri).endswith(hashlib.sha256(whole).hexdigest()))


async def read_whole(client, uri):
    """An artifact, piece by piece."""
    whole = b""
    while uri:
        with anyio.fail_after(STEP_S):
            (piece,) = (await client.read_resource(uri)).contents
        whole += piece.text.encode()
        uri = (piece.meta or {}).get("chancery/next")
    return whole


async def check_refusals(server, client):
    result = await server.call("repository_read", "rejected", files=[{"path": "greeting.txt"}], surprise=1)
    error = result.structured_content["error"]
    check("an unknown argument is an error of the tool, by its code and place",
          (error["code"], error["pointer"]) == ("unknown_field", "/arguments/surprise"), error)
    result = await server.call("repository_read", "denied", files=[{"path": ".env"}])
    error = result.structured_content["error"]
    check("a secret is refused and not shown",
          error["code"] == "denied" and SECRET not in result.model_dump_json(), result)
    result = await server.call("process_run", shell={"script": "cat .env || true"})
    check("a program does not see it either", SECRET not in result.model_dump_json(), result)
    try:
        await client.call_tool("no_such_tool", {})
        check("an unknown tool is an error of the protocol", False)
    except MCPError as error:
        check("an unknown tool is an error of the protocol", error.code == -32602, error)


async def check_cancellation(server, workspace):
    """The command holds a pipe open: its opening says that it runs, its end that nothing of it is left."""
    pipe = os.path.join(workspace, "alive.fifo")
    os.mkfifo(pipe)
    script = {"script": "exec 3> alive.fifo; sleep 600 & sleep 600"}
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.client.call_tool, "process_run", {"shell": script})
            alive = await anyio.to_thread.run_sync(lambda: open(pipe, "rb"))
            check("a long command runs", True)
            tasks.cancel_scope.cancel()
        with alive:
            rest = await anyio.to_thread.run_sync(alive.read)
    check("cancelling ends it and all its children", rest == b"", rest)
    os.unlink(pipe)
    result = await server.call("repository_search", query="good evening")
    check("the server goes on", "greeting.txt" in result.content[0].text, result)


async def run(era, workspace, command):
    async with connected(era, command) as client:
        schemas = await check_opening(client, era)
        server = Server(client, schemas)
        await check_files(server, workspace)
        await check_process(server, client)
        await check_refusals(server, client)
        await check_cancellation(server, workspace)


def main():
    era, workspace, *command = sys.argv[1:]
    anyio.run(run, era, workspace, command)
    print(json.dumps({"failed": failures}), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A model that follows a script: the OpenAI Responses API on loopback, for agents that must not reach a network.

    responses_endpoint.py SCRIPT.json [--port PORT] [--log LOG.jsonl]

It listens on 127.0.0.1 only (port 0, the default, is any free one), prints `listening on URL` as its first line, and
answers one request after the other with the next turn of the script; after the last turn it says `end of script`.
It is a stand-in for a model, never for a tool: what a call does is up to the agent and its servers.

The script is a list of turns, a turn is a list of items:

    [[{"call": "repository_read", "namespace": "mcp__chancery", "arguments": {"path": "a.txt"}}],
     [{"say": "done"}]]

Anywhere in the arguments, {"$from": [0, "result", "digest"]} stands for what an earlier call's output holds: the
number of the call, then the way into its JSON. Each line of the log is one request: {"turn": n, "tools": [names],
"outputs": {call_id: text}}, the outputs being what the model is shown.
"""
import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock


def events(turn, number, outputs):
    """The server-sent events of one turn."""
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    for index, item in enumerate(turn):
        name = f"{number}_{index}"
        if "say" in item:
            content = [{"type": "output_text", "text": item["say"]}]
            made = {"type": "message", "role": "assistant", "id": f"msg_{name}", "content": content}
        else:
            arguments = json.dumps(filled(item["arguments"], outputs))
            made = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name}",
                    "name": item["call"], "arguments": arguments}
            if "namespace" in item:
                made["namespace"] = item["namespace"]
        yield {"type": "response.output_item.added", "output_index": index, "item": made}
        yield {"type": "response.output_item.done", "output_index": index, "item": made}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}}


def filled(value, outputs):
    """The arguments, with every `$from` replaced by what the named output holds."""
    if isinstance(value, list):
        return [filled(each, outputs) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"$from"}:
        return {name: filled(each, outputs) for name, each in value.items()}
    call, *way = value["$from"]
    text = list(outputs.values())[call]
    found = json.loads(text[text.index("{"):])  # some agents put a line of their own before it
    for step in way:
        found = found[step]
    return found


def text_of(output):
    """What the model is shown of a call: a text, or the texts of a list."""
    if isinstance(output, str):
        return output
    return "\n".join(part.get("text", "") for part in output)


def names_of(tools):
    """The names of all tools that the request offers, those inside a namespace with it."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from (f"{tool['name']}.{inner['name']}" for inner in tool["tools"])
        else:
            yield tool.get("name", tool.get("type"))


class Model(BaseHTTPRequestHandler):
    """Answers `POST .../responses`."""

    protocol_version = "HTTP/1.1"
    script, log, turn, lock = [], None, 0, Lock()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        outputs = {item["call_id"]: text_of(item["output"]) for item in request.get("input", [])
                   if item.get("type") in ("function_call_output", "custom_tool_call_output")}
        with Model.lock:
            number, Model.turn = Model.turn, Model.turn + 1
            if Model.log:
                entry = {"turn": number, "tools": list(names_of(request.get("tools", []))),
                         "outputs": outputs}
                print(json.dumps(entry), file=Model.log, flush=True)
        turn = Model.script[number] if number < len(Model.script) else [{"say": "end of script"}]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                       for event in events(turn, number, outputs)).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="a model that follows a script")
    parser.add_argument("script")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log")
    arguments = parser.parse_args()
    with open(arguments.script, encoding="utf-8") as script:
        Model.script = json.load(script)
    if arguments.log:
        Model.log = open(arguments.log, "w", encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Model)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())

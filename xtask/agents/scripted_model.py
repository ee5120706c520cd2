#!/usr/bin/env python3
"""A model that follows a script: the OpenAI Responses API on loopback, for an agent that must not reach a network.

    scripted_model.py SCRIPT.json LOG.jsonl SECONDS PORT COMMAND [ARGUMENT...]

Runs in a network namespace of its own, and refuses to when there is more than loopback. It brings loopback up, listens
on 127.0.0.1:PORT, runs the command (the agent) for at most so many seconds, and ends with the command's exit code
(124 when it had to be ended). It is a stand-in for a model, never for a tool: what a call does is up to the agent.

The script is a list of calls; after the last, the model says that it is done:

    [{"tool": "repository_read", "arguments": {"files": [{"path": "a.txt"}]}, "status": "succeeded", "holds": "words"}]

Names are taken from what the agent offers, wherever it put them. An answer that is not what the script expects ends the
conversation. Each line of the log is what was offered, one call with its answer, or a fault:

    {"offered": [{"namespace": "mcp__chancery", "name": "repository_read"}]}
    {"call": "call_1", "namespace": ..., "name": ..., "arguments": "{...}", "shown": "what the model saw",
     "answer": {...}, "fault": null}
    {"said": "done"}
"""
import fcntl
import json
import socket
import struct
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # man 7 netdevice


def bring_loopback_up():
    interfaces = [name for _, name in socket.if_nameindex()]
    if interfaces != ["lo"]:
        raise SystemExit(f"not alone with loopback but beside {interfaces}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        asked = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(handle, SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def offered(tools):
    """Every tool that the request offers, with the namespace that it is in."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from ({"namespace": tool["name"], "name": inner["name"]} for inner in tool["tools"])
        else:
            yield {"namespace": None, "name": tool.get("name", tool.get("type"))}


def find(tool, tools):
    """The offered tool of that name: with a namespace, or with a prefix such as `mcp__server__`."""
    return next((each for each in tools
                 if each["name"] == tool or each["name"].endswith(f"__{tool}")), None)


def text_of(output):
    """What the model is shown of a call: a text, or the texts of a list."""
    return output if isinstance(output, str) else "\n".join(part.get("text", "") for part in output)


def judge(step, shown):
    """The answer that a text holds, and what is wrong with it."""
    start = shown.find("{")  # some agents put a line of their own before it
    try:
        answer = json.JSONDecoder().raw_decode(shown[start:])[0] if start >= 0 else {}
    except ValueError as error:
        return {"answer": None, "fault": f"what the model is shown is not whole JSON: {error}"}
    if answer.get("status") != step["status"]:
        fault = f"expected status `{step['status']}`"
    elif not answer.get("receipt_id"):
        fault = "no receipt id"
    else:
        fault = None if step["holds"] in shown else f"expected `{step['holds']}` in it"
    return {"answer": answer, "fault": fault}


class Conversation:
    """Where in the script the agent is."""

    def __init__(self, script, log):
        self.script, self.log, self.asked, self.over = script, log, None, False
        self.number, self.tools = 0, None

    def write(self, entry):
        print(json.dumps(entry), file=self.log, flush=True)

    def next(self, request):
        """The item that answers a request."""
        tools = list(offered(request.get("tools", [])))
        if tools != self.tools:
            self.tools = tools
            self.write({"offered": tools})
        if self.asked and not self.took(request):
            return self.say("stopped: the last answer is not what was expected")
        if self.over or self.number == len(self.script):
            return self.say("done")
        step, self.number = self.script[self.number], self.number + 1
        tool = find(step["tool"], tools)
        if tool is None:
            self.write({"fault": f"{step['tool']} is not offered"})
            return self.say("stopped: a tool is missing")
        self.asked = {"call": f"call_{self.number}", **tool, "arguments": json.dumps(step["arguments"])}
        call = {"type": "function_call", "id": f"fc_{self.number}", "call_id": self.asked["call"],
                "name": tool["name"], "arguments": self.asked["arguments"]}
        return call | ({"namespace": tool["namespace"]} if tool["namespace"] else {})

    def took(self, request):
        """Logs the answer to the last call; whether the script may go on."""
        outputs = {item["call_id"]: text_of(item["output"]) for item in request.get("input", [])
                   if item.get("type") == "function_call_output"}
        shown = outputs.get(self.asked["call"])
        seen = ({"answer": None, "fault": "the agent sent no answer"} if shown is None
                else judge(self.script[self.number - 1], shown))
        self.write({**self.asked, "shown": shown, **seen})
        self.asked, self.over = None, bool(seen["fault"])
        return not self.over

    def say(self, text):
        self.over = True
        self.write({"said": text})
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "role": "assistant", "id": "msg_last", "content": content}


def serve(conversation, port):
    """Answers `POST .../responses` with one item as server-sent events (the body that `stream: true` asks for)."""

    class Model(BaseHTTPRequestHandler):
        def do_POST(self):
            item = conversation.next(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            response = {"id": f"resp_{item['id']}"}
            usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
            events = [{"type": "response.created", "response": response},
                      {"type": "response.output_item.added", "output_index": 0, "item": item},
                      {"type": "response.output_item.done", "output_index": 0, "item": item},
                      {"type": "response.completed", "response": response | {"usage": usage}}]
            body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", port), Model)
    Thread(target=server.serve_forever, daemon=True).start()


def main(script, log, seconds, port, *command):
    bring_loopback_up()
    with open(script, encoding="utf-8") as steps, open(log, "w", encoding="utf-8") as lines:
        serve(Conversation(json.load(steps), lines), int(port))
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=int(seconds), check=False).returncode
        except subprocess.TimeoutExpired:
            return 124


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

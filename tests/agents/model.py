"""A scripted stand-in for a language model, on loopback, in the four forms in which the clients ask one.

A conversation is a generator of calls, (tool, arguments), that is sent what the model saw of each (`script.py`). Which call is next
follows from the number of results that were seen, so that clients may ask twice, or for a title meanwhile, or leave out what is long
ago. Tools that a client hides behind a search are searched for; where it has the model write programs (Codex), the model writes one.
"""

import gzip
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OURS = re.compile(r"[a-z]+_text_files?(_[a-z]+)?$")  # whatever a client puts before a tool's name
SEARCHES = ("ToolSearch", "tool_search")
BRIDGE = "tool_call"  # by which Qwen Code has tools called that a search has found
# The words by which the model searches for a tool.
WORDS = {
    "get_text_file_contents": "read a file", "patch_text_file_contents": "edit a file", "create_text_file": "create a file",
    "append_text_file_contents": "append lines", "insert_text_file_contents": "insert lines", "delete_text_file_contents": "delete lines",
}
# What clients add to the tools' arguments for themselves: a model sends these, too.
ADDED_BY_CLIENTS = {"wait_for_previous": True}
NOT_YET = "the tool is not there yet"
TRIES = 20  # half a second each, until the client has connected to the server
FOUND = re.compile(r'"(mcp__[\w-]+_text_files?(?:_[a-z]+)?)"')
PROGRAM = re.compile(r"const tool = ALL_TOOLS\.find\(t => t\.name\.endsWith\(\"(\w+)\"\)\)")


def text_of(value):
    """The text of a result, whatever parts it is made of."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return value["text"]
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def program(tool, arguments):
    """The call as a program for Codex's script runner."""
    return (
        f'const tool = ALL_TOOLS.find(t => t.name.endsWith("{tool}"));\n'
        f"text(tool ? await tools[tool.name]({json.dumps(arguments)}) : {json.dumps(NOT_YET)})"
    )


class Conversation:
    """The calls so far, and what was seen of each."""

    def __init__(self, script):
        self.script, self.calls, self.seen = script, [], []
        self.numbers, self.lock, self.failure = set(), threading.Lock(), None

    def next(self, results):
        """The call that follows these results, (id, text) each; None at the end. They are kept as they were when new."""
        with self.lock:
            self.seen += [text for number, text in results if number not in self.numbers]
            self.numbers.update(number for number, _ in results)
            while len(self.calls) <= len(self.seen):
                try:
                    self.calls.append(self.script.send(self.seen[len(self.calls) - 1] if self.calls else None))
                except StopIteration:
                    return None
                except Exception as problem:  # the script did not see what it needs to go on
                    self.failure = self.failure or f"{type(problem).__name__}: {problem}"
                    return None
            return self.calls[len(self.seen)]


class Dialect:
    found = ()  # the names of our tools that a search has found, where they are called by way of another

    """`tools` and `turns` read a request, `events` writes an answer. A turn is ("call", id, tool, None) or ("result", id, None, text)."""

    def results(self, body):
        """(id, what the model sees) of each call of ours, in their order."""
        order, texts = [], {}
        for kind, number, tool, text in self.turns(body):
            if kind == "call" and OURS.search(tool or ""):
                order.append(number)
            elif kind == "result" and number in order:
                texts[number] = text
        return [(number, texts[number]) for number in order if number in texts]

    def each(self, tools, namespace=None):
        """Every tool, with the name of its namespace."""
        for tool in tools:
            inner = tool.get("tools") if tool.get("type") == "namespace" else tool.get("functionDeclarations")
            if inner is None:
                yield {**(tool.get("function") or tool), "namespace": namespace}
            else:
                yield from self.each(inner, tool.get("name"))

    def definitions(self, tools):
        """(name, namespace, properties) of every tool."""
        for tool in self.each(tools):
            schema = next((tool[key] for key in ("input_schema", "parametersJsonSchema", "parameters") if key in tool), {})
            yield tool.get("name") or tool.get("type"), tool["namespace"], (schema or {}).get("properties") or {}


class Anthropic(Dialect):
    def tools(self, body):
        return body.get("tools") or []

    def turns(self, body):
        for message in body.get("messages", []):
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_use":
                    yield "call", block["id"], block["name"], None
                elif block.get("type") == "tool_result":
                    yield "result", block["tool_use_id"], None, text_of(block.get("content"))

    def events(self, body, number, words, call):
        if call:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": call.name, "input": call.arguments}
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        else:
            block = {"type": "text", "text": words}
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": words}
        usage = {"input_tokens": 9, "output_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        reason = "tool_use" if call else "end_turn"
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"), "content": [block],
            "stop_reason": reason, "stop_sequence": None, "usage": usage,
        }
        if not body.get("stream"):
            return message
        started = {**message, "content": [], "stop_reason": None}
        ended = {"stop_reason": reason, "stop_sequence": None}
        return [
            {"type": "message_start", "message": started},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]


class Responses(Dialect):
    @staticmethod
    def items(body):
        return [item for item in body.get("input") or [] if isinstance(item, dict)]

    def tools(self, body):
        found = [item for item in self.items(body) if item.get("type") in ("tool_search_output", "additional_tools")]
        return (body.get("tools") or []) + [tool for item in found for tool in item.get("tools") or []]

    def turns(self, body):
        for item in self.items(body):
            kind = item.get("type")
            if kind == "function_call":
                yield "call", item["call_id"], item["name"], None
            elif kind == "tool_search_call":
                yield "call", item.get("call_id"), "tool_search", None
            elif kind == "custom_tool_call":
                ours = PROGRAM.match(item.get("input", ""))
                yield "call", item["call_id"], ours[1] if ours else item.get("name"), None
            elif kind in ("function_call_output", "custom_tool_call_output"):
                text = text_of(item.get("output"))
                # What was no call of the tool has no result.
                if not text.endswith(NOT_YET):
                    yield "result", item["call_id"], None, text

    def events(self, body, number, words, call):
        item = {"id": f"item_{number}", "status": "completed"}
        called = {**item, "call_id": f"call_{number}"}
        if call is None:
            content = [{"type": "output_text", "text": words, "annotations": []}]
            item = {**item, "type": "message", "role": "assistant", "content": content}
        elif call.kind == "search":
            arguments = {"query": call.arguments["query"], "limit": call.arguments["max_results"]}
            item = {**called, "type": "tool_search_call", "execution": "client", "arguments": arguments}
        elif call.kind == "program":
            item = {**called, "type": "custom_tool_call", "name": "exec", "input": program(call.name, call.arguments)}
        else:
            item = {**called, "type": "function_call", "name": call.name, "arguments": json.dumps(call.arguments)}
            if call.namespace:
                item["namespace"] = call.namespace
        response = {
            "id": f"resp_{number}", "object": "response", "created_at": 0, "model": body.get("model"), "status": "completed", "output": [item],
            "usage": {
                "input_tokens": 9, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18,
            },
        }
        if not body.get("stream"):
            return response
        delta = {"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": words}
        return [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            *([] if call else [delta]),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]


class Chat(Dialect):
    def __init__(self):
        self.found = set()  # the names of our tools in results

    def tools(self, body):
        return body.get("tools") or []

    def turns(self, body):
        for message in body.get("messages", []):
            for call in message.get("tool_calls") or []:
                name = call["function"]["name"]
                yield "call", call["id"], json.loads(call["function"]["arguments"])["name"] if name == BRIDGE else name, None
            if message["role"] == "tool":
                text = text_of(message.get("content"))
                self.found.update(FOUND.findall(text))
                yield "result", message["tool_call_id"], None, text

    def events(self, body, number, words, call):
        message = {"role": "assistant", "content": None if call else words}
        if call:
            arguments = {"name": call.name, "arguments": call.arguments} if call.kind == "bridge" else call.arguments
            function = {"name": BRIDGE if call.kind == "bridge" else call.name, "arguments": json.dumps(arguments)}
            message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        reason = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        base = {"id": f"chat_{number}", "created": 0, "model": body.get("model")}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        base["object"] = "chat.completion.chunk"
        return [
            {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**base, "choices": [], "usage": usage},
            "[DONE]",
        ]


class Gemini(Dialect):
    def tools(self, body):
        return body.get("tools") or []

    def turns(self, body):
        # Without ids that could be relied on, an answer belongs to the oldest open call of its name.
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        open_calls = []
        for number, part in enumerate(parts):
            if call := part.get("functionCall"):
                open_calls.append((number, call["name"]))
                yield "call", number, call["name"], None
            elif answer := part.get("functionResponse"):
                found = next((entry for entry in open_calls if entry[1] == answer["name"]), None)
                if found:
                    open_calls.remove(found)
                value = answer.get("response") or {}
                text = next((value[key] for key in ("output", "error") if isinstance(value.get(key), str)), None)
                yield "result", found and found[0], None, text_of(value) if text is None else text

    def events(self, body, number, words, call):
        part = {"functionCall": {"name": call.name, "args": call.arguments}} if call else {"text": words}
        answer = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18},
        }
        return [answer] if body["stream"] else answer


class Call:
    """What to do: call a tool, by itself, in a program or by way of another, or search for tools."""

    def __init__(self, kind, name, namespace, arguments):
        self.kind, self.name, self.namespace, self.arguments = kind, name, namespace, arguments


DIALECTS = {"/messages": Anthropic(), "/responses": Responses(), "/chat/completions": Chat(), "enerateContent": Gemini()}


class Model(ThreadingHTTPServer):
    """Serves one conversation on a port of loopback."""

    daemon_threads = True

    def __init__(self, conversation):
        super().__init__(("127.0.0.1", 0), Request)
        self.conversation, self.asked = conversation, []  # the names of the tools that each request offers
        self.first = None  # the definitions in the first request that offers any, as JSON
        self.tries, self.tried = -1, None
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request, client_address):
        """A client that hangs up is no news."""

    def again(self, step=None):
        """Whether to search once more, or to try this step; where it was tried before, a little later."""
        self.tries = self.tries + 1 if step is self.tried else 0
        if self.tries:
            time.sleep(0.5)
        self.tried = step
        return self.tries < TRIES

    def decide(self, dialect, body):
        offered = list(dialect.definitions(dialect.tools(body)))
        ours = [tool for tool in offered if OURS.search(tool[0])]
        names = [tool[0] for tool in offered]
        self.asked.append(names)
        if offered and self.first is None:
            self.first = [json.dumps(tool) for tool in dialect.each(dialect.tools(body))]
        searcher = next((name for name in names if name in SEARCHES), None)
        runner = isinstance(dialect, Responses) and "exec" in names
        results = dialect.results(body)
        if not ours and not runner and not searcher:
            return None
        step = self.conversation.next(results)
        if not step:
            return None
        tool = next((tool for tool in ours if OURS.search(tool[0])[0] == step[0]), None)
        if not tool:
            found = next((name for name in dialect.found if name.endswith("__" + step[0])), None)
            if found:
                return Call("bridge", found, None, step[1])
            if (searcher or runner) and self.again(step):
                # No two searches are the same, or the client takes it for a loop.
                search = {"query": WORDS[step[0]], "max_results": 3 + self.tries}
                return Call("program", step[0], None, step[1]) if runner else Call("search", searcher, None, search)
            self.conversation.failure = self.conversation.failure or f"{step[0]} is not offered"
            return None
        step[1].update({key: value for key, value in ADDED_BY_CLIENTS.items() if key in tool[2]})
        return Call("tool", tool[0], tool[1], step[1])


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, data, code=200):
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def json(self, value, code=200):
        self.answer("application/json", json.dumps(value).encode(), code)

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            return self.json({"object": "list", "data": [{"id": "mock", "object": "model"}], "models": []})
        return self.json({"error": {"message": "not here"}}, 404)

    do_HEAD = do_GET

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        path = self.path.split("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            return self.json({"input_tokens": 9, "totalTokens": 9})
        dialect = next((dialect for end, dialect in DIALECTS.items() if path.endswith(end)), None)
        if not dialect:
            return self.json({}, 404)
        body = json.loads(data)
        if isinstance(dialect, Gemini):
            body["stream"] = "stream" in path
        call = self.server.decide(dialect, body)
        events = dialect.events(body, f"{len(self.server.asked):08}", "done", call)
        if isinstance(events, dict):
            return self.json(events)
        lines = []
        for event in events:
            named = isinstance(event, dict) and "type" in event
            lines.append((f"event: {event['type']}\n" if named else "") + "data: ")
            lines.append((event if isinstance(event, str) else json.dumps(event)) + "\n\n")
        return self.answer("text/event-stream", "".join(lines).encode())

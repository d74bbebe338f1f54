"""Models that follow a script, in the place of paid ones: each calls three tools one after the other, and answers with what the last one gave."""
import contextlib
import http.server
import json
import threading

TASK = "Put 10, 20 and 12 into numbers.txt, count the lines, and add the numbers up."
STEPS = (
    ("write_file", {"path": "numbers.txt", "content": "10\n20\n12\n"}),
    ("run_command", {"command": "wc -l < numbers.txt"}),
    ("run_code", {"code": "sum(int(line) for line in open('numbers.txt'))"}),
)


def turn(outputs):
    """The next tool call, (name, arguments), after these outputs of tools; or the answer."""
    if len(outputs) < len(STEPS):
        return STEPS[len(outputs)], None
    return None, f"{outputs[1].strip()} lines, and their sum is {outputs[2].strip()}"


def langchain():
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        _llm_type = "scripted"

        def bind_tools(self, tools, **_):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **_):
            call, answer = turn([m.content for m in messages if isinstance(m, ToolMessage)])
            calls = [{"name": call[0], "args": call[1], "id": f"call-{len(messages)}"}] if call else []
            return ChatResult(generations=[ChatGeneration(message=AIMessage(answer or "", tool_calls=calls))])

    return Scripted()


def openai_agents():
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        async def get_response(self, system_instructions, input, *_, **__):
            call, answer = turn([item["output"] for item in input if item.get("type") == "function_call_output"] if isinstance(input, list) else [])
            if call:
                item = ResponseFunctionToolCall(name=call[0], arguments=json.dumps(call[1]), call_id=f"call-{len(input)}", type="function_call")
            else:
                text = ResponseOutputText(text=answer, annotations=[], type="output_text")
                item = ResponseOutputMessage(id="message", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse([item], Usage(), None)

        def stream_response(self, *_, **__):
            raise NotImplementedError("this script does not stream")

    return Scripted()


def pydantic_ai():
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def answer_of(messages, _):
        call, answer = turn([part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)])
        return ModelResponse([ToolCallPart(*call) if call else TextPart(answer)])

    return FunctionModel(answer_of)


def smolagents():
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

    class Scripted(Model):
        def generate(self, messages, stop_sequences=None, response_format=None, tools_to_call_from=None, **_):
            outputs = [part["text"].partition("Observation:\n")[2] for m in messages if m.role == MessageRole.TOOL_RESPONSE for part in m.content]
            call, answer = turn(outputs)
            name, arguments = call or ("final_answer", {"answer": answer})
            function = ChatMessageToolCallFunction(arguments=arguments, name=name)
            return ChatMessage(MessageRole.ASSISTANT, "", [ChatMessageToolCall(function, f"call-{len(outputs)}", "function")])

    return Scripted()


def smolagents_code(*steps):
    """One that writes code; each step is a whole program."""
    from smolagents.models import ChatMessage, MessageRole, Model

    class Scripted(Model):
        def generate(self, messages, *_, **__):
            done = sum(m.role == MessageRole.ASSISTANT for m in messages)
            return ChatMessage(MessageRole.ASSISTANT, f"<code>\n{steps[done]}\n</code>")

    return Scripted()


class _Messages(http.server.BaseHTTPRequestHandler):
    """As much of the Messages interface of Anthropic as an agent needs: a stream of events for each turn."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        blocks = [b for m in request.get("messages", ()) if isinstance(m["content"], list) for b in m["content"] if b["type"] == "tool_result"]
        call, answer = turn([b["content"] if isinstance(b["content"], str) else b["content"][0]["text"] for b in blocks])
        if not request.get("tools"):  # the program itself asks: for a title, for instance
            call, answer = None, "ok"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in self.events(request.get("model", "scripted"), call, answer, len(blocks)):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def events(self, model, call, answer, number):
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        if call:
            start = {"type": "tool_use", "id": f"toolu_{number}", "name": f"mcp__sandbox__{call[0]}", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": answer}
        yield {"type": "content_block_start", "index": 0, "content_block": start}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def claude(home):
    """The environment of an agent whose model answers on this host; `home` is a folder for its settings."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Messages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}", "ANTHROPIC_API_KEY": "scripted", "HOME": home,
               "CLAUDE_CONFIG_DIR": home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    finally:
        server.shutdown()
        server.server_close()

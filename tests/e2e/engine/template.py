"""The chat template of the generated model, and the control tokens it writes.

`TOOL_WANTED` is written when tools are offered and the last message is not already a tool's result: the model's
one attention head looks for it, and answers with a call. The call's own form, JSON between `<tool_call>` marks, is
the one that engines recognise in many models.
"""

DOCUMENT_END = "<|document_end|>"
TURN = "<|turn|>"
TURN_END = "<|turn_end|>"
TOOL_WANTED = "<|tool_wanted|>"

CALL_MARKS = ("<tool_call>", "</tool_call>")
CALL_OPEN = '<tool_call>\n{"name": "'
CALL_CLOSE = "\n</tool_call>"

CHAT_TEMPLATE = """\
{%- macro turn(who, text) -%}
{{- '<|turn|>' + who + ':\\n' + text + '<|turn_end|>\\n' -}}
{%- endmacro -%}
{%- if tools -%}
{%- set listing = namespace(text='These functions can be called:\\n') -%}
{%- for tool in tools -%}{%- set listing.text = listing.text + (tool | tojson) + '\\n' -%}{%- endfor -%}
{{- turn('functions', listing.text) -}}
{%- endif -%}
{%- for message in messages -%}
{%- set said = namespace(text=(message.content if message.content is string else '')) -%}
{%- for call in (message.tool_calls or []) -%}
{%- set arguments = call.function.arguments | tojson -%}
{%- set body = '{"name": ' + (call.function.name | tojson) + ', "arguments": ' + arguments + '}' -%}
{%- set said.text = said.text + '<tool_call>\\n' + body + '\\n</tool_call>' -%}
{%- endfor -%}
{{- turn(message.role, said.text) -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{%- if tools and messages[-1].role != 'tool' -%}{{- '<|tool_wanted|>' -}}{%- endif -%}
{{- '<|turn|>assistant:\\n' -}}
{%- endif -%}
"""

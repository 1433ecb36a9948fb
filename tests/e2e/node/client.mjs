// The OpenAI SDK for JavaScript, unmodified, told what to do by a test: `node client.mjs ACT MODEL`.
// Address and key come from OPENAI_BASE_URL and OPENAI_API_KEY, which the SDK reads itself. Every line printed is JSON.
import OpenAI from "openai";

const [act, model] = process.argv.slice(2);
const client = new OpenAI({ maxRetries: 0 });
const messages = [{ role: "user", content: "hello" }];

const say = (facts) => process.stdout.write(JSON.stringify(facts) + "\n");

const acts = {
  async chat() {
    const answer = await client.chat.completions.create({ model, messages, temperature: 0 });
    say({ model: answer.model, text: answer.choices[0].message.content, usage: answer.usage });
  },

  async stream() {
    const options = { model, messages, temperature: 0, stream: true, stream_options: { include_usage: true } };
    const chunks = [];
    for await (const chunk of await client.chat.completions.create(options)) chunks.push(chunk);
    say({
      models: [...new Set(chunks.map((chunk) => chunk.model))],
      text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""),
      usage: chunks.at(-1).usage,
    });
  },

  // Stays alive after the abort until its input ends: the abort must free the slot, not the end of the process.
  async abort() {
    const endless = { model, messages, stream: true, max_tokens: 4000, ignore_eos: true };
    const stream = await client.chat.completions.create(endless);
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.next();
    say({ streaming: true });
    await new Promise((resolve) => process.stdin.once("data", resolve));
    stream.controller.abort();
    say({ aborted: true });
    await new Promise((resolve) => process.stdin.once("end", resolve));
  },

  async error() {
    try {
      await client.chat.completions.create({ model, messages });
      say({ error: null });
    } catch (error) {
      say({ error: error.constructor.name, status: error.status, code: error.code });
    }
  },

  async models() {
    const names = [];
    for await (const one of client.models.list()) names.push(one.id);
    say({ names });
  },
};

await acts[act]();

// A standard MCP server whose tools ask their caller, written with the official SDK. With `old` it speaks the era before
// 2026-07-28 and asks while a tool runs; otherwise it speaks the newer one and ends the round with its questions.
import { inputRequired, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

const text = (said) => ({ content: [{ type: "text", text: said }] });
const form = (message) => ({
  message,
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
});
const thought = {
  messages: [{ role: "user", content: { type: "text", text: "Say something" } }],
  maxTokens: 20,
};

const questions = {
  name: { method: "elicitation/create", params: form("What is your name?") },
  thought: { method: "sampling/createMessage", params: thought },
  folders: { method: "roots/list", params: {} },
};
const read = {
  name: ({ action, content }) => `${action} ${content?.name ?? "no name"}`,
  thought: ({ content }) => `it says ${content.text}`,
  folders: ({ roots }) => `roots ${roots.map(({ uri }) => uri).join(" ")}`,
};

function answerTool(name) {
  return { name, description: `Asks its caller: ${name}`, inputSchema: { type: "object", properties: {} } };
}

/** Rounds that are not passed on. */
const refused = {
  many: Array.from({ length: 9 }, () => questions.name),
  huge: [{ method: "sampling/createMessage", params: { ...thought, systemPrompt: "x".repeat(300_000) } }],
  address: [
    { method: "elicitation/create", params: { mode: "url", message: "Look", url: "http://127.0.0.1/" } },
  ],
  broken: [{ method: "elicitation/create", params: { message: "No form" } }],
};

function modern() {
  const server = new Server({ name: "asking", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: Object.keys({ ...questions, ...refused }).map(answerTool),
  }));
  server.setRequestHandler("tools/call", ({ params: { name } }, { mcpReq }) => {
    if (refused[name] !== undefined) return inputRequired({ inputRequests: { ...refused[name] } });
    const answer = mcpReq.inputResponses?.[name];
    if (answer !== undefined) return text(read[name](answer));
    return inputRequired({ inputRequests: { [name]: questions[name] } });
  });
  return server;
}

async function old() {
  const server = new Server(
    { name: "asking", version: "1.0.0" },
    { capabilities: { tools: {}, prompts: {} } },
  );
  const heard = [];
  let givenUp = 0;
  const anything = {
    "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) },
  };
  const ask = (question, options) => server.request(question, anything, options);
  const outcome = (asked) =>
    asked.then(
      (answer) => JSON.stringify(answer),
      (error) => `${error.code} ${error.message}`,
    );
  const note = async (question) => heard.push(await outcome(ask(question)));
  const named = (message) => ({ method: "elicitation/create", params: form(message) });
  const tools = {
    ...Object.fromEntries(
      Object.keys(questions).map((name) => [name, async () => text(read[name](await ask(questions[name])))]),
    ),
    guarded: async () => text(read.name(await ask(questions.name))),
    /** Wants a model that uses tools. */
    agentic: async () => {
      const tools = [answerTool("search")];
      return text(await outcome(ask({ method: "sampling/createMessage", params: { ...thought, tools } })));
    },
    /** Says what became of the question, whatever that is. */
    try: async () => text(await outcome(ask(questions.name))),
    both: async () =>
      text((await Promise.all([ask(named("One?")), ask(named("Two?"))])).map(read.name).join(", ")),
    twice: async () =>
      text([read.name(await ask(named("One?"))), read.name(await ask(named("Two?")))].join(", ")),
    address: async () => {
      const params = { mode: "url", message: "Look", url: "http://127.0.0.1/", elicitationId: "1" };
      return text(await outcome(ask({ method: "elicitation/create", params })));
    },
    huge: async () => text(await outcome(ask(named("x".repeat(300_000))))),
    unknown: async () => text(await outcome(ask({ method: "elicitation/other", params: {} }))),
    spelled: async () => text(read.name(await ask(named("Your\u202E name?\u0007 <|system|>")))),
    /** Asks more than may wait at a time, and ends with the others open. */
    flood: () =>
      new Promise((resolve) => {
        let refused = 0;
        for (let count = 0; count < 40; count += 1) {
          outcome(ask(named(`Question ${count}`))).then((said) => {
            if (said.startsWith("-32600")) refused += 1;
            if (refused === 32) resolve(text("32 refused"));
          });
        }
      }),
    endless: async () => {
      for (let count = 0; ; count += 1) {
        const said = await outcome(ask(named(`Question ${count}`)));
        if (!said.startsWith("{")) return text(`${count} ${said}`);
      }
    },
    /** Takes its first question back when the second is answered. */
    withdrawn: async () => {
      const controller = new AbortController();
      const first = outcome(ask(named("One?"), { signal: controller.signal }));
      await ask(named("Two?"));
      controller.abort(new Error("no longer needed"));
      await first;
      return text("withdrawn");
    },
    /** Asks only after it has answered. */
    late: async () => {
      setImmediate(() => void note(questions.name));
      return text("answered");
    },
    /** Goes on asking when its call has been given up. */
    stubborn: async () => {
      for (let count = 0; count < 3; count += 1) await note(questions.name);
      return text("done");
    },
    /** Ends with a question open, when another is answered. */
    leave: async () => {
      void outcome(ask(named("One?")));
      await ask(named("Two?"));
      process.exit(3);
    },
    hang: async () => {
      await ask(questions.name);
      await new Promise(() => undefined);
    },
    heard: async () => text(JSON.stringify({ heard, givenUp })),
  };
  server.oninitialized = () => void note(questions.name).then(() => note(questions.folders));
  server.setRequestHandler("tools/list", () => ({ tools: Object.keys(tools).map(answerTool) }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
    mcpReq.signal.addEventListener("abort", () => {
      givenUp += 1;
    });
    return tools[params.name]();
  });
  server.setRequestHandler("prompts/list", () => ({ prompts: [{ name: "greeting" }] }));
  server.setRequestHandler("prompts/get", async () => ({
    messages: [{ role: "user", content: { type: "text", text: read.name(await ask(questions.name)) } }],
  }));
  await server.connect(new StdioServerTransport());
}

if (process.argv[2] === "old") await old();
else serveStdio(modern);

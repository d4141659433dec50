// What the official conformance suite asks for, whatever SDK answers: one handler for each method.
import {
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { changes, png, tools } from "./fixture-tools.mjs";

export const identity = { name: "conformance-fixtures", version: "1.0.0" };
export const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const properties = { test_sampling: ["prompt"], test_elicitation: ["message"] };

function definition(name) {
  const named = properties[name] ?? [];
  return {
    name,
    description: `The suite's ${name}`,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(named.map((property) => [property, { type: "string" }])),
      required: named,
    },
  };
}

const resources = {
  "test://static-text": {
    name: "static-text",
    mimeType: "text/plain",
    body: { text: "This is the content of the static text resource." },
  },
  "test://static-binary": { name: "static-binary", mimeType: "image/png", body: { blob: png } },
  "test://watched-resource": { name: "watched-resource", mimeType: "text/plain", body: { text: "watched" } },
};

const prompts = {
  test_simple_prompt: () => [{ type: "text", text: "This is a simple prompt for testing." }],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    { type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` },
  ],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    {
      type: "resource",
      resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
    },
    { type: "text", text: "Please process the embedded resource above." },
  ],
  test_prompt_with_image: () => [
    { type: "image", data: png, mimeType: "image/png" },
    { type: "text", text: "Please analyze the image above." },
  ],
};
const promptArguments = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"],
};

function readResource(uri) {
  const known = resources[uri];
  if (known !== undefined) return { contents: [{ uri, mimeType: known.mimeType, ...known.body }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) throw new ResourceNotFoundError(uri);
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: "application/json", text: data }] };
}

/** By method: `(params, context, server) => result`. */
export const handlers = {
  "tools/list": () => ({
    tools: [
      ...Object.keys(tools),
      ...Array.from({ length: changes.tools }, (_, index) => `test_extra_${index}`),
    ].map(definition),
  }),
  "tools/call": (params, context, server) => {
    const run = tools[params.name];
    if (run === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "no such tool");
    return run(params.arguments ?? {}, context, server);
  },
  "resources/list": () => ({
    resources: Object.entries(resources).map(([uri, { name, mimeType }]) => ({
      uri,
      name,
      description: `The suite's ${name}`,
      mimeType,
    })),
  }),
  "resources/templates/list": () => ({
    resourceTemplates: [
      { uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" },
    ],
  }),
  "resources/read": ({ uri }) => readResource(uri),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "prompts/list": () => ({
    prompts: [
      ...Object.keys(prompts),
      "test_input_required_result_prompt",
      ...Array.from({ length: changes.prompts }, (_, index) => `test_extra_${index}`),
    ].map((name) => ({
      name,
      description: `The suite's ${name}`,
      arguments: (promptArguments[name] ?? []).map((argument) => ({ name: argument, required: true })),
    })),
  }),
  "prompts/get": (params, context) => {
    if (params.name === "test_input_required_result_prompt") return promptThatAsks(context);
    const make = prompts[params.name];
    if (make === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "no such prompt");
    return { messages: make(params.arguments ?? {}).map((content) => ({ role: "user", content })) };
  },
  "completion/complete": ({ argument }) => {
    const values = ["paris", "park", "party"].filter((value) => value.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  },
};

function promptThatAsks({ mcpReq }) {
  const answer = mcpReq.inputResponses?.user_context;
  if (answer !== undefined)
    return { messages: [{ role: "user", content: { type: "text", text: answer.content.context } }] };
  const form = {
    message: "What context should the prompt use?",
    requestedSchema: {
      type: "object",
      properties: { context: { type: "string" } },
      required: ["context"],
    },
  };
  return inputRequired({ inputRequests: { user_context: inputRequired.elicit(form) } });
}

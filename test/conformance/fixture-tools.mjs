// The tools that the official conformance suite calls, as it describes them.
import {
  inputRequired,
  inputResponse,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";

export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const text = (said) => ({ content: [{ type: "text", text: said }] });
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** How often a list was changed on request. */
export const changes = { tools: 0, prompts: 0 };

const nameForm = {
  message: "What is your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
const askName = () => inputRequired.elicit(nameForm);
const askGreeting = (said) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: said } }], maxTokens: 50 },
});

/** Asks with a form and says what came back. */
async function withForm(context, key, form) {
  const answer = context.mcpReq.inputResponses?.[key];
  if (answer === undefined) return inputRequired({ inputRequests: { [key]: inputRequired.elicit(form) } });
  return text(
    `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`,
  );
}

/** A state that only this program can have made. */
const states = new Set();
function newState() {
  const state = `state-${Math.random().toString(36).slice(2)}`;
  states.add(state);
  return state;
}

export const tools = {
  test_simple_text: () => text("This is a simple text response for testing."),
  test_image_content: () => ({ content: [{ type: "image", data: png, mimeType: "image/png" }] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: png, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }),
  async test_tool_with_logging(_args, context) {
    for (const said of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await context.mcpReq.log("info", said);
      await pause();
    }
    return text("Logged three times.");
  },
  async test_logging_tool(_args, context) {
    await context.mcpReq.log("info", "only for those who asked");
    return text("Logged.");
  },
  test_error_handling: () => ({
    ...text("This tool intentionally returns an error for testing"),
    isError: true,
  }),
  async test_tool_with_progress(_args, context) {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 };
        await context.mcpReq.notify({ method: "notifications/progress", params });
      }
      await pause();
    }
    return text("Done.");
  },
  test_sampling({ prompt }, context) {
    const answer = context.mcpReq.inputResponses?.llm;
    if (answer === undefined) return inputRequired({ inputRequests: { llm: askGreeting(prompt) } });
    return text(`LLM response: ${answer.content.text}`);
  },
  test_elicitation: ({ message }, context) =>
    withForm(context, "user", {
      message,
      requestedSchema: {
        type: "object",
        properties: {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        },
        required: ["username", "email"],
      },
    }),
  test_elicitation_sep1034_defaults: (_args, context) =>
    withForm(context, "defaults", {
      message: "Please check these",
      requestedSchema: {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
      },
    }),
  test_elicitation_sep1330_enums: (_args, context) =>
    withForm(context, "enums", {
      message: "Please choose",
      requestedSchema: {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
          titledSingle: {
            type: "string",
            oneOf: [
              { const: "value1", title: "First Option" },
              { const: "value2", title: "Second Option" },
              { const: "value3", title: "Third Option" },
            ],
          },
          legacyEnum: {
            type: "string",
            enum: ["opt1", "opt2", "opt3"],
            enumNames: ["Option One", "Option Two", "Option Three"],
          },
          untitledMulti: {
            type: "array",
            items: { type: "string", enum: ["option1", "option2", "option3"] },
          },
          titledMulti: {
            type: "array",
            items: {
              anyOf: [
                { const: "value1", title: "First Choice" },
                { const: "value2", title: "Second Choice" },
                { const: "value3", title: "Third Choice" },
              ],
            },
          },
        },
      },
    }),
  test_missing_capability(_args, context) {
    if (context.mcpReq.envelope?.[capabilitiesKey]?.sampling === undefined)
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    return text("The client can sample.");
  },
  test_streaming_elicitation: (_args, context) => withForm(context, "name", nameForm),
  async test_trigger_tool_change(_args, _context, server) {
    changes.tools += 1;
    await server.sendToolListChanged();
    return text("The list is another one.");
  },
  async test_trigger_prompt_change(_args, _context, server) {
    changes.prompts += 1;
    await server.sendPromptListChanged();
    return text("The list is another one.");
  },
  test_input_required_result_elicitation(_args, context) {
    const answer = inputResponse(context.mcpReq.inputResponses, "user_name");
    if (answer.kind === "elicit" && answer.action === "accept" && typeof answer.content?.name === "string")
      return text(`Hello, ${answer.content.name}!`);
    return inputRequired({ inputRequests: { user_name: askName() } });
  },
  test_input_required_result_sampling(_args, context) {
    const answer = context.mcpReq.inputResponses?.capital_question;
    if (answer === undefined) {
      const asked = askGreeting("What is the capital of France?");
      return inputRequired({ inputRequests: { capital_question: asked } });
    }
    return text(`It says: ${answer.content?.text ?? ""}`);
  },
  test_input_required_result_list_roots(_args, context) {
    const answer = context.mcpReq.inputResponses?.client_roots;
    if (answer === undefined)
      return inputRequired({ inputRequests: { client_roots: { method: "roots/list", params: {} } } });
    return text(`Roots: ${answer.roots.map(({ uri }) => uri).join(", ")}`);
  },
  test_input_required_result_request_state(_args, context) {
    const state = context.mcpReq.requestState();
    if (state === undefined) {
      return inputRequired({
        inputRequests: {
          confirm: inputRequired.elicit({
            message: "Please confirm",
            requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
          }),
        },
        requestState: newState(),
      });
    }
    return checked(state, () => text("state-ok"));
  },
  test_input_required_result_multiple_inputs(_args, context) {
    const { user_name, greeting, client_roots } = context.mcpReq.inputResponses ?? {};
    if (user_name === undefined || greeting === undefined || client_roots === undefined) {
      return inputRequired({
        inputRequests: {
          user_name: askName(),
          greeting: askGreeting("Generate a greeting"),
          client_roots: { method: "roots/list", params: {} },
        },
        requestState: newState(),
      });
    }
    return text("All three came.");
  },
  test_input_required_result_multi_round(_args, context) {
    const { step1, step2 } = context.mcpReq.inputResponses ?? {};
    if (step2 !== undefined) return text(`All steps done: ${step2.content?.color}`);
    const form = (message, key) => ({
      message,
      requestedSchema: { type: "object", properties: { [key]: { type: "string" } }, required: [key] },
    });
    const next =
      step1 === undefined
        ? { step1: inputRequired.elicit(form("Step 1: What is your name?", "name")) }
        : { step2: inputRequired.elicit(form("Step 2: What is your favorite color?", "color")) };
    return inputRequired({ inputRequests: next, requestState: newState() });
  },
  test_input_required_result_tampered_state(_args, context) {
    const state = context.mcpReq.requestState();
    if (state === undefined)
      return inputRequired({ inputRequests: { user_name: askName() }, requestState: newState() });
    return checked(state, () => text("state-ok"));
  },
  test_input_required_result_capabilities(_args, context) {
    const able = context.mcpReq.envelope?.[capabilitiesKey] ?? {};
    return inputRequired({
      inputRequests: {
        ...(able.sampling === undefined ? {} : { greeting: askGreeting("Generate a greeting") }),
        ...(able.elicitation === undefined ? {} : { user_name: askName() }),
      },
      requestState: newState(),
    });
  },
};

function checked(state, result) {
  if (states.delete(state)) return result();
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the state is not one of ours");
}

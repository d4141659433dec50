/** Questions of a program to its caller: which clients can answer them, and the checks before a person sees them. */
import { isSpecType, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { cleanLine, cleanText, isObject, type JsonObject, limits } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";

export type Question = Parameters<NonNullable<CallOptions["relay"]>["ask"]>[0];

const maxMessageLength = 2_000;
const maxTitleLength = 128;
const maxDescriptionLength = 1_024;

const capabilityFor: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** The capability that this question requires and the client does not declare. */
function missing(client: JsonObject, { method, params }: Question): string | undefined {
  const capability = capabilityFor[method] ?? method;
  const declared = client[capability];
  if (!isObject(declared)) return capability;
  if (capability === "elicitation" && !hasForms(client)) return "elicitation.form";
  const wantsTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
  return capability === "sampling" && wantsTools && !isObject(declared["tools"])
    ? "sampling.tools"
    : undefined;
}

/** A client that declares neither `form` nor `url` supports forms. */
export function hasForms({ elicitation }: JsonObject): boolean {
  return isObject(elicitation) && (elicitation["form"] !== undefined || !("url" in elicitation));
}

/** Whether the client can answer any kind of question. */
export function answersAnything(client: JsonObject): boolean {
  return Object.keys(capabilityFor).some((method) => missing(client, { method, params: {} }) === undefined);
}

/** The question as this client gets it. A thrown error goes back to the program. */
export function questionFor(client: JsonObject, question: Question): Question {
  const undeclared = missing(client, question);
  if (undeclared === undefined) return shown(question);
  const detail = `the caller cannot answer ${question.method}: its client does not declare \`${undeclared}\``;
  throw new ProtocolError(ProtocolErrorCode.MethodNotFound, detail);
}

/** The question as any client gets it; throws if it is not passed on. */
export function shown({ method, params }: Question): Question {
  if (capabilityFor[method] === undefined) throw invalid(`${method} is not passed on`);
  // `_meta` and `task` belong to the connection with the program.
  const { _meta, task, ...asked } = params;
  if (method !== "elicitation/create") return valid({ method, params: asked });
  // A person would take a URL from a program for one from the gateway.
  if (asked["mode"] === "url") throw invalid("questions to the caller may be forms only, not URLs");
  if (JSON.stringify(asked["requestedSchema"] ?? {}).length > limits.toolSchemaBytes.max)
    throw invalid(`a form's schema may have ${limits.toolSchemaBytes.max} bytes at most`);
  return valid({ method, params: cleanForm(asked) });
}

/** Cleans the texts of a form that are only displayed. */
function cleanForm(params: JsonObject): JsonObject {
  const { message, requestedSchema } = params;
  return {
    ...params,
    message: cleanText(String(message ?? ""), maxMessageLength),
    ...(requestedSchema === undefined ? {} : { requestedSchema: cleanSchema(requestedSchema) }),
  };
}

function cleanSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(cleanSchema);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, cleanEntry(key, value)]));
}

function cleanEntry(key: string, value: unknown): unknown {
  if (key === "title" && typeof value === "string") return cleanLine(value, maxTitleLength);
  if (key === "description" && typeof value === "string") return cleanText(value, maxDescriptionLength);
  if (key === "enumNames" && Array.isArray(value))
    return value.map((name) => (typeof name === "string" ? cleanLine(name, maxTitleLength) : name));
  // These values come back in the answer, so the program must get them unchanged.
  return key === "enum" || key === "const" || key === "default" ? value : cleanSchema(value);
}

/** Whether this is a valid answer to a question with this method. */
export function isAnswer(method: string, answer: unknown): answer is JsonObject {
  if (method === "elicitation/create") return isSpecType.ElicitResult(answer);
  if (method === "roots/list") return isSpecType.ListRootsResult(answer);
  return isSpecType.CreateMessageResult(answer) || isSpecType.CreateMessageResultWithTools(answer);
}

function valid(question: Question): Question {
  const { method } = question;
  const isValid =
    method === "elicitation/create"
      ? isSpecType.ElicitRequest(question)
      : method === "roots/list" || isSpecType.CreateMessageRequest(question);
  if (!isValid) throw invalid(`not a valid ${method}`);
  return question;
}

function invalid(detail: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, detail);
}

/** What a program asks its caller: who is able to answer it, and what is looked at before it reaches a person. */
import { isSpecType, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { cleanLine, cleanText, isObject, type JsonObject, limits } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";

export type Question = Parameters<NonNullable<CallOptions["relay"]>["ask"]>[0];

const longestMessage = 2_000;
const longestTitle = 128;
const longestDescription = 1_024;

const capabilityFor: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** What a client has to declare for this question and does not. */
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

/** A client that names neither forms nor addresses has forms. */
export function hasForms({ elicitation }: JsonObject): boolean {
  return isObject(elicitation) && (elicitation["form"] !== undefined || !("url" in elicitation));
}

/** Whether there is anything that a client is able to answer. */
export function answersAnything(client: JsonObject): boolean {
  return Object.keys(capabilityFor).some((method) => missing(client, { method, params: {} }) === undefined);
}

/** The question as this client gets it. What it throws is the program's answer. */
export function questionFor(client: JsonObject, question: Question): Question {
  const undeclared = missing(client, question);
  if (undeclared === undefined) return shown(question);
  const detail = `the caller cannot answer ${question.method}: its client does not declare \`${undeclared}\``;
  throw new ProtocolError(ProtocolErrorCode.MethodNotFound, detail);
}

/** The question as any client gets it; throws where none does. */
export function shown({ method, params }: Question): Question {
  if (capabilityFor[method] === undefined) throw invalid(`${method} is not passed on`);
  // They are about this one connection to the program.
  const { _meta, task, ...asked } = params;
  if (method !== "elicitation/create") return valid({ method, params: asked });
  // An address chosen by a program is not shown to a person as if it were ours.
  if (asked["mode"] === "url") throw invalid("the caller is asked by forms only, not by addresses");
  if (JSON.stringify(asked["requestedSchema"] ?? {}).length > limits.toolSchemaBytes.max)
    throw invalid(`a form's schema may have ${limits.toolSchemaBytes.max} bytes at most`);
  return valid({ method, params: cleanForm(asked) });
}

/** Of a form, everything that is only there to be read. */
function cleanForm(params: JsonObject): JsonObject {
  const { message, requestedSchema } = params;
  return {
    ...params,
    message: cleanText(String(message ?? ""), longestMessage),
    ...(requestedSchema === undefined ? {} : { requestedSchema: cleanSchema(requestedSchema) }),
  };
}

function cleanSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(cleanSchema);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, cleanEntry(key, value)]));
}

function cleanEntry(key: string, value: unknown): unknown {
  if (key === "title" && typeof value === "string") return cleanLine(value, longestTitle);
  if (key === "description" && typeof value === "string") return cleanText(value, longestDescription);
  if (key === "enumNames" && Array.isArray(value))
    return value.map((name) => (typeof name === "string" ? cleanLine(name, longestTitle) : name));
  // These come back as an answer, and have to be what the program knows.
  return key === "enum" || key === "const" || key === "default" ? value : cleanSchema(value);
}

/** Whether this is an answer to that question. */
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

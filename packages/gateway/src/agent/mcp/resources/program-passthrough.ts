/**
 * Resources, prompts and completions of an MCP program, at the program's own address [PRC-9]. They are passed on
 * unchanged, except that texts are cleaned and entries that are not valid MCP are dropped.
 */
import {
  type CompleteResult,
  type GetPromptResult,
  type InputRequiredResult,
  isSpecType,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { cleanLine, cleanText, isObject, type JsonObject } from "@tendon/protocol";
import { TendonError } from "../../../errors.ts";
import { type Given, inRounds } from "../open-calls.ts";
import { relayTo } from "../relay.ts";
import { Rounds } from "../rounds.ts";
import type { McpRequest } from "../tool-request.ts";

const maxNameLength = 128;
const maxTextLength = 1_024;

interface Page<Item> {
  readonly items: Item[];
  readonly nextCursor?: string;
}

export function programResources(request: McpRequest, cursor: string | undefined): Promise<Page<Resource>> {
  return list(request, "resources/list", "resources", isSpecType.Resource, cursor);
}

export function programTemplates(
  request: McpRequest,
  cursor: string | undefined,
): Promise<Page<ResourceTemplateType>> {
  return list(request, "resources/templates/list", "resourceTemplates", isSpecType.ResourceTemplate, cursor);
}

export function programPrompts(request: McpRequest, cursor: string | undefined): Promise<Page<Prompt>> {
  return list(request, "prompts/list", "prompts", isSpecType.Prompt, cursor);
}

export function programResource(request: McpRequest, uri: string) {
  const rounds = roundsOf(request, `resource ${deviceOf(request)} ${uri}`, {});
  return askInRounds<ReadResourceResult>(
    request,
    "resources/read",
    { uri },
    rounds,
    isSpecType.ReadResourceResult,
  );
}

export async function programCompletion(request: McpRequest, params: JsonObject): Promise<CompleteResult> {
  return checked(await ask(request, "completion/complete", params), isSpecType.CompleteResult);
}

export function programPrompt(request: McpRequest, name: string, args: JsonObject) {
  const rounds = roundsOf(request, `prompt ${deviceOf(request)} ${name}`, args);
  const params = { name, arguments: args };
  return askInRounds<GetPromptResult>(request, "prompts/get", params, rounds, isSpecType.GetPromptResult);
}

function roundsOf({ view, context }: McpRequest, target: string, args: JsonObject): Rounds {
  return new Rounds(view.states, { principal: view.principal.id, target, args }, context);
}

/** A prompt or a resource may ask for input first, as a tool may. */
async function askInRounds<Result>(
  request: McpRequest,
  method: string,
  params: JsonObject,
  rounds: Rounds,
  is: (value: unknown) => value is Result,
): Promise<Result | InputRequiredResult> {
  const round = await inRounds(request, rounds, request.view.program, (given) =>
    ask(request, method, params, given),
  );
  if ("asks" in round) return round.asks;
  const result = round.end;
  if (!isObject(result) || result["resultType"] !== "input_required") return checked(result, is);
  const { inputRequests, requestState } = result;
  try {
    return rounds.deviceAsks({
      inputRequests: isObject(inputRequests) ? inputRequests : {},
      ...(typeof requestState === "string" ? { requestState } : {}),
    });
  } catch (error) {
    throw asProtocolError(error);
  }
}

async function list<Item>(
  request: McpRequest,
  method: string,
  key: string,
  is: (value: unknown) => value is Item,
  cursor: string | undefined,
): Promise<Page<Item>> {
  const result = await ask(request, method, cursor === undefined ? {} : { cursor });
  const { [key]: entries, nextCursor } = isObject(result) ? result : {};
  const items = (Array.isArray(entries) ? entries : []).filter(is).map(cleaned);
  return { items, ...(typeof nextCursor === "string" ? { nextCursor } : {}) };
}

function cleaned<Item>(entry: Item): Item {
  if (!isObject(entry)) return entry;
  const { name, title, description } = entry;
  return {
    ...entry,
    ...(typeof name === "string" ? { name: cleanLine(name, maxNameLength) } : {}),
    ...(typeof title === "string" ? { title: cleanLine(title, maxNameLength) } : {}),
    ...(typeof description === "string" ? { description: cleanText(description, maxTextLength) } : {}),
  };
}

async function ask(
  request: McpRequest,
  method: string,
  params: JsonObject,
  given: Given = { signal: request.context.mcpReq.signal, relay: relayTo(request) },
): Promise<unknown> {
  const { view } = request;
  try {
    return await view.services.fleet.passthrough.ask(
      view.principal,
      deviceOf(request),
      method,
      params,
      given,
    );
  } catch (error) {
    throw asProtocolError(error);
  }
}

function deviceOf({ view: { selection } }: McpRequest): string {
  return selection.kind === "device" ? selection.device : "";
}

/** The device's own error if it sent one; otherwise the gateway's, with its code in front. */
function asProtocolError(error: unknown): ProtocolError {
  if (!(error instanceof TendonError)) throw error;
  const { cause } = error;
  if (isObject(cause) && Number.isInteger(cause["code"])) {
    return new ProtocolError(Number(cause["code"]), cleanText(error.message, maxTextLength), cause["data"]);
  }
  return new ProtocolError(ProtocolErrorCode.InternalError, `${error.code}: ${error.message}`);
}

function checked<Result>(result: unknown, is: (value: unknown) => value is Result): Result {
  if (is(result)) return result;
  throw new ProtocolError(ProtocolErrorCode.InternalError, "device_error: the device's answer is not valid");
}

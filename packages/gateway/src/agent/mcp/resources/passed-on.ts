/**
 * What a standard MCP server behind the gateway offers beside its tools, where it is shown alone [PRC-9]. It is passed
 * on as it came, but for texts that are cleaned and entries that are not what the protocol calls by their name.
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
import type { McpRequest } from "../asking.ts";
import { givenUp } from "../given-up.ts";
import { type Given, inRounds } from "../open-calls.ts";
import { relayTo } from "../relay.ts";
import { Rounds } from "../rounds.ts";

const longestName = 128;
const longestText = 1_024;

interface Page<Item> {
  readonly items: Item[];
  readonly nextCursor?: string;
}

export function passedResources(asking: McpRequest, cursor: string | undefined): Promise<Page<Resource>> {
  return list(asking, "resources/list", "resources", isSpecType.Resource, cursor);
}

export function passedTemplates(
  asking: McpRequest,
  cursor: string | undefined,
): Promise<Page<ResourceTemplateType>> {
  return list(asking, "resources/templates/list", "resourceTemplates", isSpecType.ResourceTemplate, cursor);
}

export function passedPrompts(asking: McpRequest, cursor: string | undefined): Promise<Page<Prompt>> {
  return list(asking, "prompts/list", "prompts", isSpecType.Prompt, cursor);
}

export function passedResource(asking: McpRequest, uri: string) {
  const rounds = roundsOf(asking, `resource ${deviceOf(asking)} ${uri}`, {});
  return askInRounds<ReadResourceResult>(
    asking,
    "resources/read",
    { uri },
    rounds,
    isSpecType.ReadResourceResult,
  );
}

export async function passedCompletion(asking: McpRequest, params: JsonObject): Promise<CompleteResult> {
  return checked(await ask(asking, "completion/complete", params), isSpecType.CompleteResult);
}

export function passedPrompt(asking: McpRequest, name: string, args: JsonObject) {
  const rounds = roundsOf(asking, `prompt ${deviceOf(asking)} ${name}`, args);
  const params = { name, arguments: args };
  return askInRounds<GetPromptResult>(asking, "prompts/get", params, rounds, isSpecType.GetPromptResult);
}

function roundsOf({ view, context }: McpRequest, target: string, args: JsonObject): Rounds {
  return new Rounds(view.states, { principal: view.principal.id, target, args }, context);
}

/** A prompt or a resource may ask for more before it is given, as a tool may. */
async function askInRounds<Result>(
  asking: McpRequest,
  method: string,
  params: JsonObject,
  rounds: Rounds,
  is: (value: unknown) => value is Result,
): Promise<Result | InputRequiredResult> {
  const round = await inRounds(asking, rounds, asking.view.program, (given) =>
    ask(asking, method, params, given),
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
  asking: McpRequest,
  method: string,
  key: string,
  is: (value: unknown) => value is Item,
  cursor: string | undefined,
): Promise<Page<Item>> {
  const result = await ask(asking, method, cursor === undefined ? {} : { cursor });
  const { [key]: entries, nextCursor } = isObject(result) ? result : {};
  const items = (Array.isArray(entries) ? entries : []).filter(is).map(cleaned);
  return { items, ...(typeof nextCursor === "string" ? { nextCursor } : {}) };
}

function cleaned<Item>(entry: Item): Item {
  if (!isObject(entry)) return entry;
  const { name, title, description } = entry;
  return {
    ...entry,
    ...(typeof name === "string" ? { name: cleanLine(name, longestName) } : {}),
    ...(typeof title === "string" ? { title: cleanLine(title, longestName) } : {}),
    ...(typeof description === "string" ? { description: cleanText(description, longestText) } : {}),
  };
}

async function ask(
  asking: McpRequest,
  method: string,
  params: JsonObject,
  given: Given = { signal: givenUp(asking.context), relay: relayTo(asking) },
): Promise<unknown> {
  const { view } = asking;
  try {
    return await view.services.fleet.passthrough.ask(view.principal, deviceOf(asking), method, params, given);
  } catch (error) {
    throw asProtocolError(error);
  }
}

function deviceOf({ view: { surface } }: McpRequest): string {
  return surface.kind === "device" ? surface.device : "";
}

/** The device's own error where it gave one; ours otherwise, with its code in front. */
function asProtocolError(error: unknown): ProtocolError {
  if (!(error instanceof TendonError)) throw error;
  const { cause } = error;
  if (isObject(cause) && Number.isInteger(cause["code"])) {
    return new ProtocolError(Number(cause["code"]), cleanText(error.message, longestText), cause["data"]);
  }
  return new ProtocolError(ProtocolErrorCode.InternalError, `${error.code}: ${error.message}`);
}

function checked<Result>(result: unknown, is: (value: unknown) => value is Result): Result {
  if (is(result)) return result;
  throw new ProtocolError(ProtocolErrorCode.InternalError, "device_error: the device's answer is not valid");
}

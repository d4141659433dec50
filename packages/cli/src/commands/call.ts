import fs from "node:fs";
import { isQueued } from "@tendon/client";
import type { CallReply, Problem, Tool } from "@tendon/protocol";
import { readDuration } from "../duration.ts";
import { OperationError, UsageError } from "../errors.ts";
import { readLoosely, splitPairs } from "../fields.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, complain, plain, plainLines, print, printJson } from "../output.ts";
import { printQueued, type QueueFlags, readQueueFlags, withQueueHint } from "../queueing.ts";
import { readTarget, type TargetOptions } from "../target.ts";
import { propertiesOf } from "./tools.ts";

interface CallCommandOptions extends TargetOptions, QueueFlags {
  readonly args?: string;
  readonly timeout?: string;
  readonly output?: string;
  readonly json?: boolean;
}

export async function call(
  device: string,
  tool: string,
  pairs: string[],
  options: CallCommandOptions,
): Promise<void> {
  const queue = readQueueFlags(options);
  const client = new GatewayClient(readTarget(options));
  const timeoutMs = options.timeout === undefined ? undefined : readDuration(options.timeout);
  const args =
    options.args === undefined ? await readPairs(client, device, tool, pairs) : readArgs(options.args, pairs);
  const reply = await client
    .call(device, tool, args, { timeoutMs, ...queue })
    .catch(async (error: unknown) => {
      throw withQueueHint(await withUnknownArguments(error, client, { device, tool, args }));
    });
  if (isQueued(reply)) {
    if (options.json === true) printJson(reply);
    else printQueued(reply);
    return;
  }
  if (options.json === true) printJson(reply);
  else printContent(reply, options.output);
  if (options.output !== undefined) saveMedia(reply, options.output);
  if (reply.result.isError) process.exitCode = 1;
}

function readArgs(text: string, pairs: readonly string[]): Record<string, unknown> {
  if (pairs.length > 0)
    throw new UsageError("Pass the arguments either as key=value or with --args, not both.");
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // The error below covers this too.
  }
  throw new UsageError(`--args must be a JSON object, such as '{"volume":30}'.`);
}

/** Reads each value by the tool's schema: `volume=30` may be a number where `text=30` is a string. */
async function readPairs(
  client: GatewayClient,
  device: string,
  toolName: string,
  pairs: readonly string[],
): Promise<Record<string, unknown>> {
  if (pairs.length === 0) return {};
  const split = splitPairs(pairs);
  const tool = await findTool(client, device, toolName);
  return Object.fromEntries(split.map(([key, text]) => [key, readValue(text, typeOf(tool, key))]));
}

async function findTool(client: GatewayClient, device: string, toolName: string): Promise<Tool | undefined> {
  const list = await client.devices.tools(device, { user: true });
  return list.tools.find(({ name }) => name === toolName);
}

interface Request {
  readonly device: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
}

/** Most schemas allow unknown arguments. When another argument is missing, an unknown one is probably its misspelling. */
async function withUnknownArguments(
  error: unknown,
  client: GatewayClient,
  request: Request,
): Promise<unknown> {
  if (!(error instanceof OperationError) || codeOf(error) !== "arguments_invalid") return error;
  const tool = await findTool(client, request.device, request.tool).catch(() => undefined);
  if (tool === undefined) return error;
  const known = Object.keys(propertiesOf(tool));
  const unknown = Object.keys(request.args).filter((key) => !known.includes(key));
  // The gateway's own message already names them, with a suggestion.
  if (unknown.every((key) => error.message.includes(`here is no argument \`${key}\``))) return error;
  const has = known.length === 0 ? "none" : known.map(plain).join(", ");
  return new OperationError(
    `${error.message}\n  The tool has no argument ${unknown.map((key) => `\`${key}\``).join(", ")}; its arguments: ${has}`,
    error.problem,
  );
}

function codeOf({ problem }: OperationError): string | undefined {
  return (problem as Partial<Problem> | undefined)?.code;
}

function typeOf(tool: Tool | undefined, key: string): unknown {
  return tool === undefined ? undefined : propertiesOf(tool)[key]?.type;
}

function readValue(text: string, type: unknown): unknown {
  return type === "string" ? text : readLoosely(text);
}

function printContent(reply: CallReply, output: string | undefined): void {
  for (const item of reply.result.content) {
    if (item["type"] === "text") print(plainLines(String(item["text"])));
    else if (output === undefined) print(colours.dim(`[${describe(item)}; --output FILE saves it]`));
  }
}

function saveMedia(reply: CallReply, file: string): void {
  const media = reply.result.content.find(({ data }) => typeof data === "string");
  if (media === undefined) throw new OperationError("The result contains no image or audio to save.");
  fs.writeFileSync(file, Buffer.from(String(media["data"]), "base64"));
  complain(`${describe(media)} saved to ${file}`);
}

function describe(item: Record<string, unknown>): string {
  const size =
    typeof item["data"] === "string" ? `, ${Math.ceil((item["data"].length * 3) / 4 / 1024)} KiB` : "";
  return `${String(item["type"])} ${String(item["mimeType"] ?? "")}${size}`;
}

/**
 * The token of `tendon mcp` and of the client snippets. It has the scopes `read` and `call` and is kept in the data
 * folder. The folder's admin token creates it on first use and is used for nothing else.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import type { NewToken, Problem } from "@tendon/protocol";
import { NoGateway, OperationError } from "./errors.ts";
import { GatewayClient } from "./gateway-client.ts";
import { hasGateway, readTarget, type Target, type TargetOptions } from "./target.ts";

export const mcpTokenFile = "mcp-token";

const fileWaitMs = 1_000;
const fileCheckMs = 50;

export interface McpToken {
  readonly token: string;
  /** The file it is kept in; `undefined` for a token that the user passed. */
  readonly file: string | undefined;
}

/** The token for /mcp. A token from `--token` is used as it is, unless it is an admin token. */
export async function mcpToken(options: TargetOptions): Promise<McpToken> {
  const target = readTarget(options);
  const file = path.join(target.dataFolder, fileFor(target));
  const kept = options.token === undefined ? read(file) : undefined;
  // For a remote gateway, a token that the user passed may have fewer rights than the kept one: prefer it.
  const passed = target.own ? undefined : target.token;
  if (kept !== undefined && passed === undefined) return { token: kept, file };
  if (target.token === undefined) {
    // The address may be that of the folder's own gateway, which is not running yet.
    const Fault = hasGateway(target.dataFolder) ? OperationError : NoGateway;
    throw new Fault(
      `No token in ${file}, and no admin token to create one. Pass --token, or --data with the gateway's data folder.`,
    );
  }
  if (!(await mayMakeTokens(target))) return { token: target.token, file: undefined };
  return { token: kept ?? (await make(target, file)), file };
}

/** The token that the data folder has, without creating one. */
export function keptMcpToken(options: TargetOptions): McpToken | undefined {
  const target = readTarget(options);
  const file = path.join(target.dataFolder, fileFor(target));
  const token = read(file);
  return token === undefined ? undefined : { token, file };
}

/** A remote gateway's token is kept under its host, so that no other gateway receives it. */
function fileFor({ own, url }: Target): string {
  return own ? mcpTokenFile : `${mcpTokenFile}-${new URL(url).host.replaceAll(/[^\w.-]/g, "_")}`;
}

async function mayMakeTokens(target: Target): Promise<boolean> {
  try {
    await new GatewayClient(target).get("/tokens");
    return true;
  } catch (error) {
    if (codeOf(error) === "forbidden") return false;
    throw error;
  }
}

async function make(target: Target, file: string): Promise<string> {
  const client = new GatewayClient(target);
  const made = await create(client, file);
  if (typeof made === "string") return made;
  const { id, token } = made;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    // `wx`: when several processes start at once, one writes the file and the others use its token.
    fs.writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
    return token;
  } catch {
    await client.remove(`/tokens/${id}`);
    const theirs = read(file);
    if (theirs === undefined) throw new OperationError(`Cannot write ${file}.`);
    return theirs;
  }
}

/** Names are unique. Another process may be about to write its token `mcp` to the file; another machine has its own file. */
async function create(client: GatewayClient, file: string): Promise<NewToken | string> {
  const named = (name: string) => client.post<NewToken>("/tokens", { name, scopes: ["read", "call"] });
  try {
    return await named("mcp");
  } catch (error) {
    if (codeOf(error) !== "conflict") throw error;
  }
  for (let waited = 0; waited < fileWaitMs; waited += fileCheckMs) {
    const theirs = read(file);
    if (theirs !== undefined) return theirs;
    await setTimeout(fileCheckMs);
  }
  return await named(`mcp-${randomBytes(3).toString("hex")}`);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof OperationError ? (error.problem as Problem | undefined)?.code : undefined;
}

function read(file: string): string | undefined {
  try {
    const text = fs.readFileSync(file, "utf8").trim();
    return text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * The token of `tendon mcp` and of the snippets for clients: one of its own that may look and call, kept in the data
 * folder. Whoever owns the folder has the admin's token, which makes it on first need and is used for nothing else.
 */
import fs from "node:fs";
import path from "node:path";
import type { NewToken, Problem } from "@tendon/protocol";
import { NoGateway, OperationError } from "./errors.ts";
import { GatewayClient } from "./gateway-client.ts";
import { hasGateway, readTarget, type Target, type TargetOptions } from "./target.ts";

export const mcpTokenFile = "mcp-token";

export interface McpToken {
  readonly token: string;
  /** Where it is kept, if it is not one that was handed in. */
  readonly file: string | undefined;
}

/** The token to come in with at /mcp. `--token` is taken as it is, unless it is the admin's. */
export async function mcpToken(options: TargetOptions): Promise<McpToken> {
  const target = readTarget(options);
  const file = path.join(target.dataFolder, fileFor(target));
  const kept = options.token === undefined ? read(file) : undefined;
  // At a gateway elsewhere a token that was handed in may mean somebody with fewer rights than the one kept.
  const asked = target.own ? undefined : target.token;
  if (kept !== undefined && asked === undefined) return { token: kept, file };
  if (target.token === undefined) {
    // Named by a flag, it may yet turn out to be the folder's own, which is not up.
    const Fault = hasGateway(target.dataFolder) ? OperationError : NoGateway;
    throw new Fault(
      `There is no token in ${file}, and none to make one with. Say --token, or --data for the gateway's folder.`,
    );
  }
  if (!(await mayMakeTokens(target))) return { token: target.token, file: undefined };
  return { token: kept ?? (await make(target, file)), file };
}

/** What was made by a gateway elsewhere is kept under its address, and never shown to another. */
function fileFor({ own, url }: Target): string {
  return own ? mcpTokenFile : `${mcpTokenFile}-${new URL(url).host.replaceAll(/[^\w.-]/g, "_")}`;
}

async function mayMakeTokens(target: Target): Promise<boolean> {
  try {
    await new GatewayClient(target).get("/tokens");
    return true;
  } catch (error) {
    const problem = error instanceof OperationError ? (error.problem as Problem | undefined) : undefined;
    if (problem?.code === "forbidden") return false;
    throw error;
  }
}

async function make(target: Target, file: string): Promise<string> {
  const client = new GatewayClient(target);
  const { id, token } = await client.post<NewToken>("/tokens", { name: "mcp", scopes: ["read", "call"] });
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    // `wx`: of several that are started at once, one writes and the others use what it wrote.
    fs.writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
    return token;
  } catch {
    await client.remove(`/tokens/${id}`);
    const theirs = read(file);
    if (theirs === undefined) throw new OperationError(`${file} cannot be written.`);
    return theirs;
  }
}

function read(file: string): string | undefined {
  try {
    const text = fs.readFileSync(file, "utf8").trim();
    return text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}

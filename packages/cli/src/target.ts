/** Which gateway a command talks to, and as whom: flags, then the environment, then the data folder's own word. */
import fs from "node:fs";
import path from "node:path";
import { UsageError } from "./errors.ts";

export interface TargetOptions {
  readonly data?: string | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

export interface Target {
  readonly url: string;
  readonly token: string | undefined;
  readonly dataFolder: string;
  /** Whether somebody named the gateway: a flag, a variable, or the gateway itself in its data folder. */
  readonly named: boolean;
  /** The certificate that the gateway of the data folder serves, a file; only where that is the one meant. */
  readonly certificate: string | undefined;
}

const defaultUrl = "http://127.0.0.1:8000";

export function readTarget(options: TargetOptions, env: NodeJS.ProcessEnv = process.env): Target {
  const dataFolder = options.data ?? env["TENDON_DATA"] ?? "./data";
  const announced = readAnnouncement(dataFolder);
  const named = options.url ?? env["TENDON_URL"] ?? announced?.url;
  const url = (named ?? defaultUrl).replace(/\/+$/, "");
  if (!/^https?:\/\/[^/]/.test(url))
    throw new UsageError(`--url must begin with http:// or https://, got ${url}`);
  return {
    url,
    token: options.token ?? env["TENDON_TOKEN"] ?? readText(path.join(dataFolder, "admin-token")),
    dataFolder,
    named: named !== undefined,
    certificate: url === announced?.url ? announced.certificate : undefined,
  };
}

function readAnnouncement(dataFolder: string): { url: string; certificate: string | undefined } | undefined {
  const text = readText(path.join(dataFolder, "gateway.json"));
  if (text === undefined) return undefined;
  try {
    const { url, certificate } = JSON.parse(text) as { url?: unknown; certificate?: unknown };
    if (typeof url !== "string") return undefined;
    return { url, certificate: typeof certificate === "string" ? certificate : undefined };
  } catch {
    return undefined;
  }
}

function readText(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

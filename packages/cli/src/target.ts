/**
 * Which gateway a command talks to, and as whom: flags, then the environment, then the data folder's own word. There
 * is no address to fall back to: a folder's tokens go only where the living gateway of that folder says that it listens.
 */
import fs from "node:fs";
import path from "node:path";
import { readLivingGateway } from "@tendon/gateway/living-gateway";
import { NoGateway, UsageError } from "./errors.ts";

export interface TargetOptions {
  readonly data?: string | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

export interface Target {
  readonly url: string;
  readonly token: string | undefined;
  readonly dataFolder: string;
  /** Whether it is the gateway of the data folder, which may be given what is kept there. */
  readonly own: boolean;
  /** The certificate that the gateway of the data folder serves, a file; only where that is the one meant. */
  readonly certificate: string | undefined;
  /** What the running gateway of the data folder says of itself; flags and variables of its start are in it. */
  readonly settings: RunningSettings | undefined;
}

export interface RunningSettings {
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly publicUrl?: string;
    readonly trustProxy: boolean;
  };
  readonly mqtt: {
    /** Without user name and password. */
    readonly broker?: string;
    readonly port: number;
    readonly tlsPort?: number;
    readonly publicEndpoint?: string;
  };
  readonly tls: { readonly cert?: string; readonly key?: string };
  readonly devices: { readonly admission: "approve" | "list" | "open" | "closed" };
}

export function dataFolderOf(options: TargetOptions, env: NodeJS.ProcessEnv = process.env): string {
  return options.data ?? env["TENDON_DATA"] ?? "./data";
}

export function readTarget(options: TargetOptions, env: NodeJS.ProcessEnv = process.env): Target {
  const target = findTarget(options, env);
  if (target !== undefined) return target;
  throw noneRuns(dataFolderOf(options, env));
}

/** Said before each request of a command that goes on for long: its gateway may have been killed since. */
export function requireLiving({ own, url, dataFolder }: Target): void {
  if (own && readAnnouncement(dataFolder)?.url !== url) throw noneRuns(dataFolder);
}

function noneRuns(dataFolder: string): NoGateway {
  return new NoGateway(
    `No gateway runs on the data folder ${dataFolder}. Start one with \`tendon serve --data ${dataFolder}\`, ` +
      "name its folder with --data, or a gateway elsewhere with --url and --token.",
  );
}

/** The same; `undefined` where nobody named a gateway: no flag, no variable, and none runs on the data folder. */
export function findTarget(options: TargetOptions, env: NodeJS.ProcessEnv = process.env): Target | undefined {
  const dataFolder = dataFolderOf(options, env);
  const announced = readAnnouncement(dataFolder);
  const url = (options.url ?? env["TENDON_URL"] ?? announced?.url)?.replace(/\/+$/, "");
  if (url === undefined) return undefined;
  if (!/^https?:\/\/[^/]/.test(url))
    throw new UsageError(`--url must begin with http:// or https://, got ${url}`);
  const own = announced !== undefined && url === announced.url;
  const kept = own ? readText(path.join(dataFolder, "admin-token")) : undefined;
  return {
    url,
    token: options.token ?? env["TENDON_TOKEN"] ?? kept,
    dataFolder,
    own,
    certificate: own ? announced.certificate : undefined,
    settings: own ? announced.settings : undefined,
  };
}

export function hasGateway(dataFolder: string): boolean {
  return readAnnouncement(dataFolder) !== undefined;
}

interface Announcement {
  readonly url: string;
  readonly certificate: string | undefined;
  readonly settings: RunningSettings | undefined;
}

function readAnnouncement(dataFolder: string): Announcement | undefined {
  const text = readLivingGateway(dataFolder);
  if (text === undefined) return undefined;
  try {
    const { url, certificate, settings } = JSON.parse(text) as Partial<Announcement>;
    if (typeof url !== "string") return undefined;
    return { url, certificate: typeof certificate === "string" ? certificate : undefined, settings };
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

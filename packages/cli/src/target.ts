/**
 * Which gateway a command uses, and with which token: flags first, then the environment, then the data folder. There is
 * no default address: the tokens of a data folder are only sent to the address that its running gateway announced.
 */
import fs from "node:fs";
import path from "node:path";
import { readRunningGateway } from "@tendon/gateway/running-gateway";
import { NoGateway, UsageError } from "./errors.ts";
import { ownCommand } from "./own-command.ts";

export interface TargetOptions {
  readonly data?: string | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

export interface Target {
  readonly url: string;
  readonly token: string | undefined;
  /** Whether the token is that of the variable TENDON_TOKEN. */
  readonly tokenFromEnvironment?: boolean;
  readonly dataFolder: string;
  /** Whether it is the gateway of the data folder, which may receive the tokens kept there. */
  readonly own: boolean;
  /** File of the certificate that the gateway serves; only for the gateway of the data folder. */
  readonly certificate: string | undefined;
  /** The settings that the data folder's gateway runs with, including its flags and environment variables. */
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
    readonly port: number | "off";
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
  throw notRunning(dataFolderOf(options, env));
}

/** Checked before each request, because the gateway may have ended since the command started. */
export function requireRunning({ own, url, dataFolder }: Target): void {
  if (own && readAnnouncement(dataFolder)?.url !== url) throw notRunning(dataFolder);
}

function notRunning(dataFolder: string): NoGateway {
  return new NoGateway(
    `No gateway is running with the data folder ${dataFolder}. Start one with \`${ownCommand()} serve --data ${dataFolder}\`, ` +
      "pass another data folder with --data, or a remote gateway with --url and --token.",
  );
}

/** Like `readTarget`, but `undefined` where no flag or variable names a gateway and none runs with the data folder. */
export function findTarget(options: TargetOptions, env: NodeJS.ProcessEnv = process.env): Target | undefined {
  const dataFolder = dataFolderOf(options, env);
  const announced = readAnnouncement(dataFolder);
  const url = (options.url ?? env["TENDON_URL"] ?? announced?.url)?.replace(/\/+$/, "");
  if (url === undefined) return undefined;
  if (!/^https?:\/\/[^/]/.test(url))
    throw new UsageError(`--url must start with http:// or https://, got ${url}`);
  const own = announced !== undefined && url === announced.url;
  const kept = own ? readText(path.join(dataFolder, "admin-token")) : undefined;
  return {
    url,
    token: options.token ?? env["TENDON_TOKEN"] ?? kept,
    tokenFromEnvironment: options.token === undefined && env["TENDON_TOKEN"] !== undefined,
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
  const text = readRunningGateway(dataFolder);
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

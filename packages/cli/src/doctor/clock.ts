import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Finding, fine, warning } from "./finding.ts";

export interface OtherClocks {
  /** How far each clock is ahead of this machine's; `undefined` if unknown. */
  readonly gatewayMs: number | undefined;
  readonly databaseMs: number | undefined;
  readonly dataFolder: string;
}

/** HTTP dates have whole seconds, and the response takes time. */
const gatewayToleranceMs = 5_000;
const databaseToleranceMs = 2_000;
const fileToleranceMs = 60_000;

/**
 * Asks no time server. It looks for contradictions instead: files with future dates, a program built in the future, and
 * the clocks of the gateway and the database, which are contacted anyway.
 */
export function checkClock({ gatewayMs, databaseMs, dataFolder }: OtherClocks): Finding[] {
  const check = "clock";
  const found: string[] = [];
  if (gatewayMs !== undefined && Math.abs(gatewayMs) > gatewayToleranceMs)
    found.push(`the gateway's clock is ${apart(gatewayMs)} of this machine's`);
  if (databaseMs !== undefined && Math.abs(databaseMs) > databaseToleranceMs)
    found.push(`the database's clock is ${apart(databaseMs)} of this machine's`);
  const newest = newestFile(dataFolder);
  if (newest !== undefined && newest.at > Date.now() + fileToleranceMs)
    found.push(`${newest.name} in the data folder is dated ${ahead(newest.at)} in the future`);
  const built = fs.statSync(fileURLToPath(import.meta.url)).mtimeMs;
  if (built > Date.now() + fileToleranceMs)
    found.push(`this program's build date is ${ahead(built)} in the future`);
  if (found.length === 0) {
    return [
      fine(check, `${new Date().toISOString()}, with no sign that it is wrong (no time server was asked)`),
    ];
  }
  return [
    warning(check, {
      message: found.join("; "),
      why: "boards take the time from the gateway, and certificates, codes and tokens expire by it",
      todo: "set the clock and enable NTP (timedatectl set-ntp true)",
    }),
  ];
}

function newestFile(folder: string): { readonly name: string; readonly at: number } | undefined {
  try {
    const files = fs.readdirSync(folder).map((name) => {
      const found = fs.statSync(path.join(folder, name), { throwIfNoEntry: false });
      return { name, at: found?.mtimeMs ?? 0 };
    });
    return files.sort((a, b) => b.at - a.at)[0];
  } catch {
    // The folder is missing or is not a folder: `checkDataFolder` reports that.
    return undefined;
  }
}

function apart(ms: number): string {
  return `${duration(Math.abs(ms))} ${ms > 0 ? "ahead" : "behind"}`;
}

function ahead(at: number): string {
  return duration(at - Date.now());
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Finding, fine, warning } from "./finding.ts";

export interface OtherClocks {
  /** How far each of them is ahead of ours, where it could be asked. */
  readonly gatewayMs: number | undefined;
  readonly databaseMs: number | undefined;
  readonly dataFolder: string;
}

/** Dates in HTTP have whole seconds, and an answer takes its time. */
const gatewayToleranceMs = 5_000;
const databaseToleranceMs = 2_000;
const fileToleranceMs = 60_000;

/**
 * Nobody outside is asked for the time. What can be seen from here are contradictions: files from the future, a
 * program that is newer than today, another clock that we talk to anyway.
 */
export function checkClock({ gatewayMs, databaseMs, dataFolder }: OtherClocks): Finding[] {
  const check = "clock";
  const found: string[] = [];
  if (gatewayMs !== undefined && Math.abs(gatewayMs) > gatewayToleranceMs)
    found.push(`the gateway's clock is ${apart(gatewayMs)} of ours`);
  if (databaseMs !== undefined && Math.abs(databaseMs) > databaseToleranceMs)
    found.push(`the database's clock is ${apart(databaseMs)} of ours`);
  const newest = newestFile(dataFolder);
  if (newest !== undefined && newest.at > Date.now() + fileToleranceMs)
    found.push(`${newest.name} in the data folder was written ${ahead(newest.at)} from now`);
  const built = fs.statSync(fileURLToPath(import.meta.url)).mtimeMs;
  if (built > Date.now() + fileToleranceMs) found.push(`this program was built ${ahead(built)} from now`);
  if (found.length === 0) {
    return [
      fine(check, `${new Date().toISOString()}; nothing here contradicts it (no outside clock is asked)`),
    ];
  }
  return [
    warning(check, {
      message: found.join("; "),
      why: "boards take their time from the gateway; certificates, codes and tokens end by it",
      todo: "set the clock, and let NTP keep it (timedatectl set-ntp true)",
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
    // Not made yet, or no folder: another check says so.
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

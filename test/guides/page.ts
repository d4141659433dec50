/**
 * A guide as its reader types it in: fenced blocks in their order, each with what the comment above it says.
 *
 *   <!-- not run: needs a real board -->       it is shown only, for this reason
 *   <!-- printed by the command above -->      the output of the last command before it, compared in form
 *   <!-- file: fleet.csv -->                   the reader saves it under this name
 *   <!-- one at a time -->                     each command that goes on is ended before the next one
 *
 * Readers do not see such comments.
 */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

export interface Block {
  /** Where it begins, such as `docs/guides/access.md:74`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
  readonly notRun?: string;
  readonly printed?: true;
  readonly file?: string;
  readonly oneAtATime?: true;
}

export class GuideError extends Error {}

const fence = /^```(\S*)\s*$/;
const comment = /^<!-- (.*) -->$/;

export function readPage(page: string): Block[] {
  const lines = fs.readFileSync(path.join(root, page), "utf8").split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, language] = fence.exec(lines[at] ?? "") ?? [];
    if (language === undefined) continue;
    const place = `${page}:${at + 1}`;
    const end = lines.indexOf("```", at + 1);
    if (end < 0) throw new GuideError(`${place}: the block does not end`);
    const [, words] = comment.exec(lines[at - 1] ?? "") ?? [];
    blocks.push({ place, language, text: lines.slice(at + 1, end).join("\n"), ...meaningOf(words, place) });
    at = end;
  }
  return blocks;
}

function meaningOf(words: string | undefined, place: string): Partial<Block> {
  if (words === undefined) return {};
  if (words === "printed by the command above") return { printed: true };
  if (words === "one at a time") return { oneAtATime: true };
  const [, notRun] = /^not run: (\S.*)$/.exec(words) ?? [];
  if (notRun !== undefined) return { notRun };
  const [, file] = /^file: ([\w./-]+)$/.exec(words) ?? [];
  if (file !== undefined) return { file };
  throw new GuideError(`${place}: <!-- ${words} --> says nothing that page.ts knows`);
}

export interface Step {
  readonly command: string;
  /** What the guide shows below it; `undefined` where it shows nothing. */
  readonly shown: string | undefined;
}

/** The commands of a `console` block with what they print, or those of an `sh` block. */
export function stepsOf({ language, text, place }: Block): Step[] {
  if (language === "sh") return joined(text.split("\n")).map((command) => ({ command, shown: undefined }));
  const parts = text.split(/^\$ /m);
  if (parts.shift()?.trim() !== "") throw new GuideError(`${place}: a console block begins with \`$ \``);
  return parts.map((part) => {
    const [command = "", ...output] = joined(part.trimEnd().split("\n"), 1);
    return { command, shown: output.length === 0 ? undefined : output.join("\n") };
  });
}

/** Lines that end in a backslash go on in the next; in the first `most` commands, or everywhere. */
function joined(lines: readonly string[], most = Number.POSITIVE_INFINITY): string[] {
  const commands: string[] = [];
  let goesOn = false;
  for (const line of lines) {
    if (goesOn) commands.push(`${commands.pop() ?? ""}\n${line}`);
    else if (line.trim() !== "" || commands.length >= most) commands.push(line);
    goesOn = commands.length <= most && line.endsWith("\\");
  }
  return commands;
}

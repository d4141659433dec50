import fs from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ownCommand } from "../src/own-command.ts";
import { bin, temporaryFolder } from "./run-tendon.ts";

/** A folder in which `place` leads to `target`. */
function folderWith(place: string, target: string): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const file = path.join(folder.path, place);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.symlinkSync(target, file);
  return folder.path;
}

it("is npx in an installation and below it, the name on the PATH, and otherwise the file", () => {
  const installed = folderWith("node_modules/.bin/tendon", bin);
  const onPath = folderWith("tendon", bin);
  fs.mkdirSync(path.join(installed, "inner"));
  expect(ownCommand(installed, {})).toBe("npx tendon");
  expect(ownCommand(path.join(installed, "inner"), { PATH: onPath })).toBe("npx tendon");
  expect(ownCommand(onPath, { PATH: `/usr/bin${path.delimiter}${onPath}` })).toBe("tendon");
  expect(ownCommand(onPath, { PATH: "" })).toBe(`node ${bin}`);
});

it("is never another package of the same name", () => {
  const other = folderWith("node_modules/.bin/tendon", process.execPath);
  expect(ownCommand(other, { PATH: path.join(other, "node_modules", ".bin") })).toBe(`node ${bin}`);
});

import { expect, it } from "vitest";
import { storageRemedy } from "../src/errors.ts";

it.each([
  [{ code: "ENOSPC" }, "The disk is full: free some space"],
  [new Error("database or disk is full"), "The disk is full: free some space"],
  [{ code: "ENOTDIR" }, "A file has this name: move it away"],
  [{ code: "EROFS" }, "The disk is mounted read-only: mount it writable"],
  [{ code: "EACCES" }, "Fix its permissions"],
])("says what to do about %j", (error, remedy) => {
  expect(storageRemedy(error)).toBe(remedy);
});

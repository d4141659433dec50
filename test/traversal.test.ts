/** Paths that try to leave their folder, on every address that serves files. */
import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askAll } from "./http-client.ts";
import { adminToken, type Site, startSite } from "./site.ts";

const climbs = [
  "../",
  "..%2f",
  "%2e%2e/",
  "%2e%2e%2f",
  "..%5c",
  "..\\",
  "....//",
  "%252e%252e%252f",
  "..%c0%af",
  "..;/",
  "%00../",
];
const servers = [
  "/assets/",
  "/docs/",
  "/docs/static/",
  "/api/v1/firmware/",
  "/api/v1/calls/",
  "/xiaozhi/firmware/",
  "/xiaozhi/ota/",
  "/",
];
const files = ["device-secret", "tendon.db", "etc/passwd"];

/** Texts of these files, none of which may appear in an answer. */
function secretsOf(site: Site): string[] {
  const own = ["device-secret", "gateway.json"].map((name) =>
    fs.readFileSync(path.join(site.folder, name), "utf8"),
  );
  return [...own.map((text) => text.trim()), "SQLite format 3", "root:x:0:0"];
}

describe("a path that climbs out of its folder", () => {
  let site: Site;

  beforeAll(async () => {
    site = await startSite();
  });

  afterAll(() => site.stop());

  it.each(servers)("gets no file at %s", async (at) => {
    const secrets = secretsOf(site);
    const headers = { authorization: `Bearer ${adminToken}` };
    const paths = climbs.flatMap((climb) =>
      [1, 5].flatMap((depth) => files.map((file) => at + climb.repeat(depth) + file)),
    );
    const answers = await Promise.all(paths.map((path) => askAll(site.url, { path, headers })));
    expect(answers.length).toBe(climbs.length * files.length * 2);
    for (const [index, { status, text }] of answers.entries()) {
      expect([400, 401, 404, 405], paths[index]).toContain(status);
      expect(
        secrets.filter((secret) => text.includes(secret)),
        paths[index],
      ).toEqual([]);
    }
  });
});

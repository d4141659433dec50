/** A misspelt query parameter is an error: ignored, it would delete less or list more than the caller asked for. */
import { describe, expect, it } from "vitest";
import { adminToken, firstDevice, openSite } from "./site.ts";

describe("an unknown query parameter", () => {
  it("is rejected by every route of the REST interface", async () => {
    const site = await openSite();
    const { body } = await site.rest("GET", "/openapi.json");
    const accepted: string[] = [];
    for (const [path, methods] of Object.entries(body["paths"] as Record<string, object>)) {
      const at = path.replace("/api/v1", "").replaceAll(/\{[^}]+\}/g, "x");
      for (const method of Object.keys(methods)) {
        const answer = await site.rest(method.toUpperCase(), `${at}?nonsense=1`);
        const { code, detail } = answer.body;
        if (answer.status !== 400 || code !== "bad_request" || !String(detail).includes("`nonsense`"))
          accepted.push(`${method} ${path}: ${answer.text}`);
      }
    }
    expect(accepted).toEqual([]);
  });

  it("is named with the known ones, and with the one that was meant", async () => {
    const site = await openSite();
    const { status, headers, body } = await site.rest("GET", "/calls?deivce=slow&limit=5");
    expect(status).toBe(400);
    expect(headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(body).toMatchObject({
      code: "bad_request",
      detail:
        "there is no query parameter `deivce`; did you mean `device`? Known are `state`, `device`, `tool`, `principal`, " +
        "`outcome`, `since`, `limit`, `cursor`, `automatic` and `preview`",
      errors: [{ path: "/deivce", message: "is not a known query parameter" }],
    });
  });

  it("keeps a deletion from happening", async () => {
    const site = await openSite();
    await site.join({ tools: [] });
    const misspelt = await site.rest("DELETE", `/devices/${firstDevice}?histroy=true`);
    expect(misspelt.status).toBe(400);
    expect(misspelt.body["detail"]).toContain("did you mean `history`?");
    expect((await site.rest("GET", `/devices/${firstDevice}`)).status).toBe(200);
    expect((await site.rest("DELETE", `/devices/${firstDevice}?history=true`)).status).toBe(204);
  });

  it("says so at an address that takes none, and never repeats a value", async () => {
    const site = await openSite();
    const { body, text } = await site.rest("GET", `/tokens?token=${adminToken}`);
    expect(body["detail"]).toBe("there is no query parameter `token`; this address takes none");
    expect(text).not.toContain(adminToken);
  });

  it("is shortened in the error", async () => {
    const site = await openSite();
    const { body } = await site.rest("GET", `/tokens?${"x".repeat(500)}=1`);
    expect(String(body["detail"]).length).toBeLessThan(150);
  });

  it("is not looked at before the token", async () => {
    const site = await openSite();
    const headers = { authorization: "Bearer wrong" };
    expect((await site.rest("GET", "/calls?deivce=slow", undefined, headers)).status).toBe(401);
  });

  it("has the form of a device_control reply where every answer has it", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/devices/x/control?wait=1", { action: "mute" });
    expect(body).toMatchObject({ type: "device_control_response", ok: false, code: "bad_request" });
  });
});

import { StartError, startTendon } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { askAll, asObject } from "./http-client.ts";
import { RawDevice } from "./raw-device.ts";
import { adminToken, firstDevice, openSite, type Site } from "./site.ts";
import { Refused, WebSocketWire } from "./websocket-wire.ts";

const clientId = "0b7c1a5e-0000-4000-8000-000000000001";

/** The gateway's answer to the upgrade: 101 and a hello, or a rejection. */
async function knock(site: Site, headers: Record<string, string>, path?: string): Promise<Refused | "in"> {
  try {
    const wire = await WebSocketWire.open(site.url, { headers, ...(path === undefined ? {} : { path }) });
    await new RawDevice(wire, firstDevice).greet({ type: "hello" });
    wire.cut();
    return "in";
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}

function codeOf(answer: Refused | "in"): unknown {
  return answer === "in" ? "in" : asObject(answer.body)["code"];
}

describe("admission", () => {
  it.each(["approve", "closed"] as const)(
    "[DEV-7] %s rejects a device that is not provisioned, in the HTTP answer",
    async (admission) => {
      const site = await openSite({ config: { devices: { admission } } });
      const answer = await knock(site, { "Device-Id": firstDevice, "Client-Id": clientId });
      expect(answer).toMatchObject({ status: 403, contentType: "application/problem+json" });
      expect(codeOf(answer)).toBe("forbidden");
      expect((await site.rest("GET", `/devices/${firstDevice}`)).status).toBe(404);
      expect(await site.metric('tendon_connections_refused_total{code="forbidden"}')).toBe(1);
    },
  );

  it.each(["approve", "closed", "open"] as const)(
    "[DEV-7] %s accepts a provisioned pair only with its own token",
    async (admission) => {
      const site = await openSite({ config: { devices: { admission } } });
      const made = await site.rest("POST", "/devices/provision", { id: "02-00-00-00-00-01", clientId });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({ id: firstDevice, websocket: { version: 1 } });
      const { token } = made.body["websocket"] as { token: string };
      const pair = { "Device-Id": firstDevice, "Client-Id": clientId };
      expect(codeOf(await knock(site, { ...pair, Authorization: `Bearer ${token}` }))).toBe("in");
      expect(codeOf(await knock(site, { ...pair, Authorization: token }))).toBe("in");
      const wrong = [
        pair,
        { ...pair, Authorization: "Bearer wrong" },
        { ...pair, Authorization: `Bearer ${token}x` },
        { ...pair, Authorization: `Bearer ${adminToken}` },
        { ...pair, "Client-Id": "another-client", Authorization: `Bearer ${token}` },
        { "Device-Id": firstDevice, Authorization: `Bearer ${token}` },
      ];
      for (const headers of wrong) {
        const answer = await knock(site, headers);
        expect(answer).toMatchObject({ status: 401 });
        expect(codeOf(answer)).toBe("unauthenticated");
      }
      const other = {
        "Device-Id": "02:00:00:00:00:02",
        "Client-Id": clientId,
        Authorization: `Bearer ${token}`,
      };
      expect(codeOf(await knock(site, other))).toBe(admission === "open" ? "in" : "forbidden");
    },
  );

  it("[DEV-7] provisioning a pair again changes nothing, another Client-Id replaces it", async () => {
    const site = await openSite({ config: { devices: { admission: "approve" } } });
    const knockAs = async (client: string, token: string) =>
      codeOf(
        await knock(site, {
          "Device-Id": firstDevice,
          "Client-Id": client,
          Authorization: `Bearer ${token}`,
        }),
      );
    const first = site.tendon.provision(firstDevice, clientId).websocket.token;
    const again = site.tendon.provision(firstDevice, clientId).websocket.token;
    expect(await knockAs(clientId, first)).toBe("in");
    expect(await knockAs(clientId, again)).toBe("in");
    const other = site.tendon.provision(firstDevice, "another-board").websocket.token;
    expect(await knockAs(clientId, first)).toBe("unauthenticated");
    expect(await knockAs("another-board", first)).toBe("unauthenticated");
    expect(await knockAs("another-board", other)).toBe("in");
  });

  it.each([
    ["no token", {}],
    ["any token", { Authorization: "Bearer whatever" }],
    ["an odd header", { Authorization: "Basic dTpw" }],
    ["a host without a port", { Host: "192.168.1.5" }],
    ["a host that is not ours", { Host: "tendon.example" }],
    ["a path without a slash at the end", {}, "/xiaozhi/v1"],
    ["a query", {}, "/xiaozhi/v1/?from=factory"],
  ])("[DEV-6] open accepts an unknown device with %s", async (_, headers, path?: string) => {
    const site = await openSite();
    const given = { "Device-Id": firstDevice, "Client-Id": clientId, ...headers };
    expect(await knock(site, given, path)).toBe("in");
  });

  it.each([
    ["no Device-Id", { "Client-Id": clientId }],
    ["an empty Device-Id", { "Device-Id": "", "Client-Id": clientId }],
    ["a Device-Id with a space", { "Device-Id": "two words", "Client-Id": clientId }],
    ["a Device-Id that is a path", { "Device-Id": "../../etc", "Client-Id": clientId }],
    ["a Device-Id of 65 characters", { "Device-Id": "x".repeat(65), "Client-Id": clientId }],
    ["a Client-Id of 129 characters", { "Device-Id": firstDevice, "Client-Id": "x".repeat(129) }],
  ])("[DEV-6] %s is a bad request", async (_, headers) => {
    const site = await openSite();
    const answer = await knock(site, headers);
    expect(answer).toMatchObject({ status: 400 });
    expect(codeOf(answer)).toBe("bad_request");
  });

  it("[DEV-6] upgrades no other path, and serves no page at the device path", async () => {
    const site = await openSite();
    const headers = { "Device-Id": firstDevice, "Client-Id": clientId };
    expect(await knock(site, headers, "/api/v1/devices")).toMatchObject({ status: 404 });
    expect((await askAll(site.url, { path: "/xiaozhi/v1/" })).status).toBe(404);
  });

  it("open is rejected beyond loopback without allowOpen", async () => {
    const settings = { http: { host: "0.0.0.0", port: 0 }, devices: { admission: "open" as const } };
    const refused = await startTendon(settings, { adminToken }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StartError);
    expect((refused as StartError).message).toContain("--allow-open");
  });
});

/** The interfaces for calls, each with the same kind of answer: `ok` or the error code. */
import { expect } from "vitest";
import type { Json } from "../http-client.ts";
import { MqttApp } from "../mqtt-app.ts";
import type { Fields } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { as } from "./tokens.ts";

interface Outcome {
  readonly code: string;
  readonly approvalId: string | undefined;
}

export type Interface = (device: string, tool: string, args: Fields) => Promise<Outcome>;

type Body = { readonly [key: string]: Json };

/** All interfaces for one token, by name. */
export async function openInterfaces(site: Site, token: string): Promise<ReadonlyMap<string, Interface>> {
  const post = async (at: string, body: unknown) => await site.rest("POST", at, body, as(token));
  const app = await MqttApp.open(site, { token });
  await app.wire.subscribe("tendon/#");
  const functionCall = (name: string, args: Fields) => ({ function_call: { name, arguments: args } });
  return new Map<string, Interface>([
    [
      "REST call",
      async (device, tool, args) => {
        const { status, body } = await post(`/devices/${device}/tools/${tool}/call`, { arguments: args });
        const outcome = ofProblem(body);
        if (outcome.code === "approval_required" || outcome.code === "forbidden") expect(status).toBe(403);
        return outcome;
      },
    ],
    [
      "MQTT call",
      async (device, tool, args) => {
        const answer = await app.ask(`tendon/devices/${device}/call`, { tool, arguments: args });
        return answer["ok"] === true ? fine : ofProblem(answer["error"] as Body);
      },
    ],
    [
      "REST control",
      async (device, tool, args) =>
        ofControl((await post(`/devices/${device}/control`, functionCall(tool, args))).body),
    ],
    [
      "MQTT control",
      async (device, tool, args) =>
        ofControl(await app.ask(`tendon/devices/${device}/control`, functionCall(tool, args))),
    ],
    [
      "MQTT control by name",
      async (device, tool, args) =>
        ofControl(await app.ask("tendon/control", { device, ...functionCall(tool, args) })),
    ],
    [
      "raw JSON-RPC",
      async (device, tool, args) => {
        const params = { name: tool, arguments: args };
        const { body } = await post(`/devices/${device}/mcp`, {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params,
        });
        const error = body["error"] as { data: Body } | undefined;
        return error === undefined ? ofProblem(body) : ofProblem(error.data);
      },
    ],
    [
      "fan-out",
      async (device, tool, args) => {
        const { body } = await post("/calls", { target: { devices: [device] }, tool, arguments: args });
        const [result] = (body["results"] ?? []) as { ok: boolean; error?: Body }[];
        return result?.error === undefined ? ofProblem(body) : ofProblem(result.error);
      },
    ],
  ]);
}

const fine: Outcome = { code: "ok", approvalId: undefined };

function ofProblem({ code, approvalId }: Body): Outcome {
  return { code: typeof code === "string" ? code : "ok", approvalId: textOf(approvalId) };
}

function ofControl(body: Body): Outcome {
  return body["ok"] === true ? fine : ofProblem(body);
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

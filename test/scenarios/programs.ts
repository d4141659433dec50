import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { eras, openAgent } from "../mcp/agent.ts";
import type { Fields } from "../raw-device.ts";
import type { Site } from "../site.ts";
import type { Program, ProgramHost } from "./program-host.ts";

/** Where scenarios run: the program belongs to one gateway, calls go to another, and reads to a third. Or all to one. */
export interface Places {
  readonly holder: Site;
  readonly entrance: Site;
  readonly lookout: Site;
}

/** What holds for a program as a device, of every kind. The settings need quarantine, and `confirm` for the tool `grow`. */
export function programScenarios(host: ProgramHost, places: () => Promise<Places>): void {
  async function joined(): Promise<Places & { program: Program }> {
    const all = await places();
    const program = await host.start(all.holder);
    onTestFinished(async () => {
      await program.drop();
      await all.entrance.rest("DELETE", "/devices/program");
      for (const site of Object.values(all) as Site[])
        await until(async () => (await site.rest("GET", "/devices/program")).status === 404, "its end");
    });
    await online(all);
    return { ...all, program };
  }

  async function online(all: Places, state = true): Promise<void> {
    for (const site of [all.holder, all.entrance, all.lookout]) {
      await until(async () => (await site.device("program"))["online"] === state, `online: ${state}`);
      // A node reads the tools when the one that holds the device has stored them.
      if (state) await until(async () => (await site.toolNames("program")).includes("echo"), "its tools");
    }
  }

  const echo = async (site: Site, text: string) => (await site.call("program", "echo", { text })).body;
  const text = (body: Fields) => (body["result"] as { content: { text: string }[] }).content[0]?.text;

  describe("a call", () => {
    it("[RPC-3] is answered, and its arguments are checked before it is sent", async () => {
      const { entrance, lookout, program } = await joined();
      expect(await lookout.device("program")).toMatchObject({ kind: host.kind, transport: host.kind });
      expect(text(await echo(entrance, "灯"))).toBe("灯");
      expect((await entrance.call("program", "echo", { text: 7 })).body).toMatchObject({
        code: "arguments_invalid",
      });
      expect(program.tools.runs.get("echo")).toBe(1);
      const { body } = await entrance.call("program", "no_such_tool");
      expect(body["code"]).toBe("tool_unknown");
    });

    it("fails with the error of the program, as a result or as a JSON-RPC error", async () => {
      const { entrance } = await joined();
      const { body } = await entrance.call("program", "fail");
      expect(body["result"]).toMatchObject({ isError: true, content: [{ text: "the bulb is broken" }] });
      expect((await entrance.call("program", "error")).body).toMatchObject({
        code: "device_error",
        detail: expect.stringContaining("the bulb is missing"),
      });
      expect(text(await echo(entrance, "next"))).toBe("next");
    });

    it("ends at its deadline, and the program is told", async () => {
      const { entrance, program } = await joined();
      const { body } = await entrance.call("program", "wait", {}, { timeoutMs: 100 });
      expect(body).toMatchObject({ code: "device_timeout", phase: "device" });
      await until(() => program.tools.cancelled === 1, "the cancellation");
      expect(text(await echo(entrance, "next"))).toBe("next");
    });

    it("[CALL-4] fails at once when the program ends, whether it was sent or not", async () => {
      const { entrance, lookout, program, ...rest } = await joined();
      const sent = entrance.call("program", "wait");
      await until(() => program.tools.runs.get("wait") === 1, "the call");
      const waiting = [echo(entrance, "a"), echo(entrance, "b")];
      await until(async () => (await lookout.device("program"))["queuedCalls"] === 2, "queued calls");
      await program.drop();
      expect((await sent).body).toMatchObject({ code: "device_disconnected", sent: true });
      for (const body of await Promise.all(waiting))
        expect(body).toMatchObject({ code: "device_disconnected", sent: false });
      await online({ entrance, lookout, holder: rest.holder }, false);
      expect(await echo(entrance, "c")).toMatchObject({ code: "device_offline" });
      await program.comeBack(rest.holder);
      await online({ entrance, lookout, holder: rest.holder });
      expect(text(await echo(entrance, "d"))).toBe("d");
    });

    it("[QUE-1] waits for a program that is away, and runs once when it is back", async () => {
      const all = await joined();
      const { entrance, lookout, program } = all;
      await program.drop();
      await online(all, false);
      const queued = await entrance.call("program", "lamp.set", { on: true }, { whenOffline: "queue" });
      expect([queued.status, queued.body["state"]]).toEqual([202, "queued"]);
      await program.comeBack(all.holder);
      await online(all);
      const finished = await until(async () => {
        const { body } = await lookout.rest("GET", `/calls/${String(queued.body["callId"])}`);
        return body["state"] === "finished" && body;
      }, "the queued call");
      expect(finished["outcome"]).toBe("ok");
      expect(text((await entrance.call("program", "lamp.get")).body)).toBe("the lamp is on");
    });

    it("needs the approval that a rule asks for", async () => {
      const { entrance, program } = await joined();
      const { body } = await entrance.rest("POST", "/tokens", {
        name: `agent-${Math.random()}`,
        scopes: ["read", "call"],
      });
      const authorization = { authorization: `Bearer ${String(body["token"])}` };
      const refused = await entrance.rest("POST", "/devices/program/tools/grow/call", {}, authorization);
      expect(refused.body["code"]).toBe("approval_required");
      expect(program.tools.runs.get("grow")).toBeUndefined();
    });
  });

  describe("a changed tool", () => {
    it("is in quarantine until it is accepted", async () => {
      const { entrance, lookout } = await joined();
      await entrance.call("program", "change");
      await until(async () => (await echo(entrance, "a"))["code"] === "forbidden", "the quarantine");
      const [change] = await until(async () => {
        const { body } = await lookout.rest("GET", "/devices/program/changes");
        const changes = body["changes"] as Fields[];
        return changes.length > 0 && changes;
      }, "the change at another node");
      expect(change).toMatchObject({ tool: "echo", what: ["description"], quarantined: true });
      const { digest } = (change?.["after"] ?? {}) as Fields;
      const accepted = await entrance.rest("POST", "/devices/program/tools/echo/accept", { digest });
      expect(accepted.body["changes"]).toEqual([]);
      const answered = await until(async () => {
        const answer = await echo(entrance, "b");
        return "result" in answer && answer;
      }, "the end of it");
      expect(text(answered)).toBe("b");
    });
  });

  describe("its own address", () => {
    it.each(eras)("[PRC-9] has the program's own tools, progress and questions (%s)", async (era) => {
      const { entrance } = await joined();
      const at = "/mcp/devices/program";
      const agent = await openAgent(entrance, era, { at, capabilities: { elicitation: { form: {} } } });
      agent.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
      const { tools } = await agent.listTools();
      expect(tools.map(({ name }) => name)).toContain("echo");
      expect(await agent.callTool({ name: "ask" })).toMatchObject({ content: [{ text: "accept Ada" }] });
      const seen: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
      await agent.callTool({ name: "count", arguments: { to: 3 } }, { onprogress });
      expect(seen).toEqual([1, 2, 3]);
    });
  });
}

import { describe, expect, it } from "vitest";
import type { Ruling } from "../../src/access/policy.ts";
import type { Principal } from "../../src/access/principal.ts";
import { type ApprovalRequest, Approvals, type Confirm } from "../../src/calls/approvals.ts";
import { elicitationFor } from "../../src/calls/call-approval.ts";
import { Databases } from "../store/databases.ts";

const principal: Principal = { id: "t1", name: "agent", scopes: new Set(["call"]), devices: undefined };
const owner: Principal = { id: "t2", name: "owner", scopes: new Set(["call:user"]), devices: undefined };
const question: ApprovalRequest = {
  principal,
  device: "02:00:00:00:00:01",
  targets: undefined,
  tool: "set",
  arguments: { level: 1 },
  schemaDigest: "s1",
  reason: "because",
};
const request = { device: "02:00:00:00:00:01", tool: "set", arguments: { level: 1 }, reason: "because" };

function ruling(change: { elevated?: boolean; queueOnly?: boolean } = {}): Ruling {
  const { elevated = false, queueOnly = false } = change;
  return {
    confirm: { effect: "confirm", queueOnly, reason: "because", byRule: true },
    elevated,
    malformed: [],
  };
}

describe("[APR-7] the caller's user", () => {
  const databases = new Databases("sqlite");

  async function open() {
    const { store, clock } = await databases.open();
    const events = { approvalRequested: () => undefined, approvalDecided: () => undefined };
    const approvals = new Approvals({
      store,
      clock,
      events: events as unknown as ConstructorParameters<typeof Approvals>[0]["events"],
      run: "this-run",
      visible: () => true,
      nameOf: (id) => id,
    });
    const asked: unknown[] = [];
    const grant = async (answer: Awaited<ReturnType<Confirm>> | "silence", given = ruling()) => {
      const confirm: Confirm = (what) => {
        asked.push(what);
        return answer === "silence" ? new Promise(() => undefined) : Promise.resolve(answer);
      };
      const way = elicitationFor([given], confirm, () => ({
        clock,
        request,
        deadline: { timeoutMs: 1_000 },
      }));
      try {
        return await (await approvals.grant(question, way)).use();
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    return { store, clock, approvals, asked, grant };
  }

  const waiting = async (approvals: Approvals) =>
    (await approvals.list(owner, { state: "waiting" })).approvals.map(({ id }) => id);

  it("allows the call, and no approval is queued", async () => {
    const { approvals, asked, grant } = await open();
    expect(await grant("accept")).toBe("elicited");
    expect(asked).toEqual([{ ...request, binding: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    expect(await grant("accept")).toBe("elicited");
    expect(asked[1]).toEqual(asked[0]);
    expect(await waiting(approvals)).toEqual([]);
  });

  it("declines, and the call is denied", async () => {
    const { approvals, grant } = await open();
    expect(await grant("decline")).toBe("forbidden");
    expect(await waiting(approvals)).toEqual([]);
  });

  it("does not answer in time, and an approval is queued", async () => {
    const { clock, approvals, asked, grant } = await open();
    expect(await grant("unavailable")).toBe("approval_required");
    const silent = grant("silence");
    await expect.poll(() => asked.length).toBe(2);
    clock.advance(1_000);
    expect(await silent).toBe("approval_required");
    expect(await waiting(approvals)).toHaveLength(1);
  });

  it.each([{ queueOnly: true }, { elevated: true }])("is not asked when %j", async (change) => {
    const { approvals, asked, grant } = await open();
    expect(await grant("accept", ruling(change))).toBe("approval_required");
    expect(asked).toEqual([]);
    expect(await waiting(approvals)).toHaveLength(1);
  });

  it("is not asked about a call that was approved or denied in the queue", async () => {
    const { approvals, asked, grant } = await open();
    await grant("unavailable");
    const [id = ""] = await waiting(approvals);
    await approvals.decide(owner, id, true);
    expect(await grant("decline")).toBe(id);
    await grant("unavailable");
    const [other = ""] = await waiting(approvals);
    await approvals.decide(owner, other, false);
    expect(await grant("accept")).toBe("approval_required");
    expect(asked).toHaveLength(2);
  });

  it("fails the call with the error of the question", async () => {
    const { approvals, clock } = await open();
    const timers = clock.pending;
    const broken: Confirm = () => Promise.reject(new TypeError("the line broke"));
    const way = elicitationFor([ruling()], broken, () => ({
      clock,
      request,
      deadline: { timeoutMs: 1_000 },
    }));
    await expect(approvals.grant(question, way)).rejects.toThrow("the line broke");
    expect(clock.pending).toBe(timers);
  });
});

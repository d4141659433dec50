/**
 * Task ids. An id names its work and is signed for one principal, so that it cannot be guessed or used by another
 * token. The gateway stores nothing for it: every node can read it, also after a restart [SRV-19].
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { QueuedReply } from "@tendon/protocol";

/** `call`: a queued call or one that runs in the background. `job`: a fan-out. `kept`: a result in the memory of this node. */
type TaskKind = "call" | "job" | "kept";

export interface TaskWork {
  readonly kind: TaskKind;
  /** The id of the call, the job or the kept result. */
  readonly id: string;
  /** How long the task can be read, from its creation. */
  readonly ttlMs: number;
}

export interface TaskReference extends TaskWork {
  readonly taskId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** How long a task stays after its calls have ended or expired. */
const readableMs = 24 * 60 * 60_000;

export function queuedWork(now: number, { callId, expiresAt }: QueuedReply): TaskWork {
  return { kind: "call", id: callId, ttlMs: Date.parse(expiresAt) - now + readableMs };
}

/** `waitMs`: how long calls of the job may wait for their devices. */
export function jobWork(job: string, waitMs: number): TaskWork {
  return { kind: "job", id: job, ttlMs: waitMs + readableMs };
}

const kinds: Readonly<Record<string, TaskKind>> = { c: "call", j: "job", k: "kept" };
const macBytes = 24;
const maxLength = 256;

export class TaskIds {
  readonly #key: Buffer;

  /** The key is the same on all nodes. */
  constructor(key: Buffer) {
    this.#key = createHmac("sha256", key).update("tasks").digest();
  }

  create(principal: string, work: TaskWork, now: number): TaskReference {
    const { kind, id, ttlMs } = work;
    const [createdAt, ttl] = [Math.round(now), Math.round(ttlMs)];
    const name = `${kind.charAt(0)}.${id}.${createdAt.toString(36)}.${ttl.toString(36)}`;
    const taskId = `${name}.${this.#mac(principal, name).toString("base64url")}`;
    return { ...work, taskId, createdAt };
  }

  /** `undefined` if the gateway did not make this id for this principal. */
  read(principal: string, taskId: string): TaskReference | undefined {
    if (taskId.length > maxLength) return undefined;
    const end = taskId.lastIndexOf(".");
    const name = taskId.slice(0, Math.max(0, end));
    const given = Buffer.from(taskId.slice(end + 1), "base64url");
    const mac = this.#mac(principal, name);
    if (given.length !== mac.length || !timingSafeEqual(given, mac)) return undefined;
    const parts = /^([cjk])\.(.+)\.([0-9a-z]+)\.([0-9a-z]+)$/.exec(name) ?? [];
    const [, letter = "", id = "", createdAt = "", ttl = ""] = parts;
    const kind = kinds[letter];
    if (kind === undefined) return undefined;
    return { taskId, kind, id, ttlMs: Number.parseInt(ttl, 36), createdAt: Number.parseInt(createdAt, 36) };
  }

  #mac(principal: string, name: string): Buffer {
    const whole = createHmac("sha256", this.#key)
      .update(JSON.stringify([principal, name]))
      .digest();
    return whole.subarray(0, macBytes);
  }
}

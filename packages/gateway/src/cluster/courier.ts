/**
 * Questions from node to node. A device is asked on its own subject, where only the node that holds it listens; a
 * node is asked on its own. Answers larger than one message are fetched in parts. Whoever stops waiting says so.
 */
import { randomUUID } from "node:crypto";
import type { Cancellation } from "../cancellation.ts";
import type { Clock, Timer } from "../clock.ts";
import { type ErrorContext, messageOf, TendonError } from "../errors.ts";
import { type NatsLink, unreachable } from "./nats-link.ts";

interface Letter {
  readonly id: string;
  readonly from: string;
  /** When it was written, and how long its writer waits: one that was held up on the way is not acted on. */
  readonly at: number;
  readonly timeoutMs: number;
  readonly body: unknown;
  /** The body is too large for a message: it is fetched. */
  readonly parts?: Parts | undefined;
}

/** Something large that its writer keeps until it has been fetched. */
interface Parts {
  readonly parts: number;
  readonly node: string;
  readonly answer: string;
}

type Answer =
  | { readonly ok: true; readonly body: unknown }
  | {
      readonly ok: false;
      readonly code: TendonError["code"];
      readonly detail: string;
      readonly context: ErrorContext;
    }
  | Parts;

export type Handler = (body: unknown, signal: AbortSignal) => Promise<unknown>;

export interface AskOptions {
  readonly timeoutMs: number;
  readonly signal?: Cancellation | undefined;
}

export interface CourierNeeds {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly instance: string;
}

/** The asked node answers in time itself; this is for its answer's way back. */
const graceMs = 1_000;
const partMs = 5_000;
const keptPartsMs = 30_000;
/** Clocks of nodes may differ this much before a letter in time counts as late. */
const clockSlackMs = 5_000;

export class Courier {
  readonly #needs: CourierNeeds;
  readonly #running = new Map<string, AbortController>();
  readonly #parts = new Map<string, { readonly text: string; readonly timer: Timer }>();
  readonly #waiting = new Map<string, Set<(error: TendonError) => void>>();
  readonly #stops: (() => void)[] = [];

  constructor(needs: CourierNeeds) {
    this.#needs = needs;
    const { link, instance } = needs;
    this.#stops.push(
      link.subscribe(link.subject("cancel", instance), (body) => this.#cancel(body)),
      link.subscribe(link.subject("part", instance), (body, message) => {
        message.respond(JSON.stringify(this.#part(body) ?? null));
      }),
      link.onState((connected) => {
        if (!connected) for (const node of this.#waiting.keys()) this.nodeLost(node);
      }),
    );
  }

  serveDevice(device: string, handle: Handler): () => void {
    return this.#serve(this.#deviceSubject(device), handle);
  }

  serveNode(topic: string, handle: Handler): () => void {
    return this.#serve(this.#needs.link.subject("node", this.#needs.instance, topic), handle);
  }

  /** `node`: who is expected to answer, so that its end ends the waiting too. */
  askDevice(device: string, node: string, body: unknown, options: AskOptions): Promise<unknown> {
    return this.#ask(this.#deviceSubject(device), node, body, options);
  }

  askNode(node: string, topic: string, body: unknown, options: AskOptions): Promise<unknown> {
    return this.#ask(this.#needs.link.subject("node", node, topic), node, body, options);
  }

  /** What it was asked and has not answered has an unknown fate. */
  nodeLost(node: string): void {
    const waiting = this.#waiting.get(node);
    this.#waiting.delete(node);
    for (const fail of waiting ?? []) fail(unreachable(true));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    for (const { timer } of this.#parts.values()) timer.cancel();
    this.#parts.clear();
    for (const running of this.#running.values()) running.abort();
  }

  #deviceSubject(device: string): string {
    return this.#needs.link.subject("device", Buffer.from(device).toString("base64url"));
  }

  async #ask(subject: string, node: string, body: unknown, { timeoutMs, signal }: AskOptions) {
    const { link, clock, instance } = this.#needs;
    if (signal?.aborted === true) throw cancelled(false);
    const id = randomUUID();
    const letter = this.#write({ id, from: instance, at: clock.now(), timeoutMs, body });
    const lost = this.#waitFor(node);
    let onAbort = () => {};
    const stopped = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        link.publish(link.subject("cancel", node), { id });
        reject(cancelled(true));
      };
      signal?.addEventListener("abort", onAbort);
    });
    try {
      const answered = link.requestText(subject, letter, timeoutMs + graceMs);
      const answer = (await Promise.race([answered, lost.promise, stopped])) as Answer;
      return await this.#open(answer);
    } finally {
      signal?.removeEventListener("abort", onAbort);
      lost.done();
    }
  }

  async #open(answer: Answer): Promise<unknown> {
    if ("parts" in answer) return await this.#fetch(answer);
    if (answer.ok) return answer.body;
    throw new TendonError(answer.code, answer.detail, answer.context);
  }

  async #fetch({ parts, node, answer }: Parts): Promise<unknown> {
    let text = "";
    for (let part = 0; part < parts; part += 1) {
      const subject = this.#needs.link.subject("part", node);
      const piece = await this.#needs.link.request(subject, { answer, part }, partMs);
      if (typeof piece !== "string") throw unreachable(true);
      text += piece;
    }
    return JSON.parse(text) as unknown;
  }

  #waitFor(node: string) {
    const waiting = this.#waiting.get(node) ?? new Set();
    this.#waiting.set(node, waiting);
    let fail: (error: TendonError) => void = () => {};
    const promise = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    waiting.add(fail);
    const done = () => {
      waiting.delete(fail);
      if (waiting.size === 0 && this.#waiting.get(node) === waiting) this.#waiting.delete(node);
    };
    return { promise, done };
  }

  #serve(subject: string, handle: Handler): () => void {
    return this.#needs.link.subscribe(subject, (body, message) => {
      // Safe: only nodes of this cluster write here.
      void this.#answer(body as Letter, handle).then((answer) => {
        // A requester that is gone, or a link that is closed, has nobody to tell.
        try {
          message.respond(answer);
        } catch {}
      });
    });
  }

  async #answer(letter: Letter, handle: Handler): Promise<string> {
    if (this.#needs.clock.now() > letter.at + letter.timeoutMs + clockSlackMs) {
      const late = new TendonError("device_timeout", "the call came too late to be sent", {
        phase: "queue",
        sent: false,
      });
      return JSON.stringify(failure(late));
    }
    const running = new AbortController();
    this.#running.set(letter.id, running);
    try {
      const asked = letter.parts === undefined ? letter.body : await this.#fetch(letter.parts);
      const body = (await handle(asked, running.signal)) ?? null;
      const text = JSON.stringify({ ok: true, body } satisfies Answer);
      return this.#fits(text) ? text : JSON.stringify(this.#keep(body) satisfies Answer);
    } catch (error) {
      const known =
        error instanceof TendonError ? error : new TendonError("internal", messageOf(error), {}, error);
      return JSON.stringify(failure(known));
    } finally {
      this.#running.delete(letter.id);
    }
  }

  #fits(text: string): boolean {
    return Buffer.byteLength(text) <= this.#needs.link.largestMessage;
  }

  #write(letter: Letter): string {
    const text = JSON.stringify(letter);
    if (this.#fits(text)) return text;
    return JSON.stringify({ ...letter, body: null, parts: this.#keep(letter.body) } satisfies Letter);
  }

  /** What is too large for a message stays here and is fetched piece by piece. */
  #keep(body: unknown): Parts {
    const { clock, instance } = this.#needs;
    const answer = randomUUID();
    const text = JSON.stringify(body);
    const timer = clock.after(keptPartsMs, () => this.#parts.delete(answer));
    this.#parts.set(answer, { text, timer });
    return { parts: Math.ceil(text.length / this.#partLength()), node: instance, answer };
  }

  #part(body: unknown): string | undefined {
    const { answer, part } = body as { readonly answer: string; readonly part: number };
    const kept = this.#parts.get(answer);
    const length = this.#partLength();
    const text = kept?.text.slice(part * length, (part + 1) * length);
    if (kept !== undefined && (part + 1) * length >= kept.text.length) {
      kept.timer.cancel();
      this.#parts.delete(answer);
    }
    return text;
  }

  /** In characters: one may take three bytes, and six when it is escaped once more. */
  #partLength(): number {
    return Math.floor(this.#needs.link.largestMessage / 7);
  }

  #cancel(body: unknown): void {
    const { id } = body as { readonly id: string };
    this.#running.get(id)?.abort();
  }
}

function failure(error: TendonError): Answer {
  return { ok: false, code: error.code, detail: error.message, context: error.context };
}

function cancelled(sent: boolean): TendonError {
  return new TendonError("cancelled", "the caller stopped waiting", { sent });
}

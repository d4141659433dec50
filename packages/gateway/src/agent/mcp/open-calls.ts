/**
 * Calls of agents of the 2026-07-28 era to programs of the older era [PRC-10]. Such a program asks while its tool runs,
 * and such an agent answers with its next request. In between, this node keeps the call open.
 */
import { randomUUID } from "node:crypto";
import { type InputRequiredResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { type JsonObject, limits } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";
import { type Cancellation, CancellationSource } from "../../cancellation.ts";
import { answersAnything, isAnswer, type Question, questionFor } from "./questions.ts";
import { clientOf, relayTo } from "./relay.ts";
import { invalidState, type Rounds } from "./rounds.ts";
import type { McpRequest } from "./tool-request.ts";

type Relay = NonNullable<CallOptions["relay"]>;

export interface Given {
  readonly relay: Relay | undefined;
  readonly signal: Cancellation;
}

/** A round ends with the result of the call, or with questions for the next round. */
type RoundEnd<End> = { readonly end: End } | { readonly asks: InputRequiredResult };

interface OpenQuestion {
  readonly question: Question;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs one round of a call: starts the call, or continues the one that the last round left open. */
export async function inRounds<End>(
  request: McpRequest,
  rounds: Rounds,
  program: { readonly asksDuringCalls: boolean } | undefined,
  work: (given: Given) => Promise<End>,
): Promise<RoundEnd<End>> {
  const { openCalls } = request.view;
  const { openCall } = rounds.before;
  if (openCall !== undefined) {
    // Safe: the state is bound to this call, so the same work started the call that it names.
    const call = openCalls.find(openCall) as OpenCall<End> | undefined;
    if (call === undefined) throw invalidState("the call is no longer open on this node");
    return await continueCall(request, rounds, call);
  }
  const inSession = request.context.mcpReq.envelope === undefined;
  if (inSession || program?.asksDuringCalls !== true || !answersAnything(clientOf(request))) {
    const relay = program === undefined ? undefined : relayTo(request, rounds);
    return { end: await work({ relay, signal: request.context.mcpReq.signal }) };
  }
  return await continueCall(request, rounds, new OpenCall(request, work));
}

async function continueCall<End>(
  request: McpRequest,
  rounds: Rounds,
  call: OpenCall<End>,
): Promise<RoundEnd<End>> {
  const { openCalls } = request.view;
  const questions = await call.round(request, rounds.answers);
  if (questions !== undefined) {
    openCalls.keep(call);
    return { asks: rounds.callAsks(questions, call.id) };
  }
  openCalls.drop(call);
  return { end: await call.end };
}

/** The calls that one token has open at one address. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall<unknown>>();

  find(id: string): OpenCall<unknown> | undefined {
    return this.#calls.get(id);
  }

  /** A program runs one call at a time, so only ended calls can become many. */
  keep(call: OpenCall<unknown>): void {
    this.#calls.set(call.id, call);
    const ended = [...this.#calls.values()].filter(({ hasEnded }) => hasEnded);
    for (const one of ended.slice(0, -limits.mcpOpenCalls.max)) this.drop(one);
  }

  drop({ id }: OpenCall<unknown>): void {
    this.#calls.delete(id);
  }

  close(): void {
    for (const call of this.#calls.values()) call.cancel();
    this.#calls.clear();
  }
}

class OpenCall<End> {
  readonly id = randomUUID();
  readonly end: Promise<End>;
  readonly #cancellation = new CancellationSource();
  readonly #questions = new Map<string, OpenQuestion>();
  #count = 0;
  /** The request of the latest round. */
  #request: McpRequest;
  /** Set while a round waits: only then is there a stream for progress and logs. */
  #waitingRelay: Relay | undefined;
  #hasEnded = false;
  /** Several, because an agent may send the same state twice. */
  readonly #waiting: (() => void)[] = [];

  constructor(request: McpRequest, work: (given: Given) => Promise<End>) {
    this.#request = request;
    const relay: Relay = {
      ...relayTo(request),
      ask: (question, signal) => this.#ask(question, signal),
      progress: (progress) => this.#waitingRelay?.progress(progress),
      log: (entry) => this.#waitingRelay?.log(entry),
    };
    this.end = work({ relay, signal: this.#cancellation }).finally(() => {
      this.#hasEnded = true;
      this.#wake();
    });
    // The next round reports a failure. If there is no next round, the rejection must not count as unhandled.
    this.end.catch(() => undefined);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  cancel(): void {
    this.#cancellation.abort();
  }

  /** Applies the answers and waits for the next questions; `undefined` when the call has ended. */
  async round(request: McpRequest, answers: JsonObject): Promise<Record<string, Question> | undefined> {
    this.#request = request;
    this.#waitingRelay = relayTo(request);
    for (const [key, answer] of Object.entries(answers)) this.#answer(key, answer);
    this.#rejectUnanswerable();
    const { signal } = request.context.mcpReq;
    const cancel = () => this.cancel();
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    while (!this.#hasEnded && this.#questions.size === 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    signal.removeEventListener("abort", cancel);
    this.#waitingRelay = undefined;
    if (this.#hasEnded) return undefined;
    return Object.fromEntries([...this.#questions].map(([key, { question }]) => [key, question]));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Every request of the newer era declares the client's capabilities anew. */
  #rejectUnanswerable(): void {
    for (const [key, { question, reject }] of this.#questions) {
      try {
        questionFor(clientOf(this.#request), question);
      } catch (error) {
        this.#questions.delete(key);
        reject(error);
      }
    }
  }

  #answer(key: string, answer: unknown): void {
    const open = this.#questions.get(key);
    if (open === undefined) return;
    this.#questions.delete(key);
    if (isAnswer(open.question.method, answer)) open.resolve(answer);
    else {
      const detail = `the caller's answer to ${open.question.method} is not valid`;
      open.reject(new ProtocolError(ProtocolErrorCode.InvalidParams, detail));
    }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<JsonObject> {
    const shown = questionFor(clientOf(this.#request), question);
    this.#count += 1;
    const key = `question_${this.#count}`;
    return await new Promise<JsonObject>((resolve, reject) => {
      this.#questions.set(key, { question: shown, resolve, reject });
      signal.addEventListener("abort", () => {
        this.#questions.delete(key);
        reject(new ProtocolError(ProtocolErrorCode.InvalidRequest, "the question was withdrawn"));
      });
      this.#wake();
    });
  }
}

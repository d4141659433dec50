/**
 * Calls of agents of the 2026-07-28 era to programs of the older one [PRC-10]. Such a program asks while its tool runs;
 * such an agent answers with its next request. In between the call stays open here.
 */
import { randomUUID } from "node:crypto";
import { type InputRequiredResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { type JsonObject, limits } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";
import { type Cancellation, Recall } from "../../cancellation.ts";
import type { McpRequest } from "./asking.ts";
import { givenUp } from "./given-up.ts";
import { answersAnything, isAnswer, type Question, questionFor } from "./questions.ts";
import { clientOf, relayTo } from "./relay.ts";
import { invalidState, type Rounds } from "./rounds.ts";

type Relay = NonNullable<CallOptions["relay"]>;

export interface Given {
  readonly relay: Relay | undefined;
  readonly signal: Cancellation;
}

/** How a round ends: with the call, or with questions for the next. */
type RoundEnd<End> = { readonly end: End } | { readonly asks: InputRequiredResult };

interface Asked {
  readonly question: Question;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: unknown) => void;
}

/** One round of a call: begins it, or goes on with the one that the last round left open. */
export async function inRounds<End>(
  request: McpRequest,
  rounds: Rounds,
  program: { readonly asksDuringCalls: boolean } | undefined,
  work: (given: Given) => Promise<End>,
): Promise<RoundEnd<End>> {
  const { openCalls } = request.view;
  const { openCall } = rounds.before;
  if (openCall !== undefined) {
    // Safe: the state is bound to this call, so the call that it names was begun by the same work.
    const call = openCalls.find(openCall) as OpenCall<End> | undefined;
    if (call === undefined) throw invalidState("the call is not open here any more");
    return await goOn(request, rounds, call);
  }
  const inSession = request.context.mcpReq.envelope === undefined;
  if (inSession || program?.asksDuringCalls !== true || !answersAnything(clientOf(request))) {
    const relay = program === undefined ? undefined : relayTo(request, rounds);
    return { end: await work({ relay, signal: givenUp(request.context) }) };
  }
  return await goOn(request, rounds, new OpenCall(request, work));
}

async function goOn<End>(request: McpRequest, rounds: Rounds, call: OpenCall<End>): Promise<RoundEnd<End>> {
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

  /** A program carries out one call at a time, so only those that have ended can become many. */
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
  readonly #recall = new Recall();
  readonly #asked = new Map<string, Asked>();
  #count = 0;
  /** The round that came last. */
  #request: McpRequest;
  /** Only while a round waits is there a stream to report on. */
  #waitingRelay: Relay | undefined;
  #hasEnded = false;
  /** An agent may come twice with the same state. */
  readonly #waiting: (() => void)[] = [];

  constructor(request: McpRequest, work: (given: Given) => Promise<End>) {
    this.#request = request;
    const relay: Relay = {
      ...relayTo(request),
      ask: (question, signal) => this.#ask(question, signal),
      progress: (progress) => this.#waitingRelay?.progress(progress),
      log: (entry) => this.#waitingRelay?.log(entry),
    };
    this.end = work({ relay, signal: this.#recall }).finally(() => {
      this.#hasEnded = true;
      this.#wake();
    });
    // The next round reports a failure. There may be none, and then a rejection must not count as unhandled.
    this.end.catch(() => undefined);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  cancel(): void {
    this.#recall.abort();
  }

  /** Takes the answers, and waits for the next questions; `undefined` when the call has ended. */
  async round(request: McpRequest, answers: JsonObject): Promise<Record<string, Question> | undefined> {
    this.#request = request;
    this.#waitingRelay = relayTo(request);
    for (const [key, answer] of Object.entries(answers)) this.#answer(key, answer);
    this.#refuseUnanswerable();
    const signal = givenUp(request.context);
    const cancel = () => this.cancel();
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    while (!this.#hasEnded && this.#asked.size === 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    signal.removeEventListener("abort", cancel);
    this.#waitingRelay = undefined;
    if (this.#hasEnded) return undefined;
    return Object.fromEntries([...this.#asked].map(([key, { question }]) => [key, question]));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Every request of the newer era declares anew what its client is able to answer. */
  #refuseUnanswerable(): void {
    for (const [key, { question, reject }] of this.#asked) {
      try {
        questionFor(clientOf(this.#request), question);
      } catch (error) {
        this.#asked.delete(key);
        reject(error);
      }
    }
  }

  #answer(key: string, answer: unknown): void {
    const asked = this.#asked.get(key);
    if (asked === undefined) return;
    this.#asked.delete(key);
    if (isAnswer(asked.question.method, answer)) asked.resolve(answer);
    else {
      const detail = `the caller's answer to ${asked.question.method} is not valid`;
      asked.reject(new ProtocolError(ProtocolErrorCode.InvalidParams, detail));
    }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<JsonObject> {
    const shown = questionFor(clientOf(this.#request), question);
    this.#count += 1;
    const key = `question_${this.#count}`;
    return await new Promise<JsonObject>((resolve, reject) => {
      this.#asked.set(key, { question: shown, resolve, reject });
      signal.addEventListener("abort", () => {
        this.#asked.delete(key);
        reject(new ProtocolError(ProtocolErrorCode.InvalidRequest, "the question was withdrawn"));
      });
      this.#wake();
    });
  }
}

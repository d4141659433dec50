/**
 * What a standard MCP server of the older era asks while it carries out a call [PRC-10]. Its protocol does not name the
 * call that a question belongs to. A process gets one call at a time, so it is the running one.
 */
import { type JsonObject, limits } from "@tendon/protocol";
import type { ProcessSession } from "./process-session.ts";
import type { Question, Relay } from "./relay.ts";

/** A call that the server is carrying out. */
export interface RunningCall {
  readonly id: number;
  readonly controller: AbortController;
  readonly relay: Relay | undefined;
  /** Its id on the wire. */
  requestId: unknown;
  /** Its answer has come; what comes behind it is none of its questions. */
  answered: boolean;
  asked: number;
  open: number;
  resume: (() => void) | undefined;
}

/** Declared when the server is initialised. Which caller is able to answer is known only when it asks. */
export const askable = { elicitation: { form: {} }, sampling: {}, roots: {} };
const methods = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

const invalidRequest = -32_600;
const methodNotFound = -32_601;
const invalidParams = -32_602;

/** How long a server may go on with a call that was given up before its questions count as another call's. */
const givenUpMs = 60_000;

/** Its code and message are the server's answer. */
class Refused extends Error {
  override readonly name = "Refused";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class McpQuestions {
  readonly #session: ProcessSession;
  /** By caller: when a call was last given up that the server may still be at. */
  readonly #givenUp = new Map<string | undefined, number>();

  constructor(session: ProcessSession) {
    this.#session = session;
  }

  givenUp(call: RunningCall): void {
    this.#givenUp.set(call.relay?.caller, this.#session.clock.monotonic());
  }

  /** Asks the running call's caller; what it rejects with is the server's answer. */
  async ask(question: Question, call: RunningCall | undefined, signal: AbortSignal): Promise<JsonObject> {
    const { method } = question;
    // Its cancellation came right behind it.
    if (signal.aborted) throw new Refused(invalidRequest, "the question was withdrawn");
    if (!methods.has(method)) throw new Refused(methodNotFound, "Method not found");
    if (call === undefined || call.answered) {
      // Many servers ask for roots as soon as they start, and some end on an error. Without a caller there are none.
      if (method === "roots/list") return { roots: [] };
      throw new Refused(invalidRequest, `no call is running, so there is no caller to answer ${method}`);
    }
    if (JSON.stringify(question.params).length > limits.programQuestionBytes.max) {
      throw new Refused(
        invalidParams,
        `a question may have ${limits.programQuestionBytes.max} bytes at most`,
      );
    }
    const { relay } = call;
    if (relay === undefined) throw new Refused(methodNotFound, `the caller cannot answer ${method}`);
    this.#refuseForOthers(relay);
    this.#count(call);
    if (call.open === 0) call.resume = this.#session.hold(call.id);
    call.open += 1;
    try {
      return await relay.ask(question, AbortSignal.any([signal, call.controller.signal]));
    } catch (error) {
      throw call.controller.signal.aborted ? new Refused(invalidRequest, "the call has ended") : error;
    } finally {
      call.open -= 1;
      if (call.open === 0) call.resume?.();
    }
  }

  /** A server that is still at one caller's call must not put its questions to another. */
  #refuseForOthers({ caller }: Relay): void {
    const now = this.#session.clock.monotonic();
    for (const [other, at] of this.#givenUp) {
      if (now - at > givenUpMs) this.#givenUp.delete(other);
      else if (other !== caller)
        throw new Refused(
          invalidRequest,
          "another caller's call was cancelled a moment ago, and the question may belong to it; ask again in a minute",
        );
    }
  }

  #count(call: RunningCall): void {
    call.asked += 1;
    if (call.asked > limits.programQuestionsPerCall.max)
      throw new Refused(
        invalidRequest,
        `a call may ask ${limits.programQuestionsPerCall.max} questions at most`,
      );
    if (call.open >= limits.programQuestionsOpen.max)
      throw new Refused(
        invalidRequest,
        `${limits.programQuestionsOpen.max} questions of this call wait for answers already`,
      );
  }
}

/**
 * Questions of a standard MCP server of the older era during a call [PRC-10]. The protocol does not name the call of
 * a question. A process gets one call at a time, so it is the running one.
 */
import { type JsonObject, limits } from "@tendon/protocol";
import type { ProgramSession } from "./program-session.ts";
import type { Question, Relay } from "./relay.ts";

/** A call that the server is running. */
export interface RunningCall {
  readonly id: number;
  readonly controller: AbortController;
  readonly relay: Relay | undefined;
  /** The id on the wire. */
  requestId: unknown;
  /** The reply has arrived. Later questions do not belong to this call. */
  answered: boolean;
  asked: number;
  open: number;
  resume: (() => void) | undefined;
}

/** Declared at `initialize`. Whether a caller can answer is known only when the server asks. */
export const answerableCapabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const methods = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

const invalidRequest = -32_600;
const methodNotFound = -32_601;
const invalidParams = -32_602;

/** How long questions of an abandoned call may still arrive. */
const abandonedMs = 60_000;

/** Its code and message are sent to the server. */
class QuestionRejected extends Error {
  override readonly name = "QuestionRejected";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class McpQuestions {
  readonly #session: ProgramSession;
  /** By caller: when its last call was abandoned. The server may still be running it. */
  readonly #abandoned = new Map<string | undefined, number>();

  constructor(session: ProgramSession) {
    this.#session = session;
  }

  abandoned(call: RunningCall): void {
    this.#abandoned.set(call.relay?.caller, this.#session.clock.monotonic());
  }

  /** Asks the running call's caller. A rejection is sent to the server as the error. */
  async ask(question: Question, call: RunningCall | undefined, signal: AbortSignal): Promise<JsonObject> {
    const { method } = question;
    // The server cancelled the question at once.
    if (signal.aborted) throw new QuestionRejected(invalidRequest, "the question was withdrawn");
    if (!methods.has(method)) throw new QuestionRejected(methodNotFound, "Method not found");
    if (call === undefined || call.answered) {
      // Many servers request roots at their start, and some exit on an error. Without a caller there are no roots.
      if (method === "roots/list") return { roots: [] };
      throw new QuestionRejected(
        invalidRequest,
        `no call is running, so there is no caller to answer ${method}`,
      );
    }
    if (JSON.stringify(question.params).length > limits.programQuestionBytes.max) {
      throw new QuestionRejected(
        invalidParams,
        `a question may have at most ${limits.programQuestionBytes.max} bytes`,
      );
    }
    const { relay } = call;
    if (relay === undefined) throw new QuestionRejected(methodNotFound, `the caller cannot answer ${method}`);
    this.#rejectForOtherCallers(relay);
    this.#count(call);
    if (call.open === 0) call.resume = this.#session.pauseDeadline(call.id);
    call.open += 1;
    try {
      return await relay.ask(question, AbortSignal.any([signal, call.controller.signal]));
    } catch (error) {
      throw call.controller.signal.aborted
        ? new QuestionRejected(invalidRequest, "the call has ended")
        : error;
    } finally {
      call.open -= 1;
      if (call.open === 0) call.resume?.();
    }
  }

  /** A question of an abandoned call must not reach another caller. */
  #rejectForOtherCallers({ caller }: Relay): void {
    const now = this.#session.clock.monotonic();
    for (const [other, at] of this.#abandoned) {
      if (now - at > abandonedMs) this.#abandoned.delete(other);
      else if (other !== caller)
        throw new QuestionRejected(
          invalidRequest,
          "another caller's call was cancelled recently, and the question may belong to it; ask again in a minute",
        );
    }
  }

  #count(call: RunningCall): void {
    call.asked += 1;
    if (call.asked > limits.programQuestionsPerCall.max)
      throw new QuestionRejected(
        invalidRequest,
        `a call may ask at most ${limits.programQuestionsPerCall.max} questions`,
      );
    if (call.open >= limits.programQuestionsOpen.max)
      throw new QuestionRejected(
        invalidRequest,
        `${limits.programQuestionsOpen.max} questions of this call are already waiting for answers`,
      );
  }
}

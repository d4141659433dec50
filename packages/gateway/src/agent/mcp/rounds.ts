/**
 * One call in several rounds: the client is asked for something, and comes back with it under the same name and
 * arguments. In sessions the SDK asks in between and calls again by itself, so that both eras take this one way.
 */
import { randomUUID } from "node:crypto";
import {
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type InputRequired, isObject, type JsonObject, limits } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import { confirmKey, decisionIn } from "./confirmation.ts";
import { type Question, shown } from "./questions.ts";
import { type CallBinding, digestOf, type RequestStates, type Round } from "./request-state.ts";

export class Rounds {
  readonly #states: RequestStates;
  readonly #binding: CallBinding;
  readonly #context: ServerContext;
  readonly before: Round;
  /** What a person said yes to, where this round is carried by that. */
  #confirmed: string | undefined;

  constructor(states: RequestStates, binding: CallBinding, context: ServerContext) {
    this.#states = states;
    this.#binding = binding;
    this.#context = context;
    const state = context.mcpReq.requestState<(Round & { for: string }) | undefined>();
    if (state !== undefined && state.for !== digestOf(binding)) throw invalidState();
    this.before = state ?? {};
  }

  /** What the client brought for the device. */
  get answers(): JsonObject {
    const { [confirmKey]: _ours, ...answers } = this.#context.mcpReq.inputResponses ?? {};
    return answers;
  }

  /**
   * [SRV-12] A person's word, if this round brings one: a yes is good for one call with exactly these arguments and
   * targets, of the tool as it was, and nothing else that an agent could send stands for it.
   */
  async decision(asked: string): Promise<ReturnType<typeof decisionIn>> {
    const { ticket, word, confirmed } = this.before;
    if (ticket === undefined || word !== asked) return undefined;
    const said = confirmed === true ? "accept" : decisionIn(this.#context.mcpReq.inputResponses ?? {});
    if (said === undefined || !(await this.#states.useTicket(ticket))) return undefined;
    this.#confirmed = said === "accept" ? word : undefined;
    return said;
  }

  /** A device's own questions, as it asks them, but for what must not reach a person unlooked at. */
  deviceAsks({ inputRequests, requestState }: InputRequired): InputRequiredResult {
    const asked = looked(inputRequests);
    const round = {
      ...(this.#confirmed === undefined
        ? {}
        : { confirmed: true, ticket: randomUUID(), word: this.#confirmed }),
      ...(requestState === undefined ? {} : { deviceState: requestState }),
    };
    return inputRequired({
      // Safe: each has been looked at.
      inputRequests: asked as NonNullable<InputRequiredResult["inputRequests"]>,
      ...(Object.keys(round).length === 0 ? {} : { requestState: this.#states.seal(this.#binding, round) }),
    });
  }

  /** The questions of a call that stays open until the client comes back. */
  callAsks(questions: Record<string, Question>, openCall: string): InputRequiredResult {
    return inputRequired({
      // Safe: each has been looked at.
      inputRequests: questions as NonNullable<InputRequiredResult["inputRequests"]>,
      requestState: this.#states.seal(this.#binding, { openCall }),
    });
  }

  /** Our own question to a person. */
  askPerson(form: Parameters<typeof inputRequired.elicit>[0], word: string): InputRequiredResult {
    return inputRequired({
      inputRequests: { [confirmKey]: inputRequired.elicit(form) },
      requestState: this.#states.seal(this.#binding, { ticket: randomUUID(), word }),
    });
  }
}

/** What the client brings back belongs to no call, to another one, or to one that is over. */
export function invalidState(why?: string): ProtocolError {
  const said = "Invalid or expired requestState";
  const reason = "invalid_request_state";
  const detail = why === undefined ? said : `${said}: ${why}`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, detail, { reason });
}

/** The questions of a round, each as a client gets it. */
function looked(inputRequests: JsonObject): Record<string, Question> {
  const asked = Object.entries(inputRequests);
  const most = limits.programQuestionsOpen.max;
  if (asked.length > most) throw notPassedOn(`a round has ${most} questions at most`);
  const bytes = JSON.stringify(inputRequests).length;
  if (bytes > limits.programQuestionBytes.max)
    throw notPassedOn(`the questions of a round have ${limits.programQuestionBytes.max} bytes at most`);
  return Object.fromEntries(asked.map(([key, one]) => [key, question(one)]));
}

function question(one: unknown): Question {
  const { method, params } = isObject(one) ? one : {};
  try {
    return shown({ method: String(method), params: isObject(params) ? params : {} });
  } catch (error) {
    throw error instanceof ProtocolError ? notPassedOn(error.message) : error;
  }
}

function notPassedOn(why: string): TendonError {
  return new TendonError("device_error", `the device's question is not passed on: ${why}`);
}
